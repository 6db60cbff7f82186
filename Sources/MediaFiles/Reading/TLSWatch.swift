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
    /// Hosts without an address, by the thread that asked for it last.
    private static let unresolved = Lock<[UInt: String]>([:])
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
            TLSWatch.heard.withLock { $0[UInt(pthread_self())] = refusal }
            TLSWatch.count.add(1, ordering: .releasing)
        }
    }
}
