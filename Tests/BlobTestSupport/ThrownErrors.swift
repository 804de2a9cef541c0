package import BlobCore

/// The error that `body` throws, as a `BlobError`; nil when it throws nothing.
package func errorThrown(by body: () async throws -> some Any) async -> BlobError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return BlobError(wrapping: error)
    }
}

/// The code of the `BlobError` that `body` throws; nil when it throws nothing.
package func codeThrown(by body: () throws -> some Any) -> BlobError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return BlobError(wrapping: error).code
    }
}

/// The code of the `BlobError` that an asynchronous `body` throws; nil when it throws nothing.
package func asyncCodeThrown(by body: () async throws -> some Any) async -> BlobError.Code? {
    await errorThrown(by: body)?.code
}
