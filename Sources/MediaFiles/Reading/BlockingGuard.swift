internal import CFFmpeg
internal import MediaCore
internal import Synchronization

/// Decides, while libavformat waits for a disk or a network, whether it may go on waiting.
///
/// libavformat asks about ten times a second from inside its waits (`AVIOInterruptCB`).
final class BlockingGuard: Sendable {
    /// Read from inside a wait, which may happen on a thread of libavformat's own.
    private let cancellations: Lock<[Cancellation]>
    /// Nanoseconds on the host clock after which waiting ends; `Int64.max` when there is no limit.
    private let deadline = Atomic<Int64>(.max)
    /// The same for one call of many.
    private let callDeadline = Atomic<Int64>(.max)

    /// Another guard that ends waiting too.
    private let followed = Lock<BlockingGuard?>(nil)

    init(_ cancellations: [Cancellation]) { self.cancellations = Lock(cancellations) }

    /// From now on waiting also ends when another guard ends it; nil ends that. For a connection that several readers use in turn.
    func follow(_ other: BlockingGuard?) { followed.withLock { $0 = other } }

    /// Another one who may cancel, from now on.
    func add(_ cancellation: Cancellation) { cancellations.withLock { $0.append(cancellation) } }

    var isCancelled: Bool {
        cancellations.withLock { all in
            for cancellation in all where cancellation.isCancelled { return true }
            return false
        } || followed.withLock { $0 }?.isCancelled ?? false
    }

    var isPastDeadline: Bool {
        let limit = deadline.load(ordering: .relaxed)
        return limit != .max && HostInstant.now.nanoseconds >= limit
            || followed.withLock { $0 }?.isPastDeadline ?? false
    }

    /// Limits what follows; nil lifts the limit.
    func allow(_ patience: Duration?) {
        let limit = patience.map { HostInstant.now.advanced(by: $0).nanoseconds } ?? .max
        deadline.store(limit, ordering: .relaxed)
    }

    /// Limits one call into the network; nil lifts the limit.
    func limitCall(to duration: Duration?) {
        let limit = duration.map { HostInstant.now.advanced(by: $0).nanoseconds } ?? .max
        callDeadline.store(limit, ordering: .relaxed)
    }

    private var isPastCallDeadline: Bool {
        let limit = callDeadline.load(ordering: .relaxed)
        return limit != .max && HostInstant.now.nanoseconds >= limit
    }

    /// The callback to install; the caller keeps this object alive for as long as it is.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { @Sendable raw in
                guard let raw else { return 0 }
                let asked = Unmanaged<BlockingGuard>.fromOpaque(raw).takeUnretainedValue()
                return asked.isCancelled || asked.isPastDeadline || asked.isPastCallDeadline ? 1 : 0
            }, opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
