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
        let bytes = try read(file)
        guard bytes.firstRange(of: Array("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
            throw MediaError(.notMedia, "\"\(file)\" holds no certificate; give one in PEM")
        }
        let own = (try? read(systemFile)) ?? []
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

    private static func read(_ path: String) throws(MediaError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw errno == EACCES
                ? MediaError(.notPermitted, "may not read \"\(path)\"; check its permissions")
                : MediaError(.cannotOpen, "there is no file \"\(path)\"; check the name")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= largestFile {
            let got = Glibc.read(descriptor, &piece, piece.count)
            if got < 0 && errno == EINTR { continue }
            if got < 0 { throw MediaError(.cannotOpen, "\"\(path)\" cannot be read; give a file of certificates") }
            if got == 0 { return bytes }
            bytes += piece.prefix(got)
        }
        throw MediaError(.limitExceeded, "\"\(path)\" is too long for a list of certificates; check the name")
    }

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
