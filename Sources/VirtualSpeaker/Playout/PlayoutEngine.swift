internal import AirPlayWire
internal import LocalOutput
internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// "The frame `position` is heard at `instant`", as a sender said it.
struct PlayoutAnchor: Hashable, Sendable {
    var position: RTPTimestamp
    /// On the sender's timeline.
    var instant: PTPInstant
    /// The grandmaster that the timeline is named after; nil with NTP timing.
    var clock: UInt64?
}

/// Keeps the packets of one stream, decodes them shortly before their moment and places them on the virtual device.
///
/// A thread of its own decodes and places; every other method may be called from any thread and returns at once,
/// except `stop`, which the owner must call: the thread keeps this object alive until then. On a clock that is turned by
/// hand there is no thread: its owner takes `takePlaying` and does the rounds.
final class PlayoutEngine: Sendable {
    struct Setup: Sendable {
        var kind: StreamKind
        /// The format that SETUP named; packets of a buffered stream name their own.
        var format: PacketFormat
        /// Bytes of packets held on a buffered stream.
        var capacity: Int
        /// Where the sound goes.
        var output: SpeakerConfiguration.Output
    }

    /// A buffered receiver decodes so far ahead (measured by others on shairport-sync). What is decoded is beyond
    /// the reach of a deferred flush and lost at a pause.
    static let bufferedDecodeAhead: Duration = .milliseconds(850)
    /// A realtime receiver decodes late, so that packets asked for again still count.
    static let realtimeDecodeAhead: Duration = .milliseconds(150)
    /// Sound is handed to the device so long before it is heard: more than a busy computer lets this thread wait.
    /// What must not be heard after all is taken back.
    static let bufferedPlaceAhead: Duration = .milliseconds(300)
    static let realtimePlaceAhead: Duration = .milliseconds(100)
    /// An anchor further away is nonsense or malice; no film lasts as long.
    static let reach: Duration = .seconds(86_400)
    /// The anchor's frame follows what is heard when it lies so far behind. Timestamps tell distances up to half their
    /// circle, 12.4 h at 48 kHz.
    static let anchorReach: Duration = .seconds(3600)
    /// It stays so far behind.
    private static let behind: Int64 = 60
    /// Packets decoded before sound is placed again, so that decoding much at once delays nothing.
    static let packetsPerRound = 8
    /// Without news the thread looks again after this.
    private static let patience: Duration = .milliseconds(50)

    enum Store {
        case buffered(BufferedStore)
        case realtime(RealtimeStore)
    }

    struct State {
        var store: Store
        var anchor: PlayoutAnchor?
        /// The sender's last word on it. `anchor` is the same line, told by a later frame once this one is long past.
        var said: PlayoutAnchor?
        /// What was decoded or placed must go.
        var isCut = false
        var gain: Float = 1
        var lost = 0
    }

