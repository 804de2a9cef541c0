#if !BLOBSTREAMS_UPLOADS
    import Testing

    /// A build without the headers of libcurl says so.
    @Suite struct WebPartTests {
        @Test func urlsNameTheModuleThatIsMissing() throws {
            for url in ["http://127.0.0.1/x", "https://127.0.0.1/x", "gzip+http://127.0.0.1/x"] {
                expect(
                    try Launch("cat", url).run(), failsWith: "notRegistered", 64, saying: "HTTPSource", "libcurl")
            }
        }
    }
#endif
