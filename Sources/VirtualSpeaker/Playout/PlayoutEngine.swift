internal import AirPlayWire
internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// A sender's anchor: the frame `position` is audible at `instant`.
struct PlayoutAnchor: Hashable, Sendable {
    var position: RTPTimestamp
    /// On the sender's timeline.
    var instant: PTPInstant
    /// The grandmaster of the timeline; nil with NTP timing.
    var clock: UInt64?
}

/// Stores the packets of one stream, decodes them shortly before they are due and places them on the virtual device.
///
/// The thread `speaker-play` decodes and places; it keeps this object alive until the owner calls `stop`.
/// Callable from any thread; only `stop` blocks. With a manual clock there is no thread: the test runs the
/// iterations with `beginPlaying`.
final class PlayoutEngine: Sendable {
    struct Setup: Sendable {
        var kind: StreamKind
        /// The format of SETUP; packets of a buffered stream name their own.
        var format: PacketFormat
        /// Maximum size of the stored packets of a buffered stream, in bytes.
        var capacity: Int
        /// The destination of the audio.
        var output: SpeakerConfiguration.Output
        /// How much later than the anchor says samples are audible.
        var outputLatency: Duration = .zero
    }

    /// How long before it is due a buffered stream is decoded (measured by others on shairport-sync).
    ///
    /// Decoded audio is not affected by a deferred flush and is lost at a pause.
    static let bufferedDecodeAhead: Duration = .milliseconds(850)
    /// Realtime streams are decoded late, so that resent packets arrive in time.
    static let realtimeDecodeAhead: Duration = .milliseconds(150)
    /// How long before it is audible audio is placed on the device.
    ///
    /// Covers scheduling delays of a busy computer. Audio that must not play is removed again.
    static let bufferedScheduleAhead: Duration = .milliseconds(300)
    static let realtimeScheduleAhead: Duration = .milliseconds(100)
    /// Maximum distance of an anchor from now; larger values are invalid or malicious.
    static let reach: Duration = .seconds(86_400)
    /// Age at which the anchor is replaced by a later frame. Timestamps express distances up to 12.4 h at 48 kHz.
    static let anchorReach: Duration = .seconds(3600)
    /// Age of the replacement in seconds.
    private static let behind: Int64 = 60
    /// Maximum number of packets decoded per iteration, so that a burst does not delay placement.
    static let packetsPerRound = 8
    /// Maximum wait of the thread without a signal.
    private static let timeout: Duration = .milliseconds(50)

    enum Store {
        case buffered(BufferedStore)
        case realtime(RealtimeStore)
    }

    struct State {
        var store: Store
        var anchor: PlayoutAnchor?
        /// The sender's last anchor. `anchor` is on the same line, replaced by a later frame once this one is old.
        var said: PlayoutAnchor?
        /// Whether decoded and placed audio must be discarded.
        var isCut = false
        var gain: Float = 1
    }

    let setup: Setup
    let decodeAhead: Duration
    let scheduleAhead: Duration
    let clock: any SenderClock
    let record: SpeakerRecord
    let codecs: (any AudioCodecs)?
    /// Used by the control, stream and playout threads.
    let state: Lock<State>
    /// The clock of this computer.
    private let host: any HostClock
    /// The playback state until the thread or a test takes it.
    private let unstarted: Lock<Playing?>
    private let wakeSignal = Signal()
    /// Set by `stop`, read by the thread.
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    /// When the first audio since the last start is audible; set by the playout thread.
    let firstAudio = Lock<HostInstant?>(nil)
    /// Raised when a buffered stream has writable space again.
    let room: PollableSignal

    init(
        setup: Setup, clock: any SenderClock, gain: Float, codecs: (any AudioCodecs)?, record: SpeakerRecord,
        host: any HostClock = MonotonicClock()
    ) throws(SpeakerError) {
        self.setup = setup
        self.host = host
        self.clock = clock
        self.codecs = codecs
        self.record = record
        room = try SpeakerError.signal()
        decodeAhead = setup.kind == .buffered ? Self.bufferedDecodeAhead : Self.realtimeDecodeAhead
        scheduleAhead = setup.kind == .buffered ? Self.bufferedScheduleAhead : Self.realtimeScheduleAhead
        state = Lock(
            State(store: setup.kind == .buffered ? .buffered(.init()) : .realtime(.init()), gain: gain))
        let origin = host.now
        let rate = setup.format.sampleRate
        let sink: (any PlayoutSink)? =
            switch setup.output {
            case .none: nil
            case .file(let path):
                try WAVFile(path: path, sampleRate: rate) { [record] in record.record(.damaged(reason: $0)) }
            case .card(let device): try CardSink(device: device, sampleRate: rate, origin: origin)
            }
        let device = VirtualDevice(
            sampleRate: rate, origin: origin, oscillator: clock.deviceOscillator, sink: sink, record: record)
        unstarted = Lock(Playing(device: device, decoder: StreamAudioDecoder(codecs: codecs)))
        guard host.isRealTime else { return }
        let worker = try SpeakerError.thread("speaker-play", priority: .elevated) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wakeSignal.raise()
        thread.withLock { $0 }?.join()
    }

    /// When the first audio since the last start is audible; nil if there is none.
    var playingSince: HostInstant? { firstAudio.withLock { $0 } }

    // MARK: Input from streams

    /// Writable space of a buffered stream in bytes; 0: wait for `room`.
    var freeBytes: Int {
        state.withLock { state in
            guard case .buffered(let store) = state.store else { return Int.max }
            return max(0, setup.capacity - store.bytes)
        }
    }

