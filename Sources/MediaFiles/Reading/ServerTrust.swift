internal import CFFmpeg
internal import Glibc
public import MediaCore

/// Whom to believe that a server is the one that an `https` address names (RFC 9110, 4.3.4).
///
/// Holds for everything that is opened on the way: redirects, playlists, segments and keys.
public struct ServerTrust: Sendable {
    /// A certificate's chain must end at one of the system's authorities.
    public static let system = ServerTrust(verifies: true)
    /// Everybody is believed. What comes may be from anybody on the network.
    public static let everybody = ServerTrust(verifies: false)

    /// The system's authorities, and those of a file.
    ///
    /// - Parameter file: certificates in PEM (RFC 7468), at most 1 MiB.
    /// - Throws: `cannotOpen` or `notPermitted` for a file that cannot be read, `notMedia` for one without a certificate.
    public static func system(and file: String) throws(MediaError) -> ServerTrust {
        let bytes = try NamedFile.read(file, most: largestFile, what: "certificates")
        guard bytes.firstRange(of: Array("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw MediaError(.notMedia, "\"\(file)\" holds no certificate; give one in PEM")
        }
        // ignored: without the system's certificates the file's alone are trusted, and a refused server is reported.
        let own = (try? NamedFile.read(systemFile, most: largestFile, what: "certificates")) ?? []
        guard let bundle = Bundle(own + [UInt8(ascii: "\n")] + bytes) else {
            throw MediaError(.limitExceeded, "there is no room for the authorities of \"\(file)\"; close something")
        }
        return ServerTrust(verifies: true, bundle: bundle)
    }

    let verifies: Bool
    private var bundle: Bundle?
    /// For libavformat; nil is the system's.
    var path: UnsafePointer<CChar>? { bundle.map { UnsafePointer($0.path) } }

    /// Whether the system has any authority to ask.
    static var isSystemEquipped: Bool { access(systemFile, R_OK) == 0 }

    /// Where Debian's `ca-certificates` puts them, and GnuTLS looks for them.
    static let systemFile = "/etc/ssl/certs/ca-certificates.crt"
    private static let largestFile = 1 << 20

    /// A file in memory, because libavformat wants one with everybody in it.
    ///
    /// `@unchecked Sendable`: nothing in it changes between `init` and `deinit`.
    private final class Bundle: @unchecked Sendable {
        private let descriptor: Int32
        let path: UnsafeMutablePointer<CChar>

        init?(_ bytes: [UInt8]) {
            let descriptor = cff_memory_file()
            guard descriptor >= 0 else { return nil }
            guard write(descriptor, bytes, bytes.count) == bytes.count, let path = strdup("/proc/self/fd/\(descriptor)")
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
