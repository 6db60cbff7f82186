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
/// except `stop`, which the owner must call: the thread keeps this object alive until then.
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
    /// Packets decoded before sound is placed again, so that decoding much at once delays nothing.
    private static let packetsPerRound = 8
    /// Without news the thread looks again after this.
    private static let patience: Duration = .milliseconds(50)

    private enum Store {
        case buffered(BufferedStore)
        case realtime(RealtimeStore)
    }

    private struct State {
        var store: Store
        var anchor: PlayoutAnchor?
        /// What was decoded or placed must go.
        var isCut = false
        var gain: Float = 1
        var lost = 0
    }

    let setup: Setup
    private let decodeAhead: Duration
    private let placeAhead: Duration
    private let clock: any SenderClock
    private let record: SpeakerRecord
    private let codecs: (any AudioCodecs)?
    private let state: Lock<State>
    private let news = Signal()
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let firstSound = Lock<HostInstant?>(nil)
    /// Raised when a buffered stream may bring more.
    let room: PollableSignal

    init(
        setup: Setup, clock: any SenderClock, gain: Float, codecs: (any AudioCodecs)?, record: SpeakerRecord
    ) throws(SpeakerError) {
        self.setup = setup
        self.clock = clock
        self.codecs = codecs
        self.record = record
        room = PollableSignal()
        decodeAhead = setup.kind == .buffered ? Self.bufferedDecodeAhead : Self.realtimeDecodeAhead
        placeAhead = setup.kind == .buffered ? Self.bufferedPlaceAhead : Self.realtimePlaceAhead
        state = Lock(
            State(store: setup.kind == .buffered ? .buffered(.init()) : .realtime(.init()), gain: gain))
        let origin = HostInstant.now
        let rate = setup.format.sampleRate
        let sink: (any SoundSink)? =
            switch setup.output {
            case .none: nil
            case .file(let path): try WAVFile(path: path, sampleRate: rate)
            case .card(let device): try CardSink(device: device, sampleRate: rate, origin: origin)
            }
        let device = VirtualDevice(
            sampleRate: rate, origin: origin, oscillator: clock.deviceOscillator, sink: sink, record: record)
        let worker = WorkerThread.start(name: "speaker-play", priority: .elevated) { [self] in run(device) }
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
        let now = HostInstant.now
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

    func setAnchor(_ anchor: PlayoutAnchor) {
        let changed = state.withLock { state in
            let changed = state.anchor != anchor
            state.anchor = anchor
            return changed
        }
        guard changed else { return }
        record.note(
            .anchor(
                position: anchor.position, instant: anchor.instant, host: clock.hostInstant(of: anchor.instant),
                clock: anchor.clock))
        news.raise()
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
        let now = HostInstant.now
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

    private struct Round {
        var packets: [StoredPacket] = []
        var anchor: PlayoutAnchor?
        var isCut = false
        var gain: Float = 1
        var lost = 0
        /// Packets whose time had passed long before they came up.
        var late = 0
        /// When the next stored packet should be decoded.
        var nextDecode: HostInstant?
    }

    /// When a position is heard here; nil while that is not known.
    private func moment(of position: RTPTimestamp, _ anchor: PlayoutAnchor) -> HostInstant? {
        if clock.namesClocks, anchor.clock != clock.grandmaster { return nil }
        let frames = Int64(anchor.position.distance(to: position))
        // 31 bits of frames times 10⁹ fit 63 bits.
        let elapsed = frames * 1_000_000_000 / Int64(setup.format.sampleRate)
        return clock.hostInstant(of: anchor.instant.advanced(by: .nanoseconds(elapsed)))
    }

    private func takeRound(at now: HostInstant) -> Round {
        let horizon = now.advanced(by: decodeAhead)
        // Decoding what nobody will hear takes time from what is due; the unit just before may be needed to decode
        // the one that is (AAC overlaps by one).
        let past = now.advanced(by: .zero - HeardSpan.length(of: 2 * 1024, setup.format.sampleRate))
        return state.withLock { state in
            var round = Round(anchor: state.anchor, isCut: state.isCut, gain: state.gain)
            state.isCut = false
            guard let anchor = state.anchor else { return round }
            switch state.store {
            case .buffered(var store):
                // Emptied meanwhile, so that the queue is not copied when it changes.
                state.store = .buffered(.init())
                while round.packets.count < Self.packetsPerRound, let next = store.first {
                    guard let due = moment(of: next.timestamp, anchor) else { break }
                    guard due < horizon else {
                        round.nextDecode = due
                        break
                    }
                    guard let packet = store.popFirst() else { break }
                    if due < past { round.late += 1 } else { round.packets.append(packet) }
                }
                state.store = .buffered(store)
            case .realtime(var store):
                state.store = .realtime(.init())
                while round.packets.count < Self.packetsPerRound, let next = store.first {
                    guard let due = moment(of: next.packet.timestamp, anchor) else { break }
                    guard due < horizon else {
                        round.nextDecode = due
                        break
                    }
                    guard let taken = store.popFirst() else { break }
                    round.lost += taken.gap
                    if due < past { round.late += 1 } else { round.packets.append(taken.packet) }
                }
                state.store = .realtime(store)
            }
            return round
        }
    }

    private func run(_ device: VirtualDevice) {
        var device = device
        var decoded = Queue<DecodedSound>()
        let decoder = SoundDecoder(codecs: codecs)
        var isDry = true
        while !stopping.load(ordering: .acquiring) {
            let now = HostInstant.now
            let round = takeRound(at: now)
            if round.isCut {
                device.cut(at: now)
                decoded.removeAll()
                decoder.reset()
                isDry = true
            }
            if !round.packets.isEmpty || round.late > 0 { room.raise() }
            if round.lost > 0 { record.note(.lost(packets: round.lost)) }
            for packet in round.packets {
                for sound in decode(packet, decoder) { decoded.append(sound) }
            }
            var late = round.late
            var next: HostInstant?
            if let anchor = round.anchor {
                while let sound = decoded.first {
                    guard let due = moment(of: sound.position, anchor) else { break }
                    guard due < now.advanced(by: placeAhead) else {
                        next = due.advanced(by: .zero - placeAhead)
                        break
                    }
                    decoded.popFirst()
                    if place(sound, due: due, now: now, gain: round.gain, &device) { isDry = false } else { late += 1 }
                }
            }
            if late > 0 { record.note(.late(packets: late)) }
            if !isDry, decoded.isEmpty, let end = device.endInstant, end < now {
                isDry = true
                record.note(.underrun)
            }
            if let decode = round.nextDecode?.advanced(by: .zero - decodeAhead) { next = min(next ?? decode, decode) }
            // There is more to decode already.
            if round.packets.count == Self.packetsPerRound { continue }
            let patience = now.advanced(by: Self.patience)
            news.wait(until: min(next ?? patience, patience))
            news.clear()
        }
        let now = HostInstant.now
        device.cut(at: now)
        device.finish(at: now)
        record.finish()
    }

    private func decode(_ packet: StoredPacket, _ decoder: SoundDecoder) -> [DecodedSound] {
        var format = setup.format
        if setup.kind == .buffered {
            guard let named = StreamFormat.all.first(where: { $0.synchronizationSource == packet.source })
            else {
                record.note(.damaged(reason: "unknown format \(String(packet.source, radix: 16))"))
                return []
            }
            format = .wire(named)
        }
        do {
            return try decoder.decode(packet, format: format)
        } catch {
            record.note(.damaged(reason: error.message))
            return []
        }
    }

    /// False when the whole of it came after its moment.
    private func place(
        _ sound: DecodedSound, due: HostInstant, now: HostInstant, gain: Float, _ device: inout VirtualDevice
    ) -> Bool {
        var skipped = 0
        if due < now {
            skipped = Int(((now - due).inSeconds * Double(setup.format.sampleRate)).rounded(.up))
            // What has passed is not sounded; the rest is.
            guard skipped < sound.frames else { return false }
        }
        var samples = sound.samples[(skipped * 2)...]
        if gain != 1 { samples = ArraySlice(samples.map { $0 * gain }) }
        let start = due.advanced(by: HeardSpan.length(of: skipped, setup.format.sampleRate))
        device.place(samples, position: sound.position.advanced(byFrames: Int64(skipped)), at: start)
        firstSound.withLock { if $0 == nil { $0 = start } }
        return true
    }
}
