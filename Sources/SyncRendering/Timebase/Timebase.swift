public import MediaCore
internal import Synchronization

/// A linear segment of the timeline: media time `mediaAnchor` is presented at host instant `hostAnchor`, and media time
/// advances at `rate` media seconds per second from there.
public struct TimebaseSegment: Hashable, Sendable, BitwiseCopyable {
    /// The media time of the anchor.
    public var mediaAnchor: MediaTime
    /// The host instant of the anchor.
    public var hostAnchor: HostInstant
    /// 0 is stopped, 1 is normal speed. Never negative.
    public var rate: Double
    /// The commanded rate. `rate` differs from it by at most 100 ppm while an external clock is followed
    /// (`RenderSynchronizer.steer`). Audio is stretched for this speed.
    public var speed: Double

    /// Creates a segment; invalid rates become 0.
    ///
    /// - Parameter speed: Nil: same as `rate`.
    public init(mediaAnchor: MediaTime, hostAnchor: HostInstant, rate: Double, speed: Double? = nil) {
        self.mediaAnchor = mediaAnchor
        self.hostAnchor = hostAnchor
        self.rate = rate.isFinite ? max(0, rate) : 0
        let commanded = speed ?? self.rate
        self.speed = commanded.isFinite ? max(0, commanded) : 0
    }

    /// Returns the media time presented at a host instant.
    public func mediaTime(at instant: HostInstant) -> MediaTime {
        guard rate != 0 else { return mediaAnchor }
        let elapsed = instant.nanoseconds.subtractingClamped(hostAnchor.nanoseconds)
        return mediaAnchor + MediaTime(nanoseconds: rate == 1 ? elapsed : Self.rounded(Double(elapsed) * rate))
    }

    /// Returns the host instant at which a media time is presented; nil while stopped.
    public func hostInstant(of time: MediaTime) -> HostInstant? {
        guard rate != 0 else { return nil }
        let film = (time - mediaAnchor).nanoseconds
        let elapsed = rate == 1 ? film : Self.rounded(Double(film) / rate)
        return HostInstant(nanoseconds: hostAnchor.nanoseconds.addingClamped(elapsed))
    }

    /// Returns the nearest nanosecond; an application's media time may use all 64 bits.
    private static func rounded(_ nanoseconds: Double) -> Int64 {
        Int64(clamping: nanoseconds, in: .min ... .max)
    }
}

/// A published timeline: the current segment and, if a change is scheduled, the segment that follows.
public struct TimebaseSnapshot: Hashable, Sendable, BitwiseCopyable {
    /// The segment in effect.
    public var current: TimebaseSegment
    /// The segment that replaces it at its `hostAnchor`.
    public var scheduled: TimebaseSegment?
    /// Counts commands, not steering. Identifies media prepared for an older timeline.
    public var generation: UInt64

    /// Returns the segment in effect at a host instant.
    public func segment(at instant: HostInstant) -> TimebaseSegment {
        if let scheduled, scheduled.hostAnchor <= instant { return scheduled }
        return current
    }

    /// Returns the media time presented at a host instant.
    public func mediaTime(at instant: HostInstant) -> MediaTime { segment(at: instant).mediaTime(at: instant) }

    /// Returns the host instant at which a media time is presented, as seen from `now`. The current segment applies, or
    /// the scheduled one if the current one does not reach that time before. A media time before the anchor of a
    /// scheduled future segment is due at that anchor. Nil if neither segment reaches it.
    public func hostInstant(of time: MediaTime, at now: HostInstant) -> HostInstant? {
        let running = segment(at: now)
        guard let scheduled, scheduled.hostAnchor > now else { return running.hostInstant(of: time) }
        if let instant = running.hostInstant(of: time), instant < scheduled.hostAnchor { return instant }
        return scheduled.hostInstant(of: time).map { max($0, scheduled.hostAnchor) }
    }

    /// The segment that will finally be in effect; outputs prepare for it.
    public var upcoming: TimebaseSegment { scheduled ?? current }
}

