/// The settings of connections, for downloads and uploads.
public struct BlobTransferSettings: Sendable, Equatable {
    /// The longest time without activity, if the context of a job has no limit of its own.
    public static let defaultIdleLimit = Duration.seconds(60)

    /// The path of a file with the certificates to trust, in PEM; nil is the system's.
    public var certificateFile: String?

    /// The path of a file with the certificate of the client, in PEM; nil sends none.
    public var clientCertificateFile: String?

    /// The path of a file with the private key of the client, in PEM and not encrypted; nil is the file of its
    /// certificate.
    public var clientKeyFile: String?

    /// True to accept any certificate of a server.
    public var isInsecure = false

    /// The URL of a proxy; nil takes it from the variables of the environment that curl uses, and an empty text uses no
    /// proxy.
    public var proxy: String?

    /// The user and the password for the origin of the first URL; they replace those of the URL.
    public var credentials: Credentials?

    /// The path of a netrc file with users and passwords, for a URL without; nil uses none.
    public var netrcFile: String?

    /// The longest time for connecting, TLS included.
    public var connectLimit = Duration.seconds(30)

    /// The settings that curl has by default.
    public init() {}

    /// A user and a password, sent by Basic authentication.
    public struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        /// The user, without a colon.
        public let user: String
        /// The password.
        public let password: String

        /// Creates credentials.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// The name of the type.
        public var description: String { "BlobTransferSettings.Credentials" }

        /// Nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension BlobTransferSettings: CustomStringConvertible, CustomReflectable {
    /// The name of the type: a proxy may have a password.
    public var description: String { "BlobTransferSettings" }

    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
