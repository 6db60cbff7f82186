import MediaCore

@testable import SyncRendering
@testable import Talkie
@testable import TalkieTestKit

/// Items whose samples say which item and which frame they are: the address is "sound/frames".
final class NumberedSound: MediaSource, SampleSource, @unchecked Sendable {
    // `@unchecked Sendable`: one thread of a test uses it.
    let summary: MediaSummary
    let track: Track
    private let sound: Int
    private let total: Int64
    private var next: Int64 = 0

    init(_ address: String, rate: Int) throws(MediaError) {
        let words = address.split(separator: "/")
        guard words.count == 2, let sound = Int(words[0]), let total = Int64(words[1]) else {
            throw MediaError(.cannotOpen, "there is no '\(address)'")
        }
        (self.sound, self.total) = (sound, total)
        track = Track(id: 0, number: 1, format: .audio(FloatCodecs.format(sampleRate: rate)))
        summary = MediaSummary(
            container: "numbers", tracks: [track], duration: MediaTime(value: total, timescale: Int32(rate)))
    }

    func source(for track: Track) -> any SampleSource { self }

    func read() -> SampleBuffer? {
        guard next < total, let format = track.audioFormat else { return nil }
        let end = min(next + 3000, total)
        defer { next = end }
        return FloatCodecs.buffer(sound, frames: next..<end, format: format)
    }

    func seek(to time: MediaTime, mode: SeekMode) -> MediaTime? {
        next = time.rescaled(to: Int32(track.audioFormat?.sampleRate ?? 1)) / 1000 * 1000
        return nil
    }

    func cancel() {}
}

/// The whole queue player in virtual time: real state machine, reader, feeder and pump, no thread, no device.
final class VirtualQueue {
    static let rate = 8000
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let card: VirtualSoundCard
    let core: QueueCore
    let opened = Lock<[String]>([])
    /// Items that have vanished.
    let absent = Lock<Set<String>>([])
    let news = Lock<[QueueNews]>([])
    private let reader: QueueReader
    private let renderer: AudioRenderer
    private let mailbox = QueueMailbox()
    private var feeder: AudioFeeder
    private let published = Lock(QueueState())
    private(set) var heard: [(sound: Int, frame: Int64, at: HostInstant)] = []
    /// What was shown, when, and when it should have been; its item is nil for black.
    private(set) var shown: [Shown] = []
    private(set) var dropped = 0
    let layer = DisplayLayer()
    let screen: VirtualScreen
    private let presenter: FramePresenter
    private let pictures: PictureReader?
    /// False lets the pictures' threads wait, as for a slow disk.
    var picturesMove = true
    private let events: EventLog

    init(_ options: QueueOptions = QueueOptions()) {
        var options = options
        options.format = PCMFormat(sampleRate: Self.rate, layout: .stereo)
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        let device = VirtualPlayoutDevice(clock: clock, format: options.format)
        card = VirtualSoundCard(clock: clock, device: device)
        card.edges.fadeIn = .zero
        card.edges.fadeOut = .zero
        renderer = AudioRenderer(synchronizer: synchronizer, codecs: FloatCodecs(), events: events)
        feeder = renderer.startWithoutThread { [mailbox] in QueuePlayer.pass($0, to: mailbox) }
        renderer.setOutput(card)
        let (opened, absent) = (opened, absent)
        let parts = QueuePlayer.Parts(
            open: { (address, _) throws(MediaError) in
                opened.withLock { $0.append(address) }
                if absent.withLock({ $0.contains(address) }) { throw MediaError(.cannotOpen, "no '\(address)' now") }
                if address.split(separator: "/").count > 2 { return try NumberedFilm(address, rate: Self.rate) }
                return try NumberedSound(address, rate: Self.rate)
            }, codecs: FloatCodecs(), output: card,
            makeDecoder: { (format) throws(MediaError) in try NumberedPictureDecoder(format) }, clock: clock)
        reader = QueueReader(QueueReader.Setup(parts, options), news: mailbox.signal)
        let signal = mailbox.signal
        pictures = PictureReader.Setup(parts, options, layer, synchronizer.timebase, events).map {
            PictureReader($0, news: signal)
        }
        screen = VirtualScreen(clock: clock)
        presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        synchronizer.add(layer)
        let news = news
        core = QueueCore(
            parts: parts, options: options, synchronizer: synchronizer, renderer: renderer, reader: reader,
            layer: layer, pictures: pictures, mailbox: mailbox, published: published,
            news: { item in news.withLock { $0.append(item) } })
        device.listener = { [unowned self] frame, at in
            guard let value = frame.first, let meaning = FloatCodecs.meaning(of: value) else { return }
            heard.append((meaning.sound, meaning.frame, at))
        }
        card.feeder = { [unowned self] _ in feeder.settle() }
    }

    /// Everything that can move without time passing, moves.
    func settle() {
        for _ in 0..<200 {
            _ = core.turn()
            var moved = false
            while case .again = reader.turn() { moved = true }
            for number in 0..<PictureReader.threadCount {
                while picturesMove, let pictures, case .again = pictures.turn(number) { moved = true }
            }
            let before = renderer.status.enqueuedUntil
            feeder.settle()
            if !moved, renderer.status.enqueuedUntil == before, !core.isStarting { return }
        }
    }

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
            card.run(until: max(next, clock.now.advanced(by: .nanoseconds(1))))
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
    /// or one away from its sound by more than a frame of it.
    func strangers(every frame: MediaTime) -> [String] {
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
            if sound == item, abs(place - due) <= 1 { return nil }
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
            news.compactMap { news in if case .began(_, let at) = news { at } else { nil } }
        }
    }

    func run(untilPhase phase: QueueState.Phase, atMost limit: Duration) -> Bool {
        let end = clock.now.advanced(by: limit)
        while core.state.phase != phase {
            if clock.now >= end { return false }
            run(for: .milliseconds(20))
        }
        return true
    }

    /// Applies an edit and lets time pass until it is settled.
    func edit(_ edit: QueueEdit) -> QueueEditOutcome? {
        let outcome = Lock<QueueEditOutcome?>(nil)
        core.apply(edit) { result in outcome.withLock { $0 = result } }
        for _ in 0..<200 where outcome.withLock({ $0 == nil }) { run(for: .milliseconds(5)) }
        return outcome.withLock { $0 }
    }

    /// What was heard, as stretches of frames that follow one another; the samples' own numbers say so.
    var stretches: [Stretch] {
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
