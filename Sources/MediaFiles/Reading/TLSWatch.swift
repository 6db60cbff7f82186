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
    /// Hosts without an address, by the thread that asked for it last.
    private static let unresolved = Lock<[UInt: String]>([:])
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

    /// Returns the host whose name this thread could not resolve since the last call; nil if there was none. libavformat returns EIO.
    static func takeUnresolvedHost() -> String? { unresolved.withLock { $0.removeValue(forKey: UInt(pthread_self())) } }

    /// Takes the place of what writes to standard error.
    static func install() {
        av_log_set_callback { source, level, format, words in
            guard level <= AV_LOG_ERROR, let source, let format,
                let described = source.load(as: UnsafePointer<AVClass>?.self),
                let name = described.pointee.item_name?(source)
            else { return }
            // The words of libavformat's tcp.c.
            if strncmp(format, "Failed to resolve hostname", 26) == 0, let words {
                var sentence = [CChar](repeating: 0, count: 300)
                vsnprintf(&sentence, sentence.count, format, words)
                let text = String(decoding: sentence.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                let host = text.dropFirst(27).prefix { $0 != ":" }
                return TLSWatch.unresolved.withLock { $0[UInt(pthread_self())] = String(host) }
            }
            // The words of libavformat's tls_gnutls.c and tls_openssl.c.
            guard strcmp(name, "tls") == 0, strstr(format, "ertificate") != nil || strstr(format, "verif") != nil
            else { return }
            let refusal = strstr(format, "hostname") == nil ? Refusal.certificate : .name
            TLSWatch.note(refusal)
        }
    }
}
