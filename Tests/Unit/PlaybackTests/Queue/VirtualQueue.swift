import CardPlayout
import MediaCodecs
import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Items whose samples encode item and frame number: the address is "sound/frames", or "sound+sound/frames" with tracks
/// in German and Russian, of different lengths with "/frames+frames"; after "pipe:" of an input that cannot be opened
/// twice.
final class NumberedSound: MediaSource, SampleSource, @unchecked Sendable {
    // `@unchecked Sendable`: one thread of a test uses it.
    let summary: MediaSummary
    let track: Track
    private let address: String
    private let rate: Int
    private let sound: Int
    private let total: Int64
    private let isAbsent: @Sendable () -> Bool
    private var next: Int64 = 0

    /// - Parameter isAbsent: while true nothing can be read.
    init(
        _ address: String, rate: Int, track index: Int = 0, isAbsent: @escaping @Sendable () -> Bool = { false }
    ) throws(MediaError) {
        self.isAbsent = isAbsent
        let isPipe = address.hasPrefix("pipe:")
        let words = address.dropFirst(isPipe ? 5 : 0).split(separator: "/")
        let sounds = words.first?.split(separator: "+").compactMap { Int($0) } ?? []
        guard words.count == 2, sounds.indices.contains(index),
            let total = words[1].split(separator: "+").prefix(index + 1).last.flatMap({ Int64($0) })
        else {
            throw MediaError(.cannotOpen, "there is no '\(address)'")
        }
        (self.address, self.rate, sound, self.total) = (address, rate, sounds[index], total)
        let tracks = sounds.indices.map { index in
            Track(
                id: index, number: index + 1, format: .audio(FloatCodecs.format(sampleRate: rate)),
                language: sounds.count > 1 ? ["deu", "rus"][index] : nil)
        }
        track = tracks[index]
        summary = MediaSummary(
            container: "numbers", tracks: tracks, duration: MediaTime(value: total, timescale: Int32(rate)),
            sharesReader: isPipe)
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        try requirePresence()
        return try NumberedSound(address, rate: rate, track: track.id, isAbsent: isAbsent)
    }

    private func requirePresence() throws(MediaError) {
        if isAbsent() { throw MediaError(.readFailed, "'\(address)' is gone") }
    }

    func read() throws(MediaError) -> SampleBuffer? {
        try requirePresence()
        guard next < total, let format = track.audioFormat else { return nil }
        let end = min(next + 3000, total)
        defer { next = end }
        return FloatCodecs.buffer(sound, frames: next..<end, format: format)
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        try requirePresence()
        next = time.rescaled(to: Int32(track.audioFormat?.sampleRate ?? 1)) / 1000 * 1000
        return nil
    }

    func cancel() {}
}

/// A player with a playlist in virtual time and a sound card: real engine, pipelines, feeder, pump and presenter, no
/// thread, no device.
final class VirtualQueue: VirtualPlayer {
    static let rate = 8000
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let card: VirtualSoundCard
    let core: PlaybackEngine
    var engine = SteppedEngine()
    let opened = Lock<[String]>([])
    /// Items that have disappeared.
    let absent = Lock<Set<String>>([])
    /// The created video decoders, by item number.
    let decoders = Lock<[Int]>([])
    let playerEvents = Lock<[PlayerEvent]>([])
    let mailbox = PlayerMailbox()
    let board: PlayerStatePublisher
    var feeder: AudioFeeder?
    let pipelines = Lock<[TrackPipeline]>([])
    private(set) var runners: PipelineRunners?
    /// The arrival rate of items marked as slow.
    let network: SlowNetwork
    private let videoPipelines = Lock<[ObjectIdentifier]>([])
    private(set) var heard: [Heard] = []
    /// The output of an added sound, and its audible samples.
    let kitchen: VirtualSoundCard
    private(set) var heardInKitchen: [Heard] = []
    private var addedFeeders: [AudioFeeder] = []
    typealias Heard = (sound: Int, frame: Int64, at: HostInstant)
    /// The presented frames with their instants; the item is nil for black.
    private(set) var shown: [Shown] = []
    private(set) var dropped = 0
    private(set) var underruns = 0
    let layer = DisplayLayer(depth: 8)
    let screen: VirtualScreen
    private let presenter: FramePresenter
    /// False blocks the video thread, as by a slow disk.
    var picturesMove = true
    /// A pipeline whose thread is blocked.
    var blocked: TrackPipeline?
    /// The name of preparations that do not run; nil if there is none.
    let heldTask = Lock<String?>(nil)
    private let heldWork = Lock<[@Sendable () -> Void]>([])
    let events: EventLog

