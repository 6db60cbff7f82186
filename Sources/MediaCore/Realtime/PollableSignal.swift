internal import CShim
internal import Glibc

/// A signal for one thread that also waits for a file descriptor, such as the one that owns a window.
///
/// Several raises before the wait count as one. Raising is wait-free, on any thread.
public final class PollableSignal: Sendable {
    /// What ended a wait.
    public struct Wake: OptionSet, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
        /// The signal was raised; the raises are taken back.
        public static let raised = Wake(rawValue: 1)
        /// The descriptor can be read, or its other end is gone.
        public static let readable = Wake(rawValue: 2)
        /// The same of the second descriptor.
        public static let secondReadable = Wake(rawValue: 4)
    }

    /// The event descriptor behind it (eventfd(2)); readable while raised.
    package let descriptor: Int32

    /// - Throws: when the system gives no further descriptor.
    public init() throws(ExhaustionError) {
        descriptor = cshim_event_descriptor()
        guard descriptor >= 0 else { throw .descriptor(errno) }
    }

    deinit { close(descriptor) }

    /// Wakes the waiter, or lets its next wait return at once.
    public func raise() { cshim_event_raise(descriptor) }

    /// Takes the raises back. Until then whoever polls `descriptor` finds it readable: any number of threads.
    package func clear() { cshim_event_clear(descriptor) }

    /// Waits until raised, until one of the descriptors can be read, or until the moment passes.
    ///
    /// - Parameters:
    ///   - deadline: nil waits for ever.
    ///   - other: a descriptor to wait for too, or nil; and a second one.
    /// - Returns: what happened; empty when the moment passed.
    public func wait(until deadline: HostInstant?, orReadable other: Int32? = nil, or second: Int32? = nil) -> Wake {
        while true {
            let wake = Wake(
                rawValue: cshim_poll_until(descriptor, other ?? -1, second ?? -1, deadline?.nanoseconds ?? .max))
            if wake.contains(.raised) { cshim_event_clear(descriptor) }
            if !wake.isEmpty { return wake }
            if let deadline, deadline <= .now { return [] }
        }
    }

    /// Asks the kernel to wake the calling thread as near to its deadlines as it can, instead of 50 µs later to save
    /// power (PR_SET_TIMERSLACK, prctl(2)).
    public static func requestPreciseWaits() { cshim_set_timer_slack(1) }
}
