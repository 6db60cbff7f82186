public import MediaCore
internal import Synchronization

/// What happened on the timeline. Plain values, so that real-time threads can note them without allocating.
///
/// Offsets are positive when sound is later than picture.
public enum RenderEvent: Sendable, BitwiseCopyable {
    /// A picture was shown: its film time, the instant it was due, the instant it became visible as far as known.
    case frame(pts: MediaTime, target: HostInstant, presented: HostInstant)
    /// Pictures were left out, because their time had passed (`late`) or before decoding (`skippedDecoding`).
    case framesDropped(count: Int, at: MediaTime, reason: DropReason)
    /// A new line was published.
    case anchor(media: MediaTime, host: HostInstant, rate: Double, generation: UInt64)
    /// The line was bent towards a clock that must be followed: from `host` on film passes at `rate` instead of
    /// `speed`. `late`: how much later that clock's line is.
    case steered(media: MediaTime, host: HostInstant, rate: Double, speed: Double, late: Duration)
    /// A start waits, for this output or, where that is nil, for pictures; told each time another wait is the longest.
    case startWaits(cause: OutputWait.Cause, output: OutputID?)
    /// The machine was suspended for so long; film time stood still.
    case resumed(after: Duration)
    /// Sound accepted by an output: film time reached and how far that is ahead of the playhead.
    case audioAccepted(until: MediaTime, ahead: Duration, output: OutputID)
    /// The first sound of a line as the output placed it: film moment `media` heard at `host`.
    case audioHeard(media: MediaTime, host: HostInstant, output: OutputID)
    /// The same, told to a speaker as a moment of the clock it plays by.
    case speakerAnchored(media: MediaTime, host: HostInstant, clock: PTPInstant, output: OutputID)
    /// Where sound is against the timebase (positive: late) and the correction in force, in parts per million.
    case audioDrift(error: Duration, correctionPPM: Double, output: OutputID)
    /// An output's whole delay as now measured.
    case latency(delay: Duration, output: OutputID)
    /// The output ran dry or its device was reset, for this long.
    case underrun(missing: Duration, output: OutputID)
    /// An output was lost or came back.
    case outputLost(output: OutputID)
    case outputRestored(output: OutputID)
    /// A sound card's device was lost or replaced, and another device plays on in its place, or the own one again.
    case outputMoved(output: OutputID)
    /// In mid-film an output begins to be heard, or falls silent, at this film moment and instant.
    case outputJoined(output: OutputID, media: MediaTime, host: HostInstant)
    case outputLeft(output: OutputID, media: MediaTime, host: HostInstant)
    /// How far a speaker is with the clock it plays by.
    case clock(state: SpeakerClockState, output: OutputID)

    public enum DropReason: UInt8, Sendable, BitwiseCopyable { case late, skippedDecoding }
}

/// How far a speaker is with the clock that its sound is placed on.
public enum SpeakerClockState: UInt8, Sendable, BitwiseCopyable, CaseIterable {
    /// Nothing was heard from it, and it has not had the time that a silent one needs.
    case cold
    /// It measures the clock, not for long enough yet.
    case probing
    /// It can place sound.
    case ready
    /// It did measure the clock and has stopped.
    case stalled
    /// Times come in its name that do not fit the clock that it was played by. They are left out.
    case doubted
}

/// Names an output inside events: an index into the player's outputs, 0 for the first.
public struct OutputID: Hashable, Sendable, BitwiseCopyable {
    public var index: Int
    public init(_ index: Int) { self.index = index }
}

/// A bounded queue of events from any threads to one recorder. Noting an event is lock-free and never allocates;
/// when the recorder falls behind, events are counted as lost instead of waited for.
///
/// The bounded queue with a sequence number per cell is Dmitry Vyukov's.
///
/// `@unchecked Sendable`: a cell is written by the thread that claimed its ticket and read after the release of its
/// sequence number.
public final class EventLog: @unchecked Sendable {
    /// An event and when it was noted.
    public struct Entry: Sendable, BitwiseCopyable {
        public var at: HostInstant
        public var event: RenderEvent
    }

    private let capacity: Int
    private let cells: UnsafeMutablePointer<Entry?>
    private let sequences: UnsafeMutablePointer<Atomic<Int>>
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)
    private let clock: any HostClock
    /// Raised when an event arrived and a recorder asked to be woken.
    public let arrival = Signal()

    public init(clock: any HostClock, minimumCapacity: Int = 4096) {
        var size = 2
        while size < minimumCapacity { size *= 2 }
        capacity = size
        self.clock = clock
        cells = .allocate(capacity: size)
        cells.initialize(repeating: nil, count: size)
        sequences = .allocate(capacity: size)
        for index in 0..<size { (sequences + index).initialize(to: Atomic(index)) }
    }

    deinit {
        cells.deallocate()
        sequences.deinitialize(count: capacity)
        sequences.deallocate()
    }

    /// Events that found the queue full.
    public var lostCount: Int { lost.load(ordering: .relaxed) }

    /// Notes an event. Any thread; lock-free.
    public func note(_ event: RenderEvent) { note(event, at: clock.now) }

    /// Notes an event that happened at a given moment. Any thread; lock-free.
    public func note(_ event: RenderEvent, at instant: HostInstant) {
        var ticket = tail.load(ordering: .relaxed)
        while true {
            let index = ticket & (capacity - 1)
            let difference = sequences[index].load(ordering: .acquiring) - ticket
            if difference == 0 {
                let (claimed, original) = tail.weakCompareExchange(
                    expected: ticket, desired: ticket + 1, ordering: .relaxed)
                if claimed {
                    cells[index] = Entry(at: instant, event: event)
                    sequences[index].store(ticket + 1, ordering: .releasing)
                    return
                }
                ticket = original
            } else if difference < 0 {
                lost.add(1, ordering: .relaxed)
                return
            } else {
                ticket = tail.load(ordering: .relaxed)
            }
        }
    }

    /// Takes the oldest event, or nil when there is none. One thread at a time.
    public func take() -> Entry? {
        let ticket = head.load(ordering: .relaxed)
        let index = ticket & (capacity - 1)
        guard sequences[index].load(ordering: .acquiring) == ticket + 1 else { return nil }
        let entry = cells[index]
        sequences[index].store(ticket + capacity, ordering: .releasing)
        head.store(ticket + 1, ordering: .relaxed)
        return entry
    }
}
