internal import CFFmpeg
internal import MediaCore
internal import Synchronization

/// Decides whether blocking I/O of libavformat continues, as its interrupt callback.
///
/// libavformat polls the callback about ten times a second while it blocks (`AVIOInterruptCB`). Any thread.
final class InterruptCallback: Sendable {
    /// Also read on libavformat's own threads.
    private let cancellations: Lock<[Cancellation]>
    /// The deadline in nanoseconds of the host clock; `Int64.max`: none.
    private let deadline = Atomic<Int64>(.max)
    /// The deadline of a single network call, in the same unit.
    private let callDeadline = Atomic<Int64>(.max)

    /// Another guard that also interrupts.
    private let followed = Lock<InterruptCallback?>(nil)

    init(_ cancellations: [Cancellation]) { self.cancellations = Lock(cancellations) }

    /// Also interrupts whenever another guard does; nil ends that. Used for a connection that readers share in
    /// sequence.
    func forward(_ other: InterruptCallback?) { followed.withLock { $0 = other } }

    /// Adds a cancellation that interrupts from now on.
    func add(_ cancellation: Cancellation) { cancellations.withLock { $0.append(cancellation) } }

    /// Replaces a cancellation, which interrupts no longer.
    func replace(_ old: Cancellation, with fresh: Cancellation) {
        cancellations.withLock { all in
            if let index = all.firstIndex(where: { $0 === old }) { all[index] = fresh }
        }
    }

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

    /// Sets the deadline of all following I/O to `timeout` from now; nil removes it.
    func allow(_ timeout: Duration?) {
        let limit = timeout.map { HostInstant.now.advanced(by: $0).nanoseconds } ?? .max
        deadline.store(limit, ordering: .relaxed)
    }

    /// Sets the deadline of one network call; nil removes it.
    func limitCall(to duration: Duration?) {
        let limit = duration.map { HostInstant.now.advanced(by: $0).nanoseconds } ?? .max
        callDeadline.store(limit, ordering: .relaxed)
    }

    private var isPastCallDeadline: Bool {
        let limit = callDeadline.load(ordering: .relaxed)
        return limit != .max && HostInstant.now.nanoseconds >= limit
    }

    /// The callback to install. The caller keeps this object alive while it is installed: the pointer is unretained.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { @Sendable raw in
                guard let raw else { return 0 }
                let asked = Unmanaged<InterruptCallback>.fromOpaque(raw).takeUnretainedValue()
                return asked.isCancelled || asked.isPastDeadline || asked.isPastCallDeadline ? 1 : 0
            }, opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
