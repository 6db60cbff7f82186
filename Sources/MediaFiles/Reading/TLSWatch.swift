internal import CFFmpeg
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Hears that a server's certificate was refused: libavformat says so in its log only, and returns EIO, or passes over a piece.
///
/// Made and asked on threads that open and read; libavformat connects on the thread that calls it.
struct TLSWatch {
    enum Refusal { case certificate, name }

    private static let heard = Lock<[UInt: Refusal]>([:])
    private static let count = Atomic<Int>(0)
    private var seen: Int

    /// Hears what comes from now on.
    init() { seen = Self.count.load(ordering: .acquiring) }

    /// What this thread was refused since it was last asked. Costs one atomic load while nothing was.
    mutating func refusal() -> Refusal? {
        let now = Self.count.load(ordering: .acquiring)
        guard now != seen else { return nil }
        seen = now
        return Self.heard.withLock { $0.removeValue(forKey: UInt(pthread_self())) }
    }

    /// Whether this thread was refused something that it has not asked for yet.
    static var isRefused: Bool { heard.withLock { $0[UInt(pthread_self())] != nil } }

    /// Takes the place of what writes to standard error.
    static func install() {
        av_log_set_callback { source, level, format, _ in
            // The words of libavformat's tls_gnutls.c and tls_openssl.c.
            guard level <= AV_LOG_ERROR, let source, let format,
                let described = source.load(as: UnsafePointer<AVClass>?.self),
                let name = described.pointee.item_name?(source), strcmp(name, "tls") == 0,
                strstr(format, "ertificate") != nil || strstr(format, "verif") != nil
            else { return }
            let refusal = strstr(format, "hostname") == nil ? Refusal.certificate : .name
            TLSWatch.heard.withLock { $0[UInt(pthread_self())] = refusal }
            TLSWatch.count.add(1, ordering: .releasing)
        }
    }
}
