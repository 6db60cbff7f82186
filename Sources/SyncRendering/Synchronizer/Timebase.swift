public import MediaCore
internal import Synchronization

/// One straight stretch of the timeline: film moment `mediaAnchor` is perceived at host instant `hostAnchor`, and
/// from there film passes at `rate` film seconds per second.
public struct TimebaseSegment: Hashable, Sendable, BitwiseCopyable {
    public var mediaAnchor: MediaTime
    public var hostAnchor: HostInstant
    /// 0 stands still, 1 is natural speed. Never negative.
    public var rate: Double
    /// What was commanded: `rate` differs from it, by at most 100 ppm, while a clock is followed that is not this
    /// computer's (`RenderSynchronizer.steer`). Sound is converted for this speed.
    public var speed: Double

    /// - Parameter speed: nil is `rate`.
    public init(mediaAnchor: MediaTime, hostAnchor: HostInstant, rate: Double, speed: Double? = nil) {
        self.mediaAnchor = mediaAnchor
        self.hostAnchor = hostAnchor
        self.rate = rate.isFinite ? max(0, rate) : 0
        let commanded = speed ?? self.rate
        self.speed = commanded.isFinite ? max(0, commanded) : 0
    }

    /// The film moment perceived at a host instant.
    public func mediaTime(at instant: HostInstant) -> MediaTime {
        guard rate != 0 else { return mediaAnchor }
        let elapsed = instant.nanoseconds.subtractingClamped(hostAnchor.nanoseconds)
        return mediaAnchor + MediaTime(nanoseconds: rate == 1 ? elapsed : Self.rounded(Double(elapsed) * rate))
    }

    /// The host instant at which a film moment is perceived; nil while time stands still.
    public func hostInstant(of time: MediaTime) -> HostInstant? {
        guard rate != 0 else { return nil }
        let film = (time - mediaAnchor).nanoseconds
        let elapsed = rate == 1 ? film : Self.rounded(Double(film) / rate)
        return HostInstant(nanoseconds: hostAnchor.nanoseconds.addingClamped(elapsed))
    }

    /// Returns the nearest nanosecond; an application's own media time may lie as far away as 64 bits reach.
    private static func rounded(_ nanoseconds: Double) -> Int64 {
        Int64(clamping: nanoseconds, in: .min ... .max)
    }
}

/// The timeline as it was published at one moment: the stretch in force and, when a change lies in the future, the
/// stretch that follows it.
public struct TimebaseSnapshot: Hashable, Sendable, BitwiseCopyable {
    public var current: TimebaseSegment
    /// Takes over at its own `hostAnchor`.
    public var scheduled: TimebaseSegment?
    /// Counts commands; steering is none. Samples prepared for an older line are recognised by it.
    public var generation: UInt64

    /// The stretch in force at a host instant.
    public func segment(at instant: HostInstant) -> TimebaseSegment {
        if let scheduled, scheduled.hostAnchor <= instant { return scheduled }
        return current
    }

    /// The film moment perceived at a host instant.
    public func mediaTime(at instant: HostInstant) -> MediaTime { segment(at: instant).mediaTime(at: instant) }

    /// Returns the host instant at which a film moment is perceived, seen from `now`: on the segment in force, or, where
    /// that does not reach it before a scheduled one begins, on the scheduled one. A moment before the anchor of a scheduled
    /// segment that has not begun is due at that anchor. Nil where neither segment reaches it.
    public func hostInstant(of time: MediaTime, at now: HostInstant) -> HostInstant? {
        let running = segment(at: now)
        guard let scheduled, scheduled.hostAnchor > now else { return running.hostInstant(of: time) }
        if let instant = running.hostInstant(of: time), instant < scheduled.hostAnchor { return instant }
        return scheduled.hostInstant(of: time).map { max($0, scheduled.hostAnchor) }
    }

    /// The stretch that ends up in force: what outputs prepare for.
    public var upcoming: TimebaseSegment { scheduled ?? current }
}

/// The one sentence all outputs obey: "film moment M is perceived at host instant H".
///
/// Reading is lock-free and whole, on any thread. Only `RenderSynchronizer` writes. Before its first segment, time
/// stands still at zero.
public final class Timebase: Sendable {
    /// The clock that host instants are read from.
    public let clock: any HostClock
    private let cell: SeqLock<TimebaseSnapshot>
    /// Nanoseconds by which everything is perceived later than the line that this one follows says.
    private let delayNanoseconds = Atomic<Int64>(0)
    /// The line that this one follows, whose delay counts too; nil is the synchronizer's own.
    private let original: Timebase?
    private let led = Atomic<Bool>(false)
    /// Which part of the film this line shows; nil shows all of it.
    private let gate: SeqLock<OutputGate>?

    init(clock: any HostClock) {
        self.clock = clock
        let still = TimebaseSegment(mediaAnchor: .zero, hostAnchor: clock.now, rate: 0)
        cell = SeqLock(TimebaseSnapshot(current: still, scheduled: nil, generation: 0))
        (original, gate) = (nil, nil)
    }

    /// The same line seen through a delay of its own: what an output reads whose sound is to be later (positive) or
    /// earlier than the synchronizer says. Lines may follow each other; their delays add up.
    package init(following original: Timebase) {
        clock = original.clock
        cell = original.cell
        self.original = original
        gate = nil
    }

    /// The same line for an output that joins or leaves in mid-film: it runs only where its gate is open.
    package init(gating original: Timebase) {
        clock = original.clock
        cell = original.cell
        self.original = original
        gate = SeqLock(OutputGate())
    }

    /// Opens and closes the gate; the outputs behind it must be told. One thread at a time; nothing on a line that
    /// has no gate.
    package func setGate(_ gate: OutputGate) { self.gate?.store(gate) }

    /// How much later than the line it follows this one lies. Any thread; takes effect with the next reading.
    package var delay: Duration {
        get { .nanoseconds(delayNanoseconds.load(ordering: .relaxed)) }
        set { delayNanoseconds.store(newValue.wholeNanoseconds, ordering: .relaxed) }
    }

    /// The timeline as last published. Lock-free.
    public var snapshot: TimebaseSnapshot {
        var snapshot = original?.snapshot ?? cell.load()
        if let gate { snapshot = snapshot.gated(by: gate.load(), at: clock.now) }
        let delay = delayNanoseconds.load(ordering: .relaxed)
        if delay != 0 {
            snapshot.current.hostAnchor.nanoseconds += delay
            snapshot.scheduled?.hostAnchor.nanoseconds += delay
        }
        return snapshot
    }

    /// A clock beside those of the outputs leads the line (`TimelineSource`): outputs whose sound no bend can reach any more say where
    /// it lies, so that they go first. Lock-free.
    package internal(set) var isLed: Bool {
        get { original?.isLed ?? led.load(ordering: .relaxed) }
        set { led.store(newValue, ordering: .relaxed) }
    }

    /// How much later than the synchronizer's line this one lies. Lock-free.
    public var delayInAll: Duration { .nanoseconds(wholeDelay) }

    /// Nanoseconds by which this line lies later than the synchronizer's.
    private var wholeDelay: Int64 {
        delayNanoseconds.load(ordering: .relaxed) + (original?.wholeDelay ?? 0)
    }

    /// The film moment perceived now.
    public var currentTime: MediaTime { snapshot.mediaTime(at: clock.now) }

    /// The rate in force now.
    public var rate: Double { snapshot.segment(at: clock.now).rate }

    func publish(_ snapshot: TimebaseSnapshot) { cell.store(snapshot) }
}
