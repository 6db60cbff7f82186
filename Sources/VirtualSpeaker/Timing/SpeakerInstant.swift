internal import MediaCore

/// A moment on the speaker's own oscillator, which may run fast or slow against the host's clock.
struct SpeakerInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the oscillator's own origin.
    var nanoseconds: Int64

    func advanced(by duration: Duration) -> SpeakerInstant {
        SpeakerInstant(nanoseconds: nanoseconds &+ duration.wholeNanoseconds)
    }

    func duration(to other: SpeakerInstant) -> Duration { .nanoseconds(other.nanoseconds &- nanoseconds) }

    static func < (left: SpeakerInstant, right: SpeakerInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The oscillator: the host's monotonic clock, off by some parts per million.
struct Oscillator: Sendable {
    private let mapping: ClockMapping<HostInstant, SpeakerInstant>
    /// Tells when the sender's computer sleeps, while this speaker does not; nil where they are no two machines.
    private let sender: (any HostClock)?
    private let asleepBefore: Duration

    /// - Parameter partsPerMillion: positive: the speaker's clock gains.
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

/// The sender's timeline as a speaker knows it.
///
/// The instants are the grandmaster's with PTP timing, and the sender's clock in nanoseconds with NTP timing.
protocol SenderClock: Sendable {
    /// When a moment of the sender's timeline is here; nil while the timeline is not known.
    func hostInstant(of instant: PTPInstant) -> HostInstant?
    /// The grandmaster whose time this is; nil while none is known, and with NTP timing.
    var grandmaster: UInt64? { get }
    /// Whether sound can be placed.
    var isLocked: Bool { get }
    /// Whether anchors name their clock (PTP).
    var namesClocks: Bool { get }
    /// What paces the speaker's sound device, where it is not this computer's clock.
    var deviceOscillator: Oscillator? { get }
    /// Ends following.
    func stop()
}

extension SenderClock {
    var deviceOscillator: Oscillator? { nil }
}
