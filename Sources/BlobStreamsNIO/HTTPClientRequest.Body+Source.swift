#if AsyncHTTPClient
    public import AsyncHTTPClient
    public import BlobCore

    extension HTTPClientRequest.Body {
        /// Returns a body that streams a source, and becomes whole only when the source has verified its end.
        ///
        /// The source is opened and its first bytes are read at once, so that one that cannot be read fails before
        /// there is a connection. Its length is announced if it is known; otherwise the body is chunked.
        ///
        /// The body is for one request, and async-http-client follows no redirection that needs it again:
        /// ``AsyncHTTPClient/HTTPClient/upload(_:as:maximumRedirectionCount:followingOtherOrigins:context:)`` does.
        /// That also ends the reading with the request; here, a request that failed ends it at the next bytes, and one
        /// that was refused early only when the context is cancelled.
        ///
        /// - Parameters:
        ///   - source: The source. If it may block, threads of a pool read it ahead of the connection.
        ///   - validator: The identity that the content must have; nil, the default, accepts any.
        ///   - context: The context of the reading. Its idle limit applies to the source, not to the connection.
        /// - Throws: The errors of the source, here and, unchanged, as those of the request.
        /// - Complexity: At most four buffers of 128 KiB beside the memory of the source, used again and again.
        public static func source(
            _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil,
            context: BlobContext = BlobContext()
        ) async throws(BlobError) -> Self {
            try await BodyReading(source, matching: validator, context).body
        }
    }

    extension BodyReading {
        /// The body; only one request may have it.
        var body: HTTPClientRequest.Body {
            .stream(BodySequence(reading: self), length: self.info.byteCount.map { .known($0) } ?? .unknown)
        }
    }
#endif