    let setup: Setup
    let decodeAhead: Duration
    let placeAhead: Duration
    let clock: any SenderClock
    let record: SpeakerRecord
    let codecs: (any AudioCodecs)?
    let state: Lock<State>
    /// What this computer's time is.
    private let host: any HostClock
    private let unstarted: Lock<Playing?>
    private let news = Signal()
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    let firstSound = Lock<HostInstant?>(nil)
    /// Raised when a buffered stream may bring more.
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
        placeAhead = setup.kind == .buffered ? Self.bufferedPlaceAhead : Self.realtimePlaceAhead
        state = Lock(
            State(store: setup.kind == .buffered ? .buffered(.init()) : .realtime(.init()), gain: gain))
        let origin = host.now
        let rate = setup.format.sampleRate
        let sink: (any PlayoutSink)? =
            switch setup.output {
            case .none: nil
            case .file(let path):
                try WAVFile(path: path, sampleRate: rate) { [record] in record.note(.damaged(reason: $0)) }
            case .card(let device): try CardSink(device: device, sampleRate: rate, origin: origin)
            }
        let device = VirtualDevice(
            sampleRate: rate, origin: origin, oscillator: clock.deviceOscillator, sink: sink, record: record)
        unstarted = Lock(Playing(device: device, decoder: SoundDecoder(codecs: codecs)))
        guard host.runsByItself else { return }
        let worker = try SpeakerError.thread("speaker-play", priority: .elevated) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        news.raise()
        thread.withLock { $0 }?.join()
    }

    /// When the first sound was placed since the last start; nil while there is none.
    var playingSince: HostInstant? { firstSound.withLock { $0 } }

    // MARK: What streams bring

    /// Bytes a buffered stream may still bring; 0 means: wait for `room`.
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
        if late > 0 { record.note(.late(packets: late)) }
        news.raise()
    }

    /// Runs of missing packets of a realtime stream that should be asked for now.
    func missing(at now: HostInstant) -> [(first: UInt16, count: UInt16)] {
        state.withLock { state in
            guard case .realtime(var store) = state.store, store.hasMissing else { return [] }
            let runs = store.requests(at: now)
            state.store = .realtime(store)
            return runs
        }
    }

    // MARK: What the sender asks for

    /// False, and nothing changes, when the anchor is known to lie beyond `reach`. One on a clock that is not known yet is
    /// kept; nothing sounds beyond `reach`.
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
        record.note(
            .anchor(position: anchor.position, instant: anchor.instant, host: instant, clock: anchor.clock))
        news.raise()
        return true
    }

    /// The same line by a frame of the last hour, so that a stream may last for as long as anybody plays whose sender names
    /// one frame and never another. Whole seconds are whole frames: it stays the same line to the nanosecond.
    func followed(_ anchor: PlayoutAnchor, at now: HostInstant) -> PlayoutAnchor {
        guard knows(anchor), let there = clock.hostInstant(of: anchor.instant), now - there > Self.anchorReach,
            isWithinReach(there, from: now)
        else { return anchor }
        let seconds = (now - there).components.seconds - Self.behind
        return PlayoutAnchor(
            position: anchor.position.advanced(byFrames: seconds * Int64(setup.format.sampleRate)),
            instant: anchor.instant.advanced(by: .seconds(seconds)), clock: anchor.clock)
    }

    /// The anchor's timeline is the one that is followed.
    func knows(_ anchor: PlayoutAnchor) -> Bool { !clock.namesClocks || anchor.clock == clock.grandmaster }

    func isWithinReach(_ instant: HostInstant, from now: HostInstant) -> Bool {
        (.zero - Self.reach...Self.reach).contains(instant - now)
    }

    /// Silence at once. What was decoded is gone; what is stored stays.
    func pause() {
        state.withLock { state in
            state.anchor = nil
            state.isCut = true
        }
        firstSound.withLock { $0 = nil }
        record.note(.paused)
        news.raise()
    }

    /// Silence at once, and everything before a number is gone; playing goes on after the next anchor.
    func flushBuffered(until sequence: UInt32) {
        state.withLock { state in
            guard case .buffered(var store) = state.store else { return }
            store.flush(until: sequence)
            state.store = .buffered(store)
            state.anchor = nil
            state.isCut = true
        }
        firstSound.withLock { $0 = nil }
        record.note(.flushed(from: nil, until: sequence))
        room.raise()
        news.raise()
    }

    /// What lies between the numbers is left out when it comes up.
    func flushBuffered(from first: UInt32, until sequence: UInt32) {
        state.withLock { state in
            guard case .buffered(var store) = state.store else { return }
            store.flush(from: first, until: sequence)
            state.store = .buffered(store)
        }
        record.note(.flushed(from: first, until: sequence))
        room.raise()
        news.raise()
    }

    /// Silence at once, and everything before a position is gone. The anchor stays, as in shairport-sync.
    func flushRealtime(until position: RTPTimestamp) {
        let now = host.now
        state.withLock { state in
            guard case .realtime(var store) = state.store else { return }
            store.flush(until: position, at: now)
            state.store = .realtime(store)
            state.isCut = true
        }
        firstSound.withLock { $0 = nil }
        record.note(.flushed(from: nil, until: position.rawValue))
        news.raise()
    }

    func setGain(_ gain: Float) { state.withLock { $0.gain = gain } }

    // MARK: The thread

    /// What the thread plays with: for whoever takes its place on a clock that is turned by hand. Nil the second time.
    func takePlaying() -> Playing? {
        unstarted.withLock { unstarted in
            let playing = unstarted
            unstarted = nil
            return playing
        }
    }

    private func run() {
        guard var playing = takePlaying() else { return }
        while !stopping.load(ordering: .acquiring) {
            let now = host.now
            let next = playing.round(at: now, of: self)
            // There is more to decode already.
            if next <= now { continue }
            news.wait(until: min(next, now.advanced(by: Self.patience)))
            news.clear()
        }
        playing.finish(at: host.now)
        record.finish()
    }
}
