internal import CFFmpeg
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Detects refused server certificates. libavformat only logs them, and returns EIO or skips a segment.
///
/// Created and used on threads that open and read; libavformat connects on the calling thread.
struct TLSFailureRecorder {
    enum Refusal { case certificate, name }

    /// By thread: its last refusal, and the process-wide number of refusals at that point.
    private static let refusals = Lock<[UInt: (refusal: Refusal, number: Int)]>([:])
    /// Unresolved hosts, by the thread that requested them last.
    private static let unresolved = Lock<[UInt: String]>([:])
    private static let count = Atomic<Int>(0)
    private var seen: Int

    /// Detects refusals from now on; earlier ones of this thread belong to other connections.
    init() { seen = Self.count.load(ordering: .acquiring) }

    /// Returns and clears this thread's refusal since the last call. Costs one atomic load if there was none.
    mutating func refusal() -> Refusal? {
        let now = Self.count.load(ordering: .acquiring)
        guard now != seen else { return nil }
        defer { seen = now }
        guard isRefused else { return nil }
        return Self.refusals.withLock { $0.removeValue(forKey: UInt(pthread_self()))?.refusal }
    }

    /// Whether this thread had a refusal since the last call of `refusal`.
    var isRefused: Bool { Self.refusals.withLock { $0[UInt(pthread_self())].map { $0.number > seen } ?? false } }

    /// Records a refusal of this thread.
    static func recordRefusal(_ refusal: Refusal) {
        refusals.withLock { all in
            all[UInt(pthread_self())] = (refusal, count.add(1, ordering: .releasing).newValue)
        }
    }

    /// Returns the host that this thread could not resolve since the last call; nil if there was none. libavformat
    /// returns EIO.
    static func consumeUnresolvedHost() -> String? {
        unresolved.withLock { $0.removeValue(forKey: UInt(pthread_self())) }
    }

    /// Replaces the log callback that writes to standard error.
    static func install() {
        av_log_set_callback { source, level, format, arguments in
            guard level <= AV_LOG_ERROR, let source, let format,
                let described = source.load(as: UnsafePointer<AVClass>?.self),
                let name = described.pointee.item_name?(source)
            else { return }
            // The message of libavformat's tcp.c.
            if strncmp(format, "Failed to resolve hostname", 26) == 0, let arguments {
                var sentence = [CChar](repeating: 0, count: 300)
                vsnprintf(&sentence, sentence.count, format, arguments)
                let text = String(decoding: sentence.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                let host = text.dropFirst(27).prefix { $0 != ":" }
                return TLSFailureRecorder.unresolved.withLock { $0[UInt(pthread_self())] = String(host) }
            }
            // The messages of libavformat's tls_gnutls.c and tls_openssl.c.
            guard strcmp(name, "tls") == 0, strstr(format, "ertificate") != nil || strstr(format, "verif") != nil
            else { return }
            let refusal = strstr(format, "hostname") == nil ? Refusal.certificate : .name
            TLSFailureRecorder.recordRefusal(refusal)
        }
    }
}
