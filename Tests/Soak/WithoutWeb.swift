#if !BLOBSTREAMS_UPLOADS
    extension KnownBlob {
        /// None: this build has no sources of the web.
        static func web(_ blobs: [KnownBlob], in folder: String, seed: UInt64) throws -> [KnownBlob] { [] }
    }

    extension Measures {
        /// 0: there are no servers.
        static var serverThreadCount: Int { 0 }
    }
#endif