    func insert(_ packets: [StoredPacket]) {
        let now = host.now
        let late = state.withLock { state in
            var late = 0
            switch state.store {
            case .buffered(var store):
                state.store = .buffered(.init())
                for packet in packets { store.append(packet) }
                state.store = .buffered(store)
            case .realtime(var store):
                state.store = .realtime(.init())
                for packet in packets where store.insert(packet, at: now) == .late { late += 1 }
                state.store = .realtime(store)
            }
            return late
        }
        if late > 0 { record.record(.late(packets: late)) }
        wakeSignal.raise()
    }

    /// Returns the runs of missing realtime packets to request now.
    func missing(at now: HostInstant) -> [(first: UInt16, count: UInt16)] {
        state.withLock { state in
            guard case .realtime(var store) = state.store, store.hasMissing else { return [] }
            let runs = store.requests(at: now)
            state.store = .realtime(store)
            return runs
        }
    }

    // MARK: Requests of the sender

    /// Sets the anchor. Returns false and changes nothing if the anchor is known to be beyond `reach`.
    ///
    /// An anchor on a clock that is still unknown is stored; nothing plays beyond `reach`.
    @discardableResult
    func setAnchor(_ anchor: PlayoutAnchor) -> Bool {
        let instant = clock.hostInstant(of: anchor.instant)
        if let instant, knows(anchor), !isWithinReach(instant, from: host.now) { return false }
        let changed = state.withLock { state in
            let changed = state.anchor == nil || state.said != anchor
            if changed { (state.anchor, state.said) = (anchor, anchor) }
            return changed
        }
        guard changed else { return true }
        record.record(
            .anchor(position: anchor.position, instant: anchor.instant, host: instant, clock: anchor.clock))
        wakeSignal.raise()
        return true
    }

    /// Returns the same line expressed by a frame of the last hour.
    ///
    /// Otherwise a stream with a single anchor would exceed the range of its timestamps. Whole seconds are whole
    /// frames, so the line is unchanged to the nanosecond.
    func followed(_ anchor: PlayoutAnchor, at now: HostInstant) -> PlayoutAnchor {
        guard knows(anchor), let there = clock.hostInstant(of: anchor.instant), now - there > Self.anchorReach,
            isWithinReach(there, from: now)
        else { return anchor }
        let seconds = (now - there).components.seconds - Self.behind
        return PlayoutAnchor(
            position: anchor.position.advanced(byFrames: seconds * Int64(setup.format.sampleRate)),
            instant: anchor.instant.advanced(by: .seconds(seconds)), clock: anchor.clock)
    }

    /// Whether the anchor is on the timeline that the clock follows.
    func knows(_ anchor: PlayoutAnchor) -> Bool { !clock.namesClocks || anchor.clock == clock.grandmaster }

    func isWithinReach(_ instant: HostInstant, from now: HostInstant) -> Bool {
        (.zero - Self.reach...Self.reach).contains(instant - now)
    }

    /// Stops playback at once. Decoded audio is discarded; stored packets remain.
    func pause() {
        state.withLock { state in
            state.anchor = nil
            state.isCut = true
        }
        firstAudio.withLock { $0 = nil }
        record.record(.paused)
        wakeSignal.raise()
    }

    /// Stops playback at once and discards all packets before a sequence number; the next anchor resumes playback.
    func flushBuffered(until sequence: UInt32) {
        state.withLock { state in
            guard case .buffered(var store) = state.store else { return }
            store.flush(until: sequence)
            state.store = .buffered(store)
            state.anchor = nil
            state.isCut = true
        }
        firstAudio.withLock { $0 = nil }
        record.record(.flushed(from: nil, until: sequence))
        room.raise()
        wakeSignal.raise()
    }

    /// Schedules a deferred flush: the packets in the range are skipped when the first one is due.
    func flushBuffered(from first: UInt32, until sequence: UInt32) {
        state.withLock { state in
            guard case .buffered(var store) = state.store else { return }
            store.flush(from: first, until: sequence)
            state.store = .buffered(store)
        }
        record.record(.flushed(from: first, until: sequence))
        room.raise()
        wakeSignal.raise()
    }

    /// Silences output at once and discards all packets before a position. The anchor remains, as in shairport-sync.
    func flushRealtime(until position: RTPTimestamp) {
        let now = host.now
        state.withLock { state in
            guard case .realtime(var store) = state.store else { return }
            store.flush(until: position, at: now)
            state.store = .realtime(store)
            state.isCut = true
        }
        firstAudio.withLock { $0 = nil }
        record.record(.flushed(from: nil, until: position.rawValue))
        wakeSignal.raise()
    }

    func setGain(_ gain: Float) { state.withLock { $0.gain = gain } }

    // MARK: The thread

    /// Returns the playback state for the thread, or for a test with a manual clock. Nil on the second call.
    func beginPlaying() -> Playing? {
        unstarted.withLock { unstarted in
            let playing = unstarted
            unstarted = nil
            return playing
        }
    }

    private func run() {
        guard var playing = beginPlaying() else { return }
        while !stopping.load(ordering: .acquiring) {
            let now = host.now
            let next = playing.round(at: now, of: self)
            // More packets are ready to decode.
            if next <= now { continue }
            wakeSignal.wait(until: min(next, now.advanced(by: Self.timeout)))
            wakeSignal.clear()
        }
        playing.finish(at: host.now)
        record.finish()
    }
}
