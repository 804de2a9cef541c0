import BlobCore

extension BlobUploadRequest {
    /// Returns this request for the URL to which an answer redirects; nil when it must not be sent there.
    ///
    /// Only 307 and 308 keep the method and the body (RFC 9110, sections 15.4.8 and 15.4.9), and only the same origin
    /// gets the fields and credentials.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` for a URL of this request that is not valid.
    func redirected(by response: BlobUploadResponse) throws(BlobError) -> BlobUploadRequest? {
        guard response.status == 307 || response.status == 308, let location = response.head.location else {
            return nil
        }
        let url = try TransferURL(self.url)
        guard let target = try? url.resolving(location), target.origin == url.origin else { return nil }
        var upload = self
        upload.url = target.text
        // A URL of a server has no credentials that count.
        upload.settings.credentials = self.settings.credentials ?? url.credentials
        return upload
    }
}
