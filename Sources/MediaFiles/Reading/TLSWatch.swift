internal import CFFmpeg
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Hears that a server's certificate was refused: libavformat says so in its log only, and returns EIO, or passes over a piece.
///
/// Made and asked on threads that open and read; libavformat connects on the thread that calls it.
struct TLSWatch {
    enum Refusal { case certificate, name }

    /// By thread: its last refusal, and the number of refusals in the process at that point.
    private static let refusals = Lock<[UInt: (refusal: Refusal, number: Int)]>([:])
    private static let count = Atomic<Int>(0)
    private var seen: Int

    /// Sees refusals from now on; earlier ones of this thread belong to other connections.
    init() { seen = Self.count.load(ordering: .acquiring) }

    /// Takes what this thread was refused since the last call. Costs one atomic load while nothing was.
    mutating func refusal() -> Refusal? {
        let now = Self.count.load(ordering: .acquiring)
        guard now != seen else { return nil }
        defer { seen = now }
        guard isRefused else { return nil }
        return Self.refusals.withLock { $0.removeValue(forKey: UInt(pthread_self()))?.refusal }
    }

    /// Whether this thread was refused something since the last call of `refusal`.
    var isRefused: Bool { Self.refusals.withLock { $0[UInt(pthread_self())].map { $0.number > seen } ?? false } }

    /// Records a refusal of this thread.
    static func note(_ refusal: Refusal) {
        refusals.withLock { all in
            all[UInt(pthread_self())] = (refusal, count.add(1, ordering: .releasing).newValue)
        }
    }

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
            TLSWatch.note(refusal)
        }
    }
}
