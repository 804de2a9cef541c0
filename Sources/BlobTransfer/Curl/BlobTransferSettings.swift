/// Settings for the connections of downloads and uploads.
public struct BlobTransferSettings: Sendable, Equatable {
    /// The default limit for a connection without activity, used if the context of a job sets no limit.
    public static let defaultIdleLimit = Duration.seconds(60)

    /// The path of a PEM file with the certificates to trust; nil for the system's certificates.
    public var certificateFile: String?

    /// The path of a PEM file with the client certificate; nil to send no certificate.
    public var clientCertificateFile: String?

    /// The path of an unencrypted PEM file with the client's private key; nil if the certificate file contains the key.
    public var clientKeyFile: String?

    /// True to accept any server certificate.
    public var isInsecure = false

    /// The URL of a proxy; nil to use curl's environment variables, or an empty string to disable proxies.
    public var proxy: String?

    /// The user and the password for the origin of the first URL. They replace credentials in the URL.
    public var credentials: Credentials?

    /// The path of a netrc file with users and passwords, used if the URL has no credentials; nil to use no file.
    public var netrcFile: String?

    /// The time limit for connecting, including TLS.
    public var connectLimit = Duration.seconds(30)

    /// Creates the default settings.
    public init() {}

    /// A user and a password, sent with Basic authentication.
    public struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        /// The user, without a colon.
        public let user: String
        /// The password.
        public let password: String

        /// Creates credentials.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// The name of the type.
        public var description: String { "BlobTransferSettings.Credentials" }

        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension BlobTransferSettings: CustomStringConvertible, CustomReflectable {
    /// The name of the type only, because a proxy URL may contain a password.
    public var description: String { "BlobTransferSettings" }

    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
