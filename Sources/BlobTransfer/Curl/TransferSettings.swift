import CCurl

/// The settings of connections, for downloads and uploads.
package struct TransferSettings: Sendable, Equatable {
    /// The longest time without activity, if the context of a job has no limit of its own.
    package static let defaultIdleLimit = Duration.seconds(60)

    /// The path of a file with the certificates to trust, in PEM; nil is the system's.
    package var certificateFile: String?

    /// The path of a file with the certificate of the client, in PEM; nil sends none.
    package var clientCertificateFile: String?

    /// The path of a file with the private key of the client, in PEM and not encrypted; nil is the file of its
    /// certificate.
    package var clientKeyFile: String?

    /// True to accept any certificate of a server.
    package var isInsecure = false

    /// The URL of a proxy; nil is that of the environment, as curl has it, and an empty one is none.
    package var proxy: String?

    /// The user and the password for the origin of the first URL; they replace those of the URL.
    package var credentials: TransferURL.Credentials?

    /// The path of a netrc file with users and passwords, for a URL without; nil uses none.
    package var netrcFile: String?

    /// The longest time for connecting, TLS included.
    package var connectLimit = Duration.seconds(30)

    package init() {}
}

extension CurlHandle {
    /// Sets what all requests have in common, and the settings of their connection.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL without credentials.
    ///   - urlCredentials: The credentials of the first URL, if it has any.
    ///   - mayAuthenticate: False when a redirection has led to another origin.
    package func setUp(
        _ url: String, _ settings: TransferSettings, _ urlCredentials: TransferURL.Credentials?,
        mayAuthenticate: Bool = true
    ) {
        self.setUp(url, connectLimit: settings.connectLimit)
        if let proxy = settings.proxy { self.set(CURLOPT_PROXY, proxy) }
        if let file = settings.certificateFile { self.set(CURLOPT_CAINFO, file) }
        if settings.isInsecure {
            self.set(CURLOPT_SSL_VERIFYPEER, 0)
            self.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        guard mayAuthenticate else { return }
        if let file = settings.clientCertificateFile {
            self.set(CURLOPT_SSLCERT, file)
            self.set(CURLOPT_SSLKEY, settings.clientKeyFile ?? file)
            // Without one, OpenSSL would ask for the password of an encrypted key.
            self.set(CURLOPT_KEYPASSWD, "")
        }
        if let credentials = settings.credentials ?? urlCredentials {
            self.set(CURLOPT_USERNAME, credentials.user)
            self.set(CURLOPT_PASSWORD, credentials.password)
        } else if let file = settings.netrcFile {
            self.set(CURLOPT_NETRC, Int(CURL_NETRC_REQUIRED.rawValue))
            self.set(CURLOPT_NETRC_FILE, file)
        }
    }
}
