package import MediaCore
internal import Synchronization

/// The latency of a device's stream as its sound server has measured it; newest measurement only. And its moves.
///
/// ALSA's plugins report a smoothed delay. PulseAudio's client library smooths measurements of the server that are
/// within 0.2 ms of a straight line from 20 ms after the start on; its result was up to 30 ms off for seconds, in one
/// start of ten by more than 5 ms (measured).
///
/// One thread, which asks the server, calls `publish` and `setUnavailable`. Any thread reads; without a lock.
/// `consumeMove` has one caller.
package final class ServerLatency: Sendable {
    /// A measurement of the server.
    package struct Measurement: Sendable, BitwiseCopyable {
        /// The server measured between these instants.
        package var asked: HostInstant
        package var answered: HostInstant
        /// From the arrival of a frame at the server to the listener, in nanoseconds.
        package var nanoseconds: Int64

        /// Creates a measurement.
        package init(asked: HostInstant, answered: HostInstant, latency: Duration) {
            (self.asked, self.answered, nanoseconds) = (asked, answered, latency.wholeNanoseconds)
        }
    }

    private let cell = SeqLock(
        Measurement(asked: HostInstant(nanoseconds: 0), answered: HostInstant(nanoseconds: 0), latency: .zero))
    /// Stored with release after `cell`, loaded with acquire before it. True until the opposite is known.
    private let isAvailable = Atomic<Bool>(true)
    private let isMoved = Atomic<Bool>(false)
    private let isAnswered = Atomic<Bool>(false)

    /// Creates a cell without a measurement.
    package init() {}

    /// Replaces the measurement.
    package func publish(_ measurement: Measurement) {
        cell.store(measurement)
        isAvailable.store(true, ordering: .releasing)
        recordAnswer()
    }

    /// Records that there are no measurements, for instance because there is no such server.
    package func setUnavailable() { isAvailable.store(false, ordering: .releasing) }

    /// Records that the server has found the stream, or does not respond. What depends on the sink, such as its
    /// calibration, has been applied before.
    package func recordAnswer() { isAnswered.store(true, ordering: .releasing) }

    /// Records that the server has not answered yet, to a new owner of the device.
    package func awaitAnswer() { isAnswered.store(false, ordering: .releasing) }

    /// Whether the server has answered in one of these ways.
    var hasAnswer: Bool { isAnswered.load(ordering: .acquiring) }

    /// Records that the server has moved the stream to another sink, whose latency differs. Any thread.
    package func recordMove() { isMoved.store(true, ordering: .relaxed) }

    /// Returns true once after a move.
    func consumeMove() -> Bool { isMoved.load(ordering: .relaxed) && isMoved.exchange(false, ordering: .relaxed) }

    /// The newest measurement, before the first one that of host time 0; nil while there is none.
    var newest: Measurement? { isPossible ? cell.load() : nil }

    /// Whether a measurement may follow.
    var isPossible: Bool { isAvailable.load(ordering: .acquiring) }
}
