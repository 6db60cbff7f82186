import FuzzSupport
import MediaCodecs
import MediaCore
import MediaFiles
import TalkieTestKit

@testable import Playback
@testable import SyncRendering

/// Plays the bytes as a film from its start to its end, in virtual time: demuxer, decoders, subtitles, state machine,
/// feeder, pump and presenter. A byte of it selects speed and start.
///
/// A film that states at most a minute ends, or fails with a sentence.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPlay(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard size > 0 else { return 0 }
    var input = FuzzInput(start, size)
    let bytes = input.remainder()
    folder.empty()
    folder.write("film", bytes)
    Cinema("\(folder.path)/film", choice: bytes[size / 2]).play()
    return 0
}

private let folder = FuzzFolder("play")

/// A player without threads and devices.
private final class Cinema {
    /// Longer than a minute at half speed, with all pauses that are accepted (`PauseLimit`).
    private static let longestPlay = Duration.seconds(300)
    private static let longestStated = MediaTime(value: 60, timescale: 1)
    /// Larger frames take too long to decode.
    private static let largestPicture = 1 << 18

    private let clock = ManualClock()
    private let events: EventLog
    private let layer = DisplayLayer(depth: 8)
    private let screen: VirtualScreen
    private let card: VirtualSoundCard
    private let core: PlaybackEngine
    private let presenter: FramePresenter
    private var feeder: AudioFeeder?
    private let drawers: [SteppedDrawer]
    private let pipelines = Lock<[TrackPipeline]>([])
    private let stated = Lock<MediaTime?>(nil)

    init(_ path: String, choice: UInt8) {
        events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock, events: events)
        screen = VirtualScreen(clock: clock)
        let device = VirtualPlayoutDevice(
            clock: clock, format: PCMFormat(sampleRate: 48_000, layout: .stereo), capacity: .milliseconds(200))
        card = VirtualSoundCard(clock: clock, device: device)
        var options = PlayerOptions()
        options.speed = [1, 1, 0.5, 2][Int(choice & 3)]
        if choice & 4 != 0 { options.start = .fromStart(MediaTime(value: Int64(choice >> 3), timescale: 20)) }
        let (pipelines, stated, mailbox) = (pipelines, stated, PlayerMailbox())
        let parts = Player.Components(
            open: { (_, _) throws(MediaError) in
                let film = try MediaFile.open(path)
                stated.withLock { $0 = film.summary.duration }
                return film
            },
            codecs: FilmAudioCodecs(),
            makeDecoder: { (format) throws(MediaError) in
                guard format.size.width * format.size.height <= Self.largestPicture else {
                    throw MediaError(.limitExceeded, "the picture is too large for a fuzzer")
                }
                return try VideoDecoder(format: format, threads: 1)
            },
            audioOutput: card,
            subtitles: Player.SubtitleComponents(codecs: FilmSubtitleCodecs(), makeDrawing: { CountedDrawing() }),
            clock: clock)
        core = PlaybackEngine(
            components: parts, options: options, synchronizer: synchronizer, layer: layer, events: events,
            mailbox: mailbox,
            publisher: PlayerStatePublisher(timebase: synchronizer.timebase),
            startPipeline: { pipeline, _ in pipelines.withLock { $0.append(pipeline) } },
            runBackgroundWork: { _, body in
                body()
                return nil
            },
            onEvent: { _ in })
        feeder = core.renderer.map { AudioFeeder(renderer: $0) }
        presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        drawers = core.tracks.subtitles.all.map { [clock] in SteppedDrawer($0.renderer, clock: clock) }
        core.open("film")
    }

    private var hasEnded: Bool { core.state.phase == .ended || core.state.phase == .failed }

    func play() {
        let end = clock.now.advanced(by: Self.longestPlay)
        while !hasEnded, clock.now < end {
            runUntilIdle()
            for drawer in drawers { drawer.step() }
            var next = clock.now.advanced(by: .milliseconds(20))
            if case .at(let instant) = presenter.step() { next = min(next, max(instant, clock.now)) }
            card.run(until: max(next, clock.now.advanced(by: .microseconds(1))))
            while events.removeFirst() != nil {}
        }
        precondition(
            hasEnded || stated.withLock { $0.map { $0 > Self.longestStated } ?? true }, "a film that never ends")
        for failure in [core.state.failure, core.state.mediaFailure?.error] where failure != nil {
            precondition(failure?.message.isEmpty == false)
        }
        core.shutDown()
        runUntilIdle()
    }

    /// Runs everything that can progress without time passing.
    private func runUntilIdle() {
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            _ = core.runIteration()
            for pipeline in pipelines.withLock({ $0 }) {
                while pipeline.signal.tryWait() {
                    while case .again = pipeline.runIteration() { hasMoved = true }
                }
            }
            let before = core.renderer?.progress.acceptedUntil
            feeder?.performDueWork()
            if core.renderer?.progress.acceptedUntil != before { hasMoved = true }
        }
    }
}
