import MediaCodecs
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A read that blocks and that nothing interrupts, as of a file whose network file system does not answer.
@Suite struct BlockedReadTests {
    private let shared = SharedPlaybackList()
    private let entry: PlaybackList.ScheduledItem
    private let source: BlockedSource

    init() throws {
        let film = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000)
        let (audio, video) = (film.summary.track(.audio), film.summary.track(.video))
        var list = PlaybackList()
        _ = list.apply(.append([QueueItem("film")]))
        entry = PlaybackList.ScheduledItem(
            serial: list.newSerial(), listPosition: try #require(list.firstPosition()), media: PrefetchedMedia(film),
            audioTrack: audio, videoTrack: video)
        list.begin(with: entry)
        let made = list
        shared.restart { $0 = made }
        source = BlockedSource(film)
    }

    /// Stops a pipeline whose read blocks, and lets the read return after that.
    private func abandon(_ pipeline: TrackPipeline) {
        pipeline.start(name: "blocked")
        pipeline.seek(to: .zero, aim: .exact, serial: 1)
        source.isBlocked.wait()
        pipeline.stop()
        source.mayReturn.raise()
        pipeline.ended.wait()
    }

    @Test(.timeLimit(.minutes(10))) func anAudioTrackIsLeftAndEnqueuesNothingLater() throws {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: EventLog(clock: clock))
        #expect(synchronizer.addRenderer(renderer) == nil)
        let reader = try source.reader(of: .audio)
        abandon(
            TrackPipeline(
                stage: AudioStage(list: shared, renderer: renderer, entry: entry, source: reader),
                stopTimeout: .zero, onEvent: {}))
        #expect(renderer.store.level.count == 0 && !renderer.store.level.isFinished)
    }

    @Test(.timeLimit(.minutes(10))) func aVideoTrackIsLeftAndEnqueuesNothingLater() throws {
        let layer = DisplayLayer(depth: 8)
        let setting = VideoStage.Setting(
            list: shared, layer: layer, progress: ProgressGate(signal: Signal()),
            open: { (_, _) throws(MediaError) in throw MediaError(.cannotOpen, "never asked") })
        let reader = VideoReader(
            film: source.film, source: try source.reader(of: .video), decoder: CountedVideoDecoder())
        abandon(
            TrackPipeline(stage: VideoStage(setting, reader: reader), stopTimeout: .zero, onEvent: {}))
        #expect(layer.count == 0 && !layer.isDrained)
    }
}

/// A film whose reads block until one is permitted to return.
private final class BlockedSource: Sendable {
    let film: CountedFilm
    let isBlocked = Signal()
    let mayReturn = Signal()

    init(_ film: CountedFilm) { self.film = film }

    func reader(of kind: Track.Kind) throws -> any SampleSource {
        Reader(self, try film.source(for: #require(film.summary.track(kind))))
    }

    private final class Reader: SampleSource {
        let track: Track
        private let source: any SampleSource
        private let owner: BlockedSource

        init(_ owner: BlockedSource, _ source: any SampleSource) {
            (self.owner, self.source, track) = (owner, source, source.track)
        }

        func read() throws(MediaError) -> SampleBuffer? {
            owner.isBlocked.raise()
            owner.mayReturn.wait()
            owner.mayReturn.raise()
            return try source.read()
        }

        func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
            try source.seek(to: time, mode: mode)
        }

        func cancel() {}
    }
}
