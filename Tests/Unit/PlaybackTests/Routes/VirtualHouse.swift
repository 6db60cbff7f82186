import CardPlayout
import MediaCore
import Profiles

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A player with several outputs in virtual time: real state machine, pipelines, group, lanes, feeders, pumps and
/// playout, no thread, no device.
final class VirtualHouse {
    /// One audible frame.
    struct Heard {
        /// Frame number in the film.
        var frame: Double
        var at: HostInstant
        /// Relative to the due instant; positive is late.
        var late: Duration
    }

    static let rate = 3000
    let clock = ManualClock()
    let events: EventLog
    let synchronizer: RenderSynchronizer
    let layer = DisplayLayer(depth: 8)
    let screen: VirtualScreen
    let group: OutputGroup
    let core: PlaybackEngine
    private var engine = SteppedEngine()
    let mailbox = PlayerMailbox()
    let messages = Lock<[String]>([])
    /// Reports about outputs.
    private let reports = Lock<[String]>([])
    var told: [String] { reports.withLock { $0 } }
    /// The reported changes of the outputs that are heard.
    let routeChanges = Lock<[PlaybackRouteChange]>([])
    /// The reported interruptions.
    let interruptions = Lock<[PlaybackInterruption]>([])
    private let presenter: FramePresenter
    private let feeders: Feeders
    private let pipelines = Lock<[TrackPipeline]>([])
    private var cards: [VirtualSoundCard] = []
    private let heard = Lock<[String: [Heard]]>([:])
    private(set) var noted: [RenderEvent] = []
    let outcomes = Lock<[RouteChange]>([])

    /// Feeders without threads.
    ///
    /// `@unchecked Sendable`: used by the test's thread alone.
    private final class Feeders: @unchecked Sendable {
        /// A class, because a feeder that opens a group adds further ones while it runs.
        private final class Box {
            let renderer: AudioRenderer
            var feeder: AudioFeeder
            init(_ renderer: AudioRenderer, _ feeder: AudioFeeder) {
                self.renderer = renderer
                self.feeder = feeder
            }
        }

        private var all: [Box] = []
        /// Feeders of members that would have separate threads.
        private var members: [OutputFeed] = []

        func add(_ renderer: AudioRenderer, _ feeder: AudioFeeder) { all.append(Box(renderer, feeder)) }

        func add(_ feeder: OutputFeed) { members.append(feeder) }

        func runUntilIdle() -> Bool {
            all.removeAll { $0.renderer.state.withLock { $0.stopping } }
            members.removeAll { $0.isShared || $0.state.withLock { $0.isStopping } }
            var moved = false
            for box in all {
                let before = box.renderer.progress.acceptedUntil
                box.feeder.performDueWork()
                if box.renderer.progress.acceptedUntil != before { moved = true }
            }
            for member in members where member.runIteration().hasMoved { moved = true }
            return moved
        }
    }