    /// - Parameters:
    ///   - rate: arrival rate of items whose addresses end with "slow"; nil if there are none.
    ///   - timelineClock: returns the clock of the timeline, which shows the time of the given one.
    init(
        _ options: PlayerOptions = PlayerOptions(), arrivingAt rate: Double? = nil,
        timelineClock: (ManualClock) -> any HostClock = { $0 }
    ) {
        var options = options
        network = SlowNetwork(clock, rate: rate ?? 1)
        runners = rate == nil ? nil : PipelineRunners()
        options.readAhead = .seconds(4)
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: timelineClock(clock), events: events)
        let device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo))
        card = VirtualSoundCard(clock: clock, device: device)
        kitchen = VirtualSoundCard(
            clock: clock,
            device: VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo)),
            name: "kitchen")
        for card in [card, kitchen] { (card.edges.fadeIn, card.edges.fadeOut) = (.zero, .zero) }
        board = PlayerStatePublisher(timebase: synchronizer.timebase)
        let (opened, decoders, playerEvents, pipelines) = (opened, decoders, playerEvents, pipelines)
        let (videoPipelines, absent, network) = (videoPipelines, absent, network)
        let (heldTask, heldWork) = (heldTask, heldWork)
        let parts = Player.Components(
            open: { (address, _) throws(MediaError) in
                opened.withLock { $0.append(address) }
                if absent.withLock({ $0.contains(address) }) { throw MediaError(.cannotOpen, "no '\(address)' now") }
                if address.hasSuffix("/slow") { return SlowFilm(try NumberedFilm(address, rate: Self.rate), network) }
                if address.split(separator: "/").count > 2 { return try NumberedFilm(address, rate: Self.rate) }
                return try NumberedSound(address, rate: Self.rate) { absent.withLock { $0.contains(address) } }
            }, codecs: FilmAudioCodecs(),
            makeDecoder: { (format) throws(MediaError) in
                let decoder = try NumberedPictureDecoder(format)
                decoders.withLock { $0.append(decoder.item) }
                return decoder
            }, audioOutput: card, clock: clock)
        screen = VirtualScreen(clock: clock)
        presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        core = PlaybackEngine(
            components: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
            mailbox: mailbox, publisher: board,
            startPipeline: { pipeline, name in
                pipelines.withLock { $0.append(pipeline) }
                if name == "video" { videoPipelines.withLock { $0.append(ObjectIdentifier(pipeline)) } }
            },
            runBackgroundWork: { name, body in
                if heldTask.withLock({ $0 }) == name { heldWork.withLock { $0.append(body) } } else { body() }
                return nil
            },
            onEvent: { item in playerEvents.withLock { $0.append(item) } })
        feeder = core.renderer.map { AudioFeeder(renderer: $0) }
        device.listener = { [unowned self] samples, at in
            guard let value = samples.first, let meaning = FloatCodecs.meaning(of: value) else { return }
            heard.append((meaning.sound, meaning.frame, at))
        }
        kitchen.device.listener = { [unowned self] samples, at in
            guard let value = samples.first, let meaning = FloatCodecs.meaning(of: value) else { return }
            heardInKitchen.append((meaning.sound, meaning.frame, at))
        }
        card.feeder = { [unowned self] _ in feeder?.performDueWork() }
        kitchen.feeder = { [unowned self] _ in runAddedUntilIdle() }
    }

    /// Plays an additional sound in the kitchen.
    func addSound(_ choice: AudioTrackChoice) {
        core.addAudio(choice, to: kitchen, number: 1)
        for sound in core.tracks.added.all { addedFeeders.append(AudioFeeder(renderer: sound.renderer)) }
    }

    /// Runs the preparations that were held back, and those that follow.
    func releaseTasks() {
        heldTask.withLock { $0 = nil }
        let held = heldWork.withLock { held in
            defer { held = [] }
            return held
        }
        for work in held { work() }
    }

    @discardableResult
    func runAddedUntilIdle() -> Bool {
        var hasMoved = false
        for index in addedFeeders.indices {
            let before = addedFeeders[index].renderer.progress.acceptedUntil
            addedFeeders[index].performDueWork()
            if addedFeeders[index].renderer.progress.acceptedUntil != before { hasMoved = true }
        }
        return hasMoved
    }

    func mayRun(_ pipeline: TrackPipeline) -> Bool {
        pipeline !== blocked
            && (picturesMove || !videoPipelines.withLock { $0.contains(ObjectIdentifier(pipeline)) })
    }

    var state: PlayerState { board.state }

    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        engine.wake()
        while clock.now < end {
            runWhatIsDue()
            var next = min(end, clock.now.advanced(by: .milliseconds(5)))
            while let due = present() {
                if due > clock.now {
                    next = min(next, due)
                    break
                }
            }
            next = max(next, clock.now.advanced(by: .nanoseconds(1)))
            card.run(until: next)
            // The cards share one clock: the second one starts at the time that the first one has reached.
            if !addedFeeders.isEmpty { kitchen.run(until: next) }
        }
        runUntilIdle()
    }

    /// Runs one iteration of the screen; returns when the next one is due.
    private func present() -> HostInstant? {
        let before = screen.shown.count
        let next = presenter.step()
        while let entry = events.removeFirst() {
            switch entry.event {
            case .frame(let pts, let target, let presented):
                let number = screen.shown.count > before ? screen.shown.last?.number : nil
                shown.append(
                    Shown(
                        item: number.map { $0 / NumberedFilm.spread }, number: number.map { $0 % NumberedFilm.spread },
                        pts: pts, target: target, presented: presented,
                        isMoving: synchronizer.timebase.snapshot.segment(at: clock.now).rate != 0))
            case .framesDropped(let count, _, _): dropped += count
            case .underrun: underruns += 1
            default: break
            }
        }
        guard case .at(let instant) = next else { return nil }
        return instant
    }

    struct Shown {
        var item: Int?
        var number: Int?
        var pts: MediaTime
        var target: HostInstant
        var presented: HostInstant
        /// True if film time was running.
        var isMoving: Bool
    }

    /// The presented frames, as "item:numbers" for consecutive frames and "black".
    var pictureRuns: [String] {
        var runs: [(item: Int, first: Int, last: Int)] = []
        for picture in shown {
            let (item, number) = (picture.item ?? -1, picture.number ?? 0)
            if let last = runs.last, last.item == item, item >= 0, last.last + 1 == number {
                runs[runs.count - 1].last = number
            } else {
                runs.append((item, number, number))
            }
        }
        return runs.map { $0.item < 0 ? "black" : "\($0.item):\($0.first)...\($0.last)" }
    }

    /// Returns frames that were presented while film time was running and do not match the audio at their instant:
    /// those of another item, or more than `tolerance` audio frames off.
    func strangers(every frame: MediaTime, within tolerance: Int64 = 1) -> [String] {
        shown.filter(\.isMoving).compactMap { picture in
            guard let item = picture.item, let number = picture.number else { return nil }
            var (low, high) = (0, heard.count)
            while low < high {
                let middle = (low + high) / 2
                if heard[middle].at < picture.target.advanced(by: .microseconds(-63)) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            guard low < heard.count else { return "\(item):\(number) without sound" }
            let (sound, place, at) = heard[low]
            // Audio that was sent too late starts after the frame, at its own position.
            let behind = min(.milliseconds(20), at - picture.target).inSeconds * Double(Self.rate)
            let due = (frame * Int64(number)).rescaled(to: Int32(Self.rate)) + Int64(behind.rounded())
            if sound == item, abs(place - due) <= tolerance { return nil }
            return "\(item):\(number) at \(picture.pts) beside \(sound):\(place), due \(due)"
        }
    }

    /// The largest deviation of a frame from its instant while film time was running.
    var worstLateness: Duration {
        shown.filter(\.isMoving).map { $0.presented - $0.target }.max {
            abs($0.wholeNanoseconds) < abs($1.wholeNanoseconds)
        }
            ?? .zero
    }

    /// The start of each item on the queue's timeline.
    var beginnings: [MediaTime] {
        playerEvents.withLock { playerEvents in
            playerEvents.compactMap { event in if case .began(_, let at, _) = event { at } else { nil } }
        }
    }

    /// The number of items after the first that started without joining the one before.
    var newStarts: Int {
        playerEvents.withLock { playerEvents in
            playerEvents.count { if case .began(_, _, isJoined: false) = $0 { true } else { false } } - 1
        }
    }

    /// Applies an edit and runs until its outcome is known; returns the outcome.
    func edit(_ edit: QueueEdit) -> QueueEditOutcome? {
        let outcome = Lock<QueueEditOutcome?>(nil)
        core.apply(edit) { result in outcome.withLock { $0 = result } }
        for _ in 0..<200 where outcome.withLock({ $0 == nil }) { run(for: .milliseconds(5)) }
        return outcome.withLock { $0 }
    }

    /// The audible samples as ranges of consecutive frames of one sound.
    var stretches: [Stretch] { Self.stretches(heard) }
    var stretchesInKitchen: [Stretch] { Self.stretches(heardInKitchen) }

    private static func stretches(_ heard: [Heard]) -> [Stretch] {
        var all: [Stretch] = []
        for (sound, frame, at) in heard {
            if let last = all.last, last.sound == sound, last.frames.upperBound == frame {
                all[all.count - 1].frames = last.frames.lowerBound..<(frame + 1)
            } else {
                all.append(Stretch(sound: sound, frames: frame..<(frame + 1), at: at))
            }
        }
        return all
    }

    struct Stretch: Equatable, CustomStringConvertible {
        var sound: Int
        var frames: Range<Int64>
        var at: HostInstant
        var description: String { "\(sound):\(frames)" }
    }

    /// The number of steps between consecutive samples that differ from one frame.
    var holes: Int {
        let frame = 1e9 / Double(Self.rate)
        return zip(heard, heard.dropFirst()).count { abs(Double(($1.at - $0.at).wholeNanoseconds) - frame) > frame / 2 }
    }
}