/// The relation that all outputs follow: media time M is presented at host instant H.
///
/// Reads are lock-free and consistent on any thread. Only `RenderSynchronizer` writes. Before the first segment, time
/// is stopped at zero.
public final class Timebase: Sendable {
    /// The clock of the host instants.
    public let clock: any HostClock
    /// The synchronizer's timeline, shared with its derived timelines. Stored by the synchronizer under its command
    /// lock.
    private let cell: SeqLock<TimebaseSnapshot>
    /// The delay against `original`, in nanoseconds. Stored and loaded by any thread.
    private let delayNanoseconds = Atomic<Int64>(0)
    /// The timeline from which this one is derived, which has no gate; its delay adds up. Nil: the synchronizer's own.
    private let original: Timebase?
    /// Whether an external clock leads. Stored by any thread.
    private let led = Atomic<Bool>(false)
    /// The range of media time in which the timeline runs; nil: unlimited. Stored by one thread at a time.
    private let gate: SeqLock<OutputGate>?

    init(clock: any HostClock) {
        self.clock = clock
        let still = TimebaseSegment(mediaAnchor: .zero, hostAnchor: clock.now, rate: 0)
        cell = SeqLock(TimebaseSnapshot(current: still, scheduled: nil, generation: 0))
        (original, gate) = (nil, nil)
    }

    /// Creates a derived timeline with a separate delay, positive for later audio. Timelines may be derived repeatedly;
    /// the delays add up.
    package init(following original: Timebase) {
        clock = original.clock
        cell = original.cell
        self.original = original
        gate = nil
    }

    /// Creates a derived timeline for an output that joins or leaves during playback: it runs only while its gate is
    /// open.
    init(gating original: Timebase) {
        clock = original.clock
        cell = original.cell
        self.original = original
        gate = SeqLock(OutputGate())
    }

    /// Sets the gate; the caller must notify the outputs. One thread at a time; no effect on a timeline without a gate.
    func setGate(_ gate: OutputGate) { self.gate?.store(gate) }

    /// The delay against the original timeline. Any thread; takes effect with the next read.
    var delay: Duration {
        get { .nanoseconds(delayNanoseconds.load(ordering: .relaxed)) }
        set { delayNanoseconds.store(newValue.wholeNanoseconds, ordering: .relaxed) }
    }

    /// The last published timeline. Any thread; lock-free.
    public var snapshot: TimebaseSnapshot {
        var snapshot = cell.load()
        let delay = totalDelay
        // A gate opens and closes as late as its output plays.
        if let gate { snapshot = snapshot.gated(by: gate.load(), at: clock.now.advanced(by: .nanoseconds(-delay))) }
        if delay != 0 {
            snapshot.current.hostAnchor = snapshot.current.hostAnchor.advanced(by: .nanoseconds(delay))
            if let start = snapshot.scheduled?.hostAnchor {
                snapshot.scheduled?.hostAnchor = start.advanced(by: .nanoseconds(delay))
            }
        }
        return snapshot
    }

    /// Whether an external clock leads the timeline (`TimelineSource`). Outputs whose audio is out of reach of steering
    /// then report their timing, which the timebase follows. Lock-free.
    package internal(set) var isLed: Bool {
        get { original?.isLed ?? led.load(ordering: .relaxed) }
        set { led.store(newValue, ordering: .relaxed) }
    }

    /// The total delay against the synchronizer's timeline. Lock-free.
    package var delayInAll: Duration { .nanoseconds(totalDelay) }

    /// The total delay against the synchronizer's timeline in nanoseconds.
    private var totalDelay: Int64 {
        delayNanoseconds.load(ordering: .relaxed).addingClamped(original?.totalDelay ?? 0)
    }

    /// The current media time. Any thread; lock-free.
    public var currentTime: MediaTime { snapshot.mediaTime(at: clock.now) }

    /// The current rate. Any thread; lock-free.
    public var rate: Double { snapshot.segment(at: clock.now).rate }

    func publish(_ snapshot: TimebaseSnapshot) { cell.store(snapshot) }
}
