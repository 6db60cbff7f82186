internal import Glibc

/// A certificate authority for servers on this machine, implemented with the `openssl` program.
package struct TestAuthority {
    /// The path of the authority's certificate, PEM.
    package let certificate: String
    private let folder: String

    /// The paths of a certificate and its key, PEM.
    package struct Identity: Sendable {
        /// The path of the certificate.
        package var certificate: String
        /// The path of the key.
        package var key: String
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    /// Creates an authority with its files in `folder`.
    package init(in folder: String) throws {
        self.folder = folder
        certificate = folder + "/authority.pem"
        try TestClips.run(
            "openssl",
            ["req", "-x509"] + Self.newKey + [
                "-keyout", folder + "/authority.key", "-out", certificate, "-days", "30", "-subj", "/CN=Talkie Test",
            ])
    }

    /// Creates a certificate.
    ///
    /// - Parameters:
    ///   - names: The X.509 subjectAltName (RFC 5280, 4.2.1.6).
    ///   - isExpired: Whether it was valid in January 2020 only, otherwise for a day.
    package func sign(_ name: String, for names: String = "DNS:localhost,IP:127.0.0.1", isExpired: Bool = false) throws
        -> Identity
    {
        let path = "\(folder)/\(name)"
        let identity = Identity(certificate: path + ".pem", key: path + ".key")
        try TestClips.run(
            "openssl",
            ["req", "-new"] + Self.newKey + ["-keyout", identity.key, "-out", path + ".csr", "-subj", "/CN=\(name)"])
        try TestClips.write(Array("subjectAltName=\(names)".utf8), to: path + ".ext")
        // Only `openssl ca` states dates in OpenSSL 3.0 and later ones alike.
        let settings = """
            [ca]
            default_ca = test
            [test]
            database = \(path).index
            rand_serial = yes
            new_certs_dir = \(folder)
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        try TestClips.write(Array(settings.utf8), to: path + ".settings")
        try TestClips.write([], to: path + ".index")
        try TestClips.run(
            "openssl",
            [
                "ca", "-batch", "-notext", "-config", path + ".settings", "-in", path + ".csr", "-cert", certificate,
                "-keyfile", folder + "/authority.key", "-extfile", path + ".ext", "-out", identity.certificate,
            ] + (isExpired ? ["-startdate", "20200101000000Z", "-enddate", "20200131000000Z"] : ["-days", "1"]))
        return identity
    }
}

/// A TLS proxy for a plain server on this machine, implemented with Python's `ssl`.
package final class TLSFront {
    /// The TCP port.
    package let port: UInt16
    private let child: ChildProcess

    /// Starts the proxy and blocks until it accepts connections.
    ///
    /// - Parameter laterIdentity: The certificate from the second connection on; nil: the same.
    package init(
        to server: UInt16, as identity: TestAuthority.Identity, later laterIdentity: TestAuthority.Identity? = nil
    ) throws {
        let later = laterIdentity ?? identity
        child = try ChildProcess(
            "/usr/bin/env",
            [
                "python3", "-c", Self.program, "\(server)", identity.certificate, identity.key, later.certificate,
                later.key,
            ], keepsOutput: true)
        var line = ""
        var byte: UInt8 = 0
        while read(child.output, &byte, 1) == 1, byte != 10 { line.append(Character(UnicodeScalar(byte))) }
        guard let port = UInt16(line) else { throw TestClips.Failure(description: "no TLS server; install python3") }
        self.port = port
    }

    /// Returns the URL of a path.
    package func url(_ path: String, host: String = "localhost") -> String { "https://\(host):\(port)/\(path)" }

    /// Ends the proxy and blocks until it has ended.
    package func stop() { child.end() }

    private static let program = """
        import socket, ssl, sys, threading
        server, identities = int(sys.argv[1]), [sys.argv[2:4], sys.argv[4:6]]
        front = socket.create_server(("127.0.0.1", 0))
        print(front.getsockname()[1], flush=True)
        def pump(source, sink):
            try:
                while piece := source.recv(65536): sink.sendall(piece)
            except OSError: pass
            for end in (source, sink):
                try: end.shutdown(socket.SHUT_RDWR)
                except OSError: pass
        def serve(client, identity):
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*identity)
                client = context.wrap_socket(client, server_side=True)
                behind = socket.create_connection(("127.0.0.1", server))
            except OSError: return client.close()
            threading.Thread(target=pump, args=(client, behind), daemon=True).start()
            pump(behind, client)
            client.close(); behind.close()
        while True:
            client, _ = front.accept()
            threading.Thread(target=serve, args=(client, identities[0]), daemon=True).start()
            identities = identities[1:] or identities
        """
}
