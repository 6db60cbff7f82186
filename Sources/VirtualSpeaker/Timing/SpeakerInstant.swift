internal import MediaCore

/// An instant on the speaker's oscillator, which can be fast or slow against the host clock.
struct SpeakerInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the oscillator's origin.
    var nanoseconds: Int64

    func advanced(by duration: Duration) -> SpeakerInstant {
        SpeakerInstant(nanoseconds: nanoseconds &+ duration.wholeNanoseconds)
    }

    func duration(to other: SpeakerInstant) -> Duration { .nanoseconds(other.nanoseconds &- nanoseconds) }

    static func < (left: SpeakerInstant, right: SpeakerInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The speaker's oscillator: the host's monotonic clock with a constant rate error.
struct Oscillator: Sendable {
    private let mapping: ClockMapping<HostInstant, SpeakerInstant>
    /// The source of the sender's suspended time if the sender is on this computer and the
    /// speaker is not suspended; else nil.
    private let sender: (any HostClock)?
    private let asleepBefore: Duration

    /// - Parameter partsPerMillion: The rate error in ppm; positive: the speaker's clock is fast.
    init(partsPerMillion: Double, sender: (any HostClock)? = nil, now: HostInstant = .now) {
        self.sender = sender
        asleepBefore = sender?.suspended ?? .zero
        mapping = ClockMapping(
            sourceAnchor: now, targetAnchor: SpeakerInstant(nanoseconds: now.nanoseconds),
            rateOffset: partsPerMillion * 1e-6)
    }

    private var asleep: Duration { sender.map { $0.suspended - asleepBefore } ?? .zero }

    func speakerInstant(at host: HostInstant) -> SpeakerInstant { mapping.target(at: host).advanced(by: asleep) }
    func hostInstant(at speaker: SpeakerInstant) -> HostInstant {
        mapping.source(at: speaker.advanced(by: .zero - asleep))
    }
}

/// The sender's timeline as known to the speaker. All methods are callable from any thread.
///
/// With PTP timing instants are on the grandmaster's clock, with NTP timing on the sender's clock in nanoseconds.
protocol SenderClock: Sendable {
    /// Returns the host instant of an instant on the sender's timeline; nil while the timeline is unknown.
    func hostInstant(of instant: PTPInstant) -> HostInstant?
    /// The grandmaster of the timeline; nil while unknown, and with NTP timing.
    var grandmaster: UInt64? { get }
    /// Whether audio can be placed.
    var isLocked: Bool { get }
    /// Whether anchors carry a clock identity (PTP).
    var namesClocks: Bool { get }
    /// The oscillator that drives the speaker's device; nil: the host clock.
    var deviceOscillator: Oscillator? { get }
    /// Ends the thread and blocks until it has ended.
    func stop()
}

extension SenderClock {
    var deviceOscillator: Oscillator? { nil }
}
