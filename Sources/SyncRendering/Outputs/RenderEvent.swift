public import MediaCore
internal import Synchronization

/// An event of the timeline. Trivial values, so that real-time threads can log them without an allocation.
///
/// Offsets are positive when audio is later than video.
public enum RenderEvent: Sendable, BitwiseCopyable {
    /// A video frame was shown: its media time, its target instant, and the instant at which it became visible as far
    /// as known.
    case frame(pts: MediaTime, target: HostInstant, presented: HostInstant)
    /// Video frames were dropped because their time had passed (`late`), or before decoding (`skippedDecoding`).
    case framesDropped(count: Int, at: MediaTime, reason: DropReason)
    /// A timeline was published.
    case anchor(media: MediaTime, host: HostInstant, rate: Double, generation: UInt64)
    /// The timeline was steered towards an external clock: from `host` on it advances at `rate` instead of `speed`.
    /// `late`: the lag of that clock's timeline.
    case steered(media: MediaTime, host: HostInstant, rate: Double, speed: Double, late: Duration)
    /// A start waits for this output, or for video if nil; logged whenever another wait becomes the longest.
    case startWaits(cause: OutputWait.Cause, output: OutputID?)
    /// The machine was suspended for this duration, during which media time was stopped.
    case resumed(after: Duration)
    /// An output accepted audio up to a media time, which is this far ahead of the playhead.
    case audioAccepted(until: MediaTime, ahead: Duration, output: OutputID)
    /// The first audio of a timeline as placed by the output: media time `media` is audible at `host`.
    case audioHeard(media: MediaTime, host: HostInstant, output: OutputID)
    /// Same, as sent to a speaker in the time of the speaker's clock.
    case speakerAnchored(media: MediaTime, host: HostInstant, clock: PTPInstant, output: OutputID)
    /// The offset of audio from the timebase (positive: late) and the current correction, in parts per million.
    case audioDrift(error: Duration, correctionPPM: Double, output: OutputID)
    /// The measured total delay of an output.
    case latency(delay: Duration, output: OutputID)
    /// The output underran or its device was reset, for this duration.
    case underrun(missing: Duration, output: OutputID)
    /// An output was lost.
    case outputLost(output: OutputID)
    /// A lost output was restored.
    case outputRestored(output: OutputID)
    /// A sound card's device was lost or replaced, and another device, or the own one again, has taken over.
    case outputMoved(output: OutputID)
    /// During playback an output became audible at this media time and instant.
    case outputJoined(output: OutputID, media: MediaTime, host: HostInstant)
    /// During playback an output became silent at this media time and instant.
    case outputLeft(output: OutputID, media: MediaTime, host: HostInstant)
    /// The state of a speaker's clock changed.
    case clock(state: SpeakerClockState, output: OutputID)

    /// Why a video frame was dropped.
    public enum DropReason: UInt8, Sendable, BitwiseCopyable { case late, skippedDecoding }
}

/// The state of the clock by which a speaker places audio.
public enum SpeakerClockState: UInt8, Sendable, BitwiseCopyable, CaseIterable {
    /// No message was received yet, and the wait for a speaker that never sends any is not over.
    case cold
    /// The speaker measures the clock, but not for long enough.
    case probing
    /// The speaker can place audio.
    case ready
    /// The speaker has stopped measuring the clock.
    case stalled
    /// Times received in the speaker's name contradict its clock and are ignored.
    case doubted

    /// The name in metrics.
    public var name: String {
        switch self {
        case .cold: "cold"
        case .probing: "probing"
        case .ready: "ready"
        case .stalled: "stalled"
        case .doubted: "doubted"
        }
    }
}

/// The ID of an output in events: an index into the player's outputs, starting at 0.
public struct OutputID: Hashable, Sendable, BitwiseCopyable {
    /// The index.
    public var index: Int
    /// Creates an ID from an index.
    public init(_ index: Int) { self.index = index }
}

/// A bounded queue of events from any number of threads to one recorder. Logging is lock-free and never allocates; when
/// the queue is full, events are counted as lost.
///
/// The bounded queue with a sequence number per cell is Dmitry Vyukov's.
///
/// `@unchecked Sendable`: a cell is written by the thread that claimed its ticket, and read after the release store of
/// its sequence number.
public final class EventLog: @unchecked Sendable {
    /// An event and when it was logged.
    public struct Entry: Sendable, BitwiseCopyable {
        /// When the event was logged or occurred.
        public var at: HostInstant
        /// The event.
        public var event: RenderEvent
    }

    private let capacity: Int
    private let cells: UnsafeMutablePointer<Entry?>
    private let sequences: UnsafeMutablePointer<Atomic<Int>>
    /// The next ticket to read. Stored by the recorder's thread.
    private let head = Atomic<Int>(0)
    /// The next ticket to write. Claimed by any thread.
    private let tail = Atomic<Int>(0)
    /// Events lost to a full queue. Incremented by any thread.
    private let lost = Atomic<Int>(0)
    private let clock: any HostClock
    /// Raised when an event arrives and a recorder has requested it.
    public let arrival = Signal()

    /// Creates a log; its capacity is rounded up to a power of 2.
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

    /// The number of events lost because the queue was full. Any thread.
    package var lostCount: Int { lost.load(ordering: .relaxed) }

    /// Logs an event with the current time. Any thread; lock-free.
    public func append(_ event: RenderEvent) { append(event, at: clock.now) }

    /// Logs an event with the instant at which it occurred. Any thread; lock-free.
    public func append(_ event: RenderEvent, at instant: HostInstant) {
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

    /// Removes and returns the oldest event; nil if there is none. One thread at a time.
    package func removeFirst() -> Entry? {
        let ticket = head.load(ordering: .relaxed)
        let index = ticket & (capacity - 1)
        guard sequences[index].load(ordering: .acquiring) == ticket + 1 else { return nil }
        let entry = cells[index]
        sequences[index].store(ticket + capacity, ordering: .releasing)
        head.store(ticket + 1, ordering: .relaxed)
        return entry
    }
}
