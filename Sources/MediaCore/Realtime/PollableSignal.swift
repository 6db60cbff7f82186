internal import CShim
internal import Glibc

/// A signal for a thread that also polls file descriptors, such as the one that owns a window.
///
/// Multiple raises before a wait count as one. Raising is wait-free and allowed on any thread.
package final class PollableSignal: Sendable {
    /// The reasons why a wait ended.
    package struct Wake: OptionSet, Sendable {
        /// The bits.
        package let rawValue: Int32
        /// Creates a set from its bits.
        package init(rawValue: Int32) { self.rawValue = rawValue }
        /// The signal was raised; the wait has cleared it.
        static let raised = Wake(rawValue: 1)
        /// The descriptor is readable or its peer has closed.
        package static let readable = Wake(rawValue: 2)
        /// The second descriptor is readable or its peer has closed.
        package static let secondReadable = Wake(rawValue: 4)
    }

    /// The eventfd(2); readable while raised.
    package let descriptor: Int32

    /// Creates a signal that is not raised.
    ///
    /// - Throws: if no descriptor is available.
    package init() throws(ExhaustionError) {
        descriptor = cshim_event_descriptor()
        guard descriptor >= 0 else { throw .descriptor(errno) }
    }

    deinit { close(descriptor) }

    /// Wakes the waiting thread, or makes its next wait return immediately.
    package func raise() { cshim_event_raise(descriptor) }

    /// Resets the signal. Until then `descriptor` is readable for any number of polling threads.
    package func clear() { cshim_event_clear(descriptor) }

    /// Waits until the signal is raised, a descriptor is readable, or the deadline has passed. One thread at a time.
    ///
    /// - Parameters:
    ///   - deadline: nil waits without a timeout.
    ///   - other: a descriptor to poll as well, or nil; `second` likewise.
    /// - Returns: the reasons; empty after the deadline.
    package func wait(until deadline: HostInstant?, orReadable other: Int32? = nil, or second: Int32? = nil) -> Wake {
        while true {
            let wake = Wake(
                rawValue: cshim_poll_until(descriptor, other ?? -1, second ?? -1, deadline?.nanoseconds ?? .max))
            if wake.contains(.raised) { cshim_event_clear(descriptor) }
            if !wake.isEmpty { return wake }
            if let deadline, deadline <= .now { return [] }
        }
    }

    /// Sets the timer slack of the calling thread to the minimum (PR_SET_TIMERSLACK, prctl(2)). By default the kernel
    /// wakes it up to 50 µs late to save power.
    package static func requestPreciseWaits() { cshim_set_timer_slack(1) }
}
