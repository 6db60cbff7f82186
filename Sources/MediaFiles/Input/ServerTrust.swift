internal import CFFmpeg
internal import Glibc
public import MediaCore

/// The certificate verification of the server in an `https` address (RFC 9110, 4.3.4).
///
/// Applies to everything opened: redirects, playlists, segments and keys.
public struct ServerTrust: Sendable {
    /// Certificate chains must end at a system CA.
    public static let system = ServerTrust(verifies: true)
    /// Certificates are not verified. Any host on the network can supply the data.
    public static let unverified = ServerTrust(verifies: false)

    /// Returns a verification with the system CAs and those of a file.
    ///
    /// - Parameter file: Certificates in PEM (RFC 7468), at most 1 MiB.
    /// - Throws: `cannotOpen` or `notPermitted` if the file cannot be read, `limitExceeded` if it is too long or memory
    ///   is exhausted, `notMedia` if it contains no certificate.
    public static func system(and file: String) throws(MediaError) -> ServerTrust {
        let bytes = try NamedFile.read(file, maxBytes: largestFile, what: "certificates")
        guard bytes.firstRange(of: Array("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw MediaError(.notMedia, "\"\(file)\" contains no certificate; use a file in PEM format")
        }
        // ignored: without the system CAs only those of the file are trusted, and refused servers are reported.
        let own = (try? NamedFile.read(systemFile, maxBytes: largestFile, what: "certificates")) ?? []
        guard let bundle = Bundle(own + [UInt8(ascii: "\n")] + bytes) else {
            throw MediaError(.limitExceeded, "out of memory for the authorities of \"\(file)\"; close other programs")
        }
        return ServerTrust(verifies: true, bundle: bundle)
    }

    let verifies: Bool
    private var bundle: Bundle?
    /// The CA file for libavformat; nil: the system's.
    var path: UnsafePointer<CChar>? { bundle.map { UnsafePointer($0.path) } }

    /// Whether the system has a CA file.
    static var isSystemEquipped: Bool { access(systemFile, R_OK) == 0 }

    /// The file of Debian's `ca-certificates`, which is also GnuTLS's default.
    static let systemFile = "/etc/ssl/certs/ca-certificates.crt"
    private static let largestFile = 1 << 20

    /// A file in memory, because libavformat requires all CAs in one file.
    ///
    /// `@unchecked Sendable`: immutable between `init` and `deinit`.
    private final class Bundle: @unchecked Sendable {
        private let descriptor: Int32
        let path: UnsafeMutablePointer<CChar>

        init?(_ bytes: [UInt8]) {
            let descriptor = cff_memory_file()
            guard descriptor >= 0 else { return nil }
            guard CompleteWrite.write(bytes, to: descriptor) == nil, let path = strdup("/proc/self/fd/\(descriptor)")
            else {
                close(descriptor)
                return nil
            }
            self.descriptor = descriptor
            self.path = path
        }

        deinit {
            free(path)
            close(descriptor)
        }
    }
}
