/// The settings of connections, for downloads and uploads.
public struct BlobTransferSettings: Sendable, Equatable {
    /// The default for the longest time without activity, used if the context of a job sets no limit.
    public static let defaultIdleLimit = Duration.seconds(60)

    /// The path of a PEM file with the certificates to trust; nil uses the system's file.
    public var certificateFile: String?

    /// The path of a PEM file with the client certificate; nil sends none.
    public var clientCertificateFile: String?

    /// The path of an unencrypted PEM file with the private key of the client; nil reads it from the certificate file.
    public var clientKeyFile: String?

    /// True to accept any server certificate.
    public var isInsecure = false

    /// The URL of a proxy. Nil uses curl's environment variables; an empty string disables proxies.
    public var proxy: String?

    /// The user and the password for the origin of the first URL; they replace the credentials in the URL.
    public var credentials: Credentials?

    /// The path of a netrc file with users and passwords, used if the URL has no credentials; nil uses none.
    public var netrcFile: String?

    /// The longest time for connecting, including TLS.
    public var connectLimit = Duration.seconds(30)

    /// Creates curl's default settings.
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
