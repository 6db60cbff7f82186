import MediaCodecs
import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A player with a playlist in virtual time: real state machine, pipelines, audio decoders, feeder and presenter; a
/// recording screen, and a tape in place of a loudspeaker; no thread, no device.
final class VirtualProgramme: VirtualPlayer {
    /// A presented frame: its number, or nil for black.
    struct Shown {
        var number: Int?
        var pts: MediaTime
        var target: HostInstant
        var presented: HostInstant
    }

    let clock: ManualClock
    let events: EventLog
    let synchronizer: RenderSynchronizer
    let layer = DisplayLayer(depth: 8)
    let screen: VirtualScreen
    let tape: TapeOutput
    let core: PlaybackEngine
    var engine = SteppedEngine()
    let mailbox = PlayerMailbox()
    let board: PlayerStatePublisher
    private let presenter: FramePresenter?
    private let drawers: [SteppedDrawer]
    var feeder: AudioFeeder?
    let pipelines = Lock<[TrackPipeline]>([])
    /// Set for films whose sources block.
    var runners: PipelineRunners?
    /// Background tasks held back by the test.
    private let errands = Lock<(held: [(name: String, body: @Sendable () -> Void)], holding: Set<String>)>(([], []))
    private let told = Lock<[PlayerEvent]>([])
    let opened = Lock<[String]>([])
    private(set) var shown: [Shown] = []
    private(set) var dropped = 0

    /// - Parameters:
    ///   - films: by address; others cannot be opened.
    ///   - speaker: replaces the tape.
    init(
        _ films: [String: any MediaSource], first: String, options: PlayerOptions = PlayerOptions(),
        depth: Duration = .seconds(1), hasSound: Bool = true, hasScreen: Bool = true, speaker: (any AudioOutput)? = nil,
        lists: [String: [String]] = [:], clock: ManualClock = ManualClock(),
        remark: @escaping @Sendable (any MediaSource) -> String? = { _ in nil }
    ) {
        self.clock = clock
        let events = EventLog(clock: clock)
        self.events = events
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        screen = VirtualScreen(clock: clock)
        tape = TapeOutput(desiredDepth: depth)
        board = PlayerStatePublisher(timebase: synchronizer.timebase)
        let (pipelines, errands, told, opened) = (pipelines, errands, told, opened)
        var words = Player.SubtitleComponents(codecs: FilmSubtitleCodecs(), makeDrawing: { CountedDrawing() })
        words.secondaryCodecs = FilmSubtitleCodecs(position: .top)
        var parts = Player.Components(
            open: { (address, _) throws(MediaError) in
                opened.withLock { $0.append(address) }
                guard let film = films[address] else { throw MediaError(.cannotOpen, "There is no “\(address)”.") }
                guard (film as? VanishingFilm)?.canBeOpened ?? true else {
                    throw MediaError(.cannotOpen, "There is no “\(address)” any more.")
                }
                return film
            },
            codecs: FilmAudioCodecs(), makeDecoder: { (_) throws(MediaError) in CountedVideoDecoder() },
            audioOutput: hasSound ? speaker ?? tape : nil,
            subtitles: words,
            clock: clock,
            remark: remark)
        parts.listInterstitial = { (address, _, _) throws(MediaError) in
            guard let list = lists[address] else { throw MediaError(.cannotOpen, "There is no list “\(address)”.") }
            return list
        }
        core = PlaybackEngine(
            components: parts,
            options: options, synchronizer: synchronizer, layer: layer, events: events, mailbox: mailbox,
            publisher: board,
            startPipeline: { pipeline, _ in pipelines.withLock { $0.append(pipeline) } },
            runBackgroundWork: { name, body in
                let isHeld = errands.withLock { errands in
                    guard errands.holding.contains(name) else { return false }
                    errands.held.append((name, body))
                    return true
                }
                if !isHeld { body() }
                return nil
            },
            onEvent: { event in told.withLock { $0.append(event) } })
        feeder = core.renderer.map { AudioFeeder(renderer: $0) }
        presenter =
            hasScreen
            ? FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events) : nil
        drawers = core.tracks.subtitles.all.map { [clock] in SteppedDrawer($0.renderer, clock: clock) }
        screen.canvas = SubtitleCanvas(
            area: PixelSize(width: 64, height: 64), video: PixelRect(x: 0, y: 0, width: 64, height: 64),
            storage: PixelSize(width: 64, height: 64))
        core.open(first)
    }

    /// Holds back background tasks with this name until `letGo`.
    func hold(_ name: String) { errands.withLock { _ = $0.holding.insert(name) } }

    func letGo(_ name: String) {
        let held = errands.withLock { errands in
            errands.holding.remove(name)
            defer { errands.held.removeAll { $0.name == name } }
            return errands.held.filter { $0.name == name }
        }
        for work in held { work.body() }
    }

    var state: PlayerState { board.state }
    var playerEvents: [PlayerEvent] { told.withLock { $0 } }
    /// Films that joined the one before gaplessly, and loops as "again".
    var began: [String] {
        playerEvents.compactMap { event in
            switch event {
            case .began(let item, _, isJoined: true): item.address
            case .looped: "again"
            default: nil
            }
        }
    }
    /// Films that started without joining the one before.
    var restarted: [String] {
        playerEvents.compactMap { if case .began(let item, _, isJoined: false) = $0 { item.address } else { nil } }
    }
    var failed: [String] {
        playerEvents.compactMap {
            if case .failed(let item, let failure) = $0 { "\(item.address) \(failure.code.rawValue)" } else { nil }
        }
    }
    /// Numbers of the presented frames; nil is black.
    var numbers: [Int?] { shown.map(\.number) }

    /// Advances virtual time in steps while nothing is due.
    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        engine.wake()
        while clock.now < end {
            runWhatIsDue()
            for drawer in drawers { drawer.step() }
            var next = min(end, clock.now.advanced(by: .milliseconds(20)))
            let before = screen.shown.count
            if case .at(let instant)? = presenter?.step() { next = min(next, max(instant, clock.now)) }
            drainEvents(isBlack: screen.shown.count == before)
            clock.advance(to: max(next, clock.now.advanced(by: .microseconds(1))))
        }
    }

    private func drainEvents(isBlack: Bool) {
        while let entry = events.removeFirst() {
            switch entry.event {
            case .frame(let pts, let target, let presented):
                shown.append(
                    Shown(
                        number: isBlack ? nil : screen.shown.last?.number, pts: pts, target: target,
                        presented: presented))
            case .framesDropped(let count, _, _): dropped += count
            default: break
            }
        }
    }
}
