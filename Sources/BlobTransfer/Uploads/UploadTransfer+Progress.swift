import BlobCore

// Progress reports, at most fifty a second.
extension UploadTransfer {
    /// The least time before the first count of progress, and between two: each wakes the thread or task of the owner.
    private static let noteInterval = Duration.milliseconds(20)

    /// Notes that libcurl has the next bytes of the body.
    func noteHandover(of count: Int64) {
        self.lastActivity = self.time
        if self.sent == 0 { self.noteTime = self.time }
        self.sent += count
        self.isBodySent = self.sent == self.byteCount
        self.noteProgress()
    }

    /// Notes that libcurl, which has the whole body, has a connection for it.
    func noteWholeBody() {
        if self.hasWholeBody, let byteCount { self.noteHandover(of: byteCount) }
    }

    /// True when the owner wants to know the number of bytes sent, and knows another one.
    var hasProgress: Bool { self.upload.onProgress != nil && self.sent != self.notedCount }

    /// Tells the owner the number of bytes sent, or arranges it, if that is another one than it knows.
    func noteProgress() {
        guard self.hasProgress else { return }
        let rest = Self.noteInterval - (self.time - self.noteTime)
        guard rest <= .zero else {
            self.loop?.check(within: rest)
            return
        }
        (self.notedCount, self.noteTime) = (self.sent, self.time)
        self.exchange.note(sent: self.sent)
    }
}