    /// - Parameter calibrate: returns the object that applies calibrated delays.
    init(
        _ names: String..., seconds: Int64 = 600, options: PlayerOptions = PlayerOptions(),
        configure: ([VirtualSoundCard]) -> Void = { _ in }, calibrate: (OutputGroup) -> RouteCalibration? = { _ in nil }
    ) {
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        screen = VirtualScreen(clock: clock)
        let film = SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1), sampleRate: Self.rate)
        let feeders = Feeders()
        self.feeders = feeders
        var work = GroupWork()
        work.startFeeder = { feeder, _ in
            feeders.add(feeder)
            return nil
        }
        work.run = { name, body in
            if name != "route change" { body() }
            return nil
        }
        work.changesByHand = true
        let clock = clock
        let made = names.map { name in Self.card(name, clock) }
        configure(made)
        let group = OutputGroup(members: made, codecs: SyntheticCodecs(), work: work)
        self.group = group
        let pipelines = pipelines
        let messages = messages
        var parts = Player.Components(
            open: { (_, _) throws(MediaError) in film }, codecs: SyntheticCodecs(),
            makeDecoder: { (_) throws(MediaError) in SyntheticVideoDecoder(frame: film.frame) },
            audioOutput: group, clock: clock)
        parts.calibration = calibrate(group)
        core = PlaybackEngine(
            components: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
            mailbox: mailbox,
            publisher: PlayerStatePublisher(timebase: synchronizer.timebase, outputs: group),
            startPipeline: { pipeline, _ in pipelines.withLock { $0.append(pipeline) } },
            runBackgroundWork: { _, body in
                body()
                return nil
            },
            onEvent: { [reports, routeChanges, interruptions] event in
                switch event {
                case .message(let text): messages.withLock { $0.append(text) }
                case .outputProblem(let problem): reports.withLock { $0.append("problem \(problem.name)") }
                case .outputRecovered(let problem): reports.withLock { $0.append("recovered \(problem.name)") }
                case .routeChanged(let change): routeChanges.withLock { $0.append(change) }
                case .interruption(let interruption): interruptions.withLock { $0.append(interruption) }
                default: break
                }
            })
        presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        if let renderer = core.renderer { feeders.add(renderer, AudioFeeder(renderer: renderer)) }
        for card in made { observe(card) }
        core.open("film")
    }

    private static func card(_ name: String, _ clock: ManualClock) -> VirtualSoundCard {
        let device = VirtualPlayoutDevice(
            clock: clock, format: PCMFormat(sampleRate: rate, layout: .stereo), capacity: .milliseconds(200))
        let card = VirtualSoundCard(clock: clock, device: device, name: name)
        // Fades change the encoded numbers.
        card.edges.fadeIn = .zero
        card.edges.fadeOut = .zero
        return card
    }

    /// Adds an output that does not play yet.
    func output(_ name: String) -> VirtualSoundCard {
        let card = Self.card(name, clock)
        observe(card)
        return card
    }

    var outputs: [VirtualSoundCard] { cards }

    /// Records what leaves a card.
    private func observe(_ card: VirtualSoundCard) {
        cards.append(card)
        let (name, heard, timebase) = (card.name, heard, synchronizer.timebase)
        card.device.listener = { samples, at in
            guard let value = samples.first, value != 0 else { return }
            let segment = timebase.snapshot.segment(at: at)
            let frame = Double(value) * 8_388_608 - 1
            let due = segment.mediaTime(at: at).seconds * Double(Self.rate)
            heard.withLock {
                $0[name, default: []].append(
                    Heard(frame: frame, at: at, late: .nanoseconds(Int64((due - frame) / Double(Self.rate) * 1e9))))
            }
        }
    }

    func heard(_ name: String) -> [Heard] { heard.withLock { $0[name] ?? [] } }

    func change(to outputs: VirtualSoundCard...) {
        let outcomes = outcomes
        let mailbox = mailbox
        group.change(to: outputs) { outcome in
            if case .changed = outcome { mailbox.post { $0.outputsHaveChanged() } }
            outcomes.withLock { $0.append(outcome) }
        }
    }

    var lastChange: MediaTime? {
        if case .changed(let moment, _)? = outcomes.withLock({ $0.last }) { moment } else { nil }
    }

    /// Runs everything that can progress without time passing, the engine at least once.
    func runUntilIdle() {
        engine.wake()
        runWhatIsDue()
    }

    private func runWhatIsDue() {
        var moved = true
        while moved {
            moved = engine.runIfDue(core, at: clock.now)
            for pipeline in pipelines.withLock({ $0 }) { while case .again = pipeline.runIteration() { moved = true } }
            if feeders.runUntilIdle() { moved = true }
            _ = group.advanceChange()
        }
    }

    /// Advances virtual time in steps that are short compared with a card's queue.
    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        engine.wake()
        while clock.now < end {
            runWhatIsDue()
            var next = min(end, clock.now.advanced(by: .milliseconds(2)))
            if case .at(let instant) = presenter.step() { next = min(next, max(instant, clock.now)) }
            next = max(next, clock.now.advanced(by: .microseconds(10)))
            for card in cards {
                // The cards share one clock: each starts at the time that the previous one has reached.
                card.run(until: next)
            }
            while let entry = events.removeFirst() { noted.append(entry.event) }
        }
    }
}
