import CardPlayout
import MediaCodecs
import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Items whose samples say which item and which frame they are: the address is "sound/frames", or "sound+sound/frames" with tracks in
/// German and Russian.
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

    /// - Parameter isAbsent: then nothing can be read any more.
    init(
        _ address: String, rate: Int, track index: Int = 0, isAbsent: @escaping @Sendable () -> Bool = { false }
    ) throws(MediaError) {
        self.isAbsent = isAbsent
        let words = address.split(separator: "/")
        let sounds = words.first?.split(separator: "+").compactMap { Int($0) } ?? []
        guard words.count == 2, sounds.indices.contains(index), let total = Int64(words[1]) else {
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
            container: "numbers", tracks: tracks, duration: MediaTime(value: total, timescale: Int32(rate)))
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

/// A player with a list in virtual time, behind a sound card: real engine, pipelines, feeder, pump and presenter, no thread, no
/// device.
final class VirtualQueue: VirtualPlayer {
    static let rate = 8000
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let card: VirtualSoundCard
    let core: PlaybackEngine
    let opened = Lock<[String]>([])
    /// Items that have vanished.
    let absent = Lock<Set<String>>([])
    /// Decoders of pictures that were made, by the item's number.
    let decoders = Lock<[Int]>([])
    let news = Lock<[PlayerNews]>([])
    let mailbox = PlayerMailbox()
    let board: PlayerBoard
    var feeder: AudioFeeder?
    let pipelines = Lock<[TrackPipeline]>([])
    private(set) var runners: PipelineRunners?
    /// How fast films arrive that are called slow.
    let network: SlowNetwork
    private let videoPipelines = Lock<[ObjectIdentifier]>([])
    private(set) var heard: [Heard] = []
    /// Where a further sound plays, and what was heard there.
    let kitchen: VirtualSoundCard
    private(set) var heardInKitchen: [Heard] = []
    private var addedFeeders: [AudioFeeder] = []
    typealias Heard = (sound: Int, frame: Int64, at: HostInstant)
    /// What was shown, when, and when it should have been; its item is nil for black.
    private(set) var shown: [Shown] = []
    private(set) var dropped = 0
    private(set) var underruns = 0
    let layer = DisplayLayer(depth: 8)
    let screen: VirtualScreen
    private let presenter: FramePresenter
    /// False lets the pictures' thread wait, as for a slow disk.
    var picturesMove = true
    let events: EventLog

    /// - Parameters:
    ///   - rate: how fast films arrive whose addresses end with "slow"; nil has none of these.
    init(_ options: PlayerOptions = PlayerOptions(), arrivingAt rate: Double? = nil) {
        var options = options
        network = SlowNetwork(clock, rate: rate ?? 1)
        runners = rate == nil ? nil : PipelineRunners()
        options.readAhead = .seconds(4)
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        let device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo))
        card = VirtualSoundCard(clock: clock, device: device)
        kitchen = VirtualSoundCard(
            clock: clock,
            device: VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo)),
            name: "kitchen")
        for card in [card, kitchen] { (card.edges.fadeIn, card.edges.fadeOut) = (.zero, .zero) }
        board = PlayerBoard(timebase: synchronizer.timebase)
        let (opened, decoders, news, pipelines) = (opened, decoders, news, pipelines)
        let (videoPipelines, absent, network) = (videoPipelines, absent, network)
        let parts = Player.Parts(
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
            parts: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
            mailbox: mailbox, board: board,
            startPipeline: { pipeline, name in
                pipelines.withLock { $0.append(pipeline) }
                if name == "video" { videoPipelines.withLock { $0.append(ObjectIdentifier(pipeline)) } }
            },
            runErrand: { _, body in
                body()
                return nil
            },
            news: { item in news.withLock { $0.append(item) } })
        feeder = core.renderer.map { AudioFeeder(renderer: $0) }
        device.listener = { [unowned self] samples, at in
            guard let value = samples.first, let meaning = FloatCodecs.meaning(of: value) else { return }
            heard.append((meaning.sound, meaning.frame, at))
        }
        kitchen.device.listener = { [unowned self] samples, at in
            guard let value = samples.first, let meaning = FloatCodecs.meaning(of: value) else { return }
            heardInKitchen.append((meaning.sound, meaning.frame, at))
        }
        card.feeder = { [unowned self] _ in feeder?.settle() }
        kitchen.feeder = { [unowned self] _ in settleAdded() }
    }

    /// Plays a further sound in the kitchen.
    func addSound(_ choice: SoundTrackChoice) {
        core.addSound(choice, to: kitchen, number: 1)
        for sound in core.addedSounds { addedFeeders.append(AudioFeeder(renderer: sound.renderer)) }
    }

    @discardableResult
    func settleAdded() -> Bool {
        var hasMoved = false
        for index in addedFeeders.indices {
            let before = addedFeeders[index].renderer.progress.acceptedUntil
            addedFeeders[index].settle()
            if addedFeeders[index].renderer.progress.acceptedUntil != before { hasMoved = true }
        }
        return hasMoved
    }

    func mayTurn(_ pipeline: TrackPipeline) -> Bool {
        picturesMove || !videoPipelines.withLock { $0.contains(ObjectIdentifier(pipeline)) }
    }

    var state: PlayerState { board.state }

    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            settle()
            var next = min(end, clock.now.advanced(by: .milliseconds(5)))
            while let due = present() {
                if due > clock.now {
                    next = min(next, due)
                    break
                }
            }
            next = max(next, clock.now.advanced(by: .nanoseconds(1)))
            card.run(until: next)
            // Cards take turns on one clock: the other finds it where the first has left it.
            if !addedFeeders.isEmpty { kitchen.run(until: next) }
        }
        settle()
    }

    /// One step of the screen; when it wants the next.
    private func present() -> HostInstant? {
        let before = screen.shown.count
        let next = presenter.step()
        while let entry = events.take() {
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
        /// Shown while time ran.
        var isMoving: Bool
    }

    /// What was shown, as "item:numbers" for pictures that follow one another and "black".
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

    /// Pictures that were shown while time ran and do not belong to the sound that was heard at their instant: another item's,
    /// or one away from its sound by more than `tolerance` frames of it.
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
            // Sound that was handed over too late begins behind the picture, in its own place.
            let behind = min(.milliseconds(20), at - picture.target).inSeconds * Double(Self.rate)
            let due = (frame * Int64(number)).rescaled(to: Int32(Self.rate)) + Int64(behind.rounded())
            if sound == item, abs(place - due) <= tolerance { return nil }
            return "\(item):\(number) at \(picture.pts) beside \(sound):\(place), due \(due)"
        }
    }

    /// The largest distance of a picture from its instant while time ran.
    var worstLateness: Duration {
        shown.filter(\.isMoving).map { $0.presented - $0.target }.max {
            abs($0.wholeNanoseconds) < abs($1.wholeNanoseconds)
        }
            ?? .zero
    }

    /// Where items began on the queue's timeline.
    var beginnings: [MediaTime] {
        news.withLock { news in
            news.compactMap { news in if case .began(_, let at, _) = news { at } else { nil } }
        }
    }

    /// Items behind the first that began by themselves, without joining the one before.
    var newStarts: Int {
        news.withLock { news in
            news.count { if case .began(_, _, isJoined: false) = $0 { true } else { false } } - 1
        }
    }

    /// Applies an edit and lets time pass until it is settled.
    func edit(_ edit: QueueEdit) -> QueueEditOutcome? {
        let outcome = Lock<QueueEditOutcome?>(nil)
        core.apply(edit) { result in outcome.withLock { $0 = result } }
        for _ in 0..<200 where outcome.withLock({ $0 == nil }) { run(for: .milliseconds(5)) }
        return outcome.withLock { $0 }
    }

    /// What was heard, as stretches of frames that follow one another; the samples' own numbers say so.
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

    /// Instants between samples that follow one another where there was anything but one frame's time.
    var holes: Int {
        let frame = 1e9 / Double(Self.rate)
        return zip(heard, heard.dropFirst()).count { abs(Double(($1.at - $0.at).wholeNanoseconds) - frame) > frame / 2 }
    }
}
