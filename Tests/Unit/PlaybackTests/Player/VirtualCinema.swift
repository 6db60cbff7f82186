import MediaCore

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A whole player in virtual time: real state machine, pipelines, feeder, pump and presenter, no thread, no device.
final class VirtualCinema: VirtualPlayer {
    let clock = ManualClock()
    private let rate: Int
    let events: EventLog
    let synchronizer: RenderSynchronizer
    let layer = DisplayLayer(depth: 8)
    let screen: VirtualScreen
    let device: VirtualPlayoutDevice
    let card: VirtualSoundCard
    let core: PlaybackEngine
    var engine = SteppedEngine()
    let mailbox = PlayerMailbox()
    private let presenter: FramePresenter
    /// Whether the screen's thread does nothing, as while it opens its window.
    var isScreenBusy = false
    var feeder: AudioFeeder?
    let pipelines = Lock<[TrackPipeline]>([])
    let messages = Lock<[String]>([])

    /// Deviation of every frame shown during playback from its instant.
    private(set) var pictureErrors: [Duration] = []
    private(set) var dropped = 0
    /// The duration of each detected suspension.
    private(set) var suspensions: [Duration] = []
    /// Deviation of each sampled audio frame from its instant.
    let soundErrors = Lock<[Duration]>([])
    /// The instant at which the first audible sample left the card.
    let firstSound = Lock<HostInstant?>(nil)

    init(
        film: any MediaSource, options: PlayerOptions = PlayerOptions(), cardPPM: Double = 0, sampleRate: Int = 48_000,
        codecs: any AudioCodecs = SyntheticCodecs()
    ) {
        rate = sampleRate
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        screen = VirtualScreen(clock: clock)
        device = VirtualPlayoutDevice(
            clock: clock, format: PCMFormat(sampleRate: sampleRate, layout: .stereo), capacity: .milliseconds(200))
        device.ratePPM = cardPPM
        card = VirtualSoundCard(clock: clock, device: device)
        let frame = (film as? SyntheticFilm)?.frame ?? MediaTime(value: 1, timescale: 24)
        let pipelines = pipelines
        let messages = messages
        core = PlaybackEngine(
            components: Player.Components(
                open: { (_, _) throws(MediaError) in film }, codecs: codecs,
                makeDecoder: { (_) throws(MediaError) in SyntheticVideoDecoder(frame: frame) }, audioOutput: card,
                clock: clock),
            options: options, synchronizer: synchronizer, layer: layer, events: events, mailbox: mailbox,
            publisher: PlayerStatePublisher(timebase: synchronizer.timebase),
            startPipeline: { pipeline, _ in pipelines.withLock { $0.append(pipeline) } },
            runBackgroundWork: { _, body in
                body()
                return nil
            },
            onEvent: { event in if case .message(let text) = event { messages.withLock { $0.append(text) } } })
        feeder = core.renderer.map { AudioFeeder(renderer: $0) }
        presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        watchSound()
        core.open("film")
    }

    /// Compares what leaves the card with the timebase.
    private func watchSound() {
        let timebase = synchronizer.timebase
        let errors = soundErrors
        let firstSound = firstSound
        let rate = Double(rate)
        var seen = 0
        device.listener = { samples, start in
            if firstSound.withLock({ $0 == nil }), let index = samples.firstIndex(where: { $0 != 0 }) {
                let later = Duration.nanoseconds(Int64(Double(index / 2) / rate * 1e9))
                firstSound.withLock { $0 = start.advanced(by: later) }
            }
            seen += 1
            guard seen % 16 == 0, let value = samples.first, value != 0 else { return }
            let segment = timebase.snapshot.segment(at: start)
            guard segment.speed == 1 else { return }
            // The value is the frame's number, fractional where the card's drift was resampled.
            let due = (segment.mediaTime(at: start).seconds * rate).truncatingRemainder(dividingBy: 8_388_608)
            let difference = due - (Double(value) * 8_388_608 - 1)
            // Where the numbers wrap, the resampler sees an edge that real audio does not have.
            guard abs(difference) < 1_000_000, due > 100, due < 8_388_500 else { return }
            errors.withLock { $0.append(.nanoseconds(Int64(difference / rate * 1e9))) }
        }
    }

    var shown: [Int] { screen.shown.map(\.number) }

    /// Advances virtual time in steps while nothing is due.
    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        engine.wake()
        while clock.now < end {
            runWhatIsDue()
            var next = min(end, clock.now.advanced(by: .milliseconds(20)))
            if !isScreenBusy, case .at(let instant) = presenter.step() { next = min(next, max(instant, clock.now)) }
            card.run(until: max(next, clock.now.advanced(by: .microseconds(1))))
            drainEvents()
        }
    }

    private func drainEvents() {
        while let entry = events.removeFirst() {
            switch entry.event {
            case .frame(_, let target, let presented):
                if synchronizer.timebase.snapshot.segment(at: presented).rate != 0 {
                    pictureErrors.append(presented - target)
                }
            case .framesDropped(let count, _, _): dropped += count
            case .resumed(let asleep): suspensions.append(asleep)
            default: break
            }
        }
    }
}
