import BlobCore

/// The URLs that the requests of one transfer go to: the first one, and those to which redirections lead.
struct Route {
    private let request: TransferRequest
    private var place: Relocation.Place
    private var redirectionCount = 0
    /// True when the first request went to where those of an earlier transfer were redirected.
    private var isRelocated = false
    /// The place of the next request; nil when the answer is final.
    private var target: Relocation.Place?

    init(_ request: TransferRequest) {
        self.request = request
        self.place = Relocation.Place(url: request.url, hasLeftOrigin: false)
    }

    var url: TransferURL { self.place.url }

    /// True when the request must have no secrets.
    var hasLeftOrigin: Bool { self.place.hasLeftOrigin }

    /// Goes to where earlier transfers were redirected. Called before the first request.
    mutating func begin() {
        guard let place = self.request.relocation?.place.withLock({ $0 }) else { return }
        (self.place, self.isRelocated) = (place, true)
    }

    /// Decides by a head whether there is another request.
    ///
    /// - Throws: ``BlobError/Code/refused`` for a redirection that is not followed.
    mutating func leads(on head: ResponseHead) throws(BlobError) -> Bool {
        if self.isRelocated, Relocation.mayHaveExpired(head.status) {
            self.forget()
            self = Route(self.request)
            self.target = self.place
        } else {
            self.target = try self.redirection(head)
        }
        if head.isSuccess, self.redirectionCount > 0 { self.request.relocation?.place.withLock { $0 = self.place } }
        return self.target != nil
    }

    /// Goes to the place of the next request; returns false when there is none.
    mutating func follow() -> Bool {
        guard let target = self.target.take() else { return false }
        self.place = target
        return true
    }

    /// Forgets where earlier transfers were redirected, after a request there failed.
    func forget() { if self.isRelocated { _ = self.request.relocation?.place.take() } }

    private mutating func redirection(_ head: ResponseHead) throws(BlobError) -> Relocation.Place? {
        let limit = self.request.maximumRedirectionCount
        guard [301, 302, 303, 307, 308].contains(head.status), limit > 0 else { return nil }
        func refused(_ what: String) -> BlobError {
            BlobError(.refused, "The server answered \(head.status) and \(what).", isTransient: false)
        }
        guard self.redirectionCount < limit else {
            throw refused("redirects more than \(limit) times, which is the limit")
        }
        guard let location = head.location, let target = try? self.url.resolving(location) else {
            throw refused("redirects to no URL that is http or https")
        }
        guard self.url.origin.scheme == "http" || target.origin.scheme == "https" else {
            throw refused("redirects from https to http, to \(target)")
        }
        self.redirectionCount += 1
        return Relocation.Place(
            url: target, hasLeftOrigin: self.hasLeftOrigin || target.origin != self.request.url.origin)
    }
}
