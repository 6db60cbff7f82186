import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A video decoder that is late after a stall of the machine, in virtual time.
@Suite struct LateDecodingTests {
    private let clock = ManualClock()
    private let layer = DisplayLayer(depth: 8)
    private let timebase: Timebase
    private let stage: VideoStage
    private let frame = MediaTime(value: 1, timescale: 25)

    /// Starts a film of a minute, with a sync frame every ten seconds.
    init() throws {
        let film = SyntheticFilm(duration: MediaTime(value: 60, timescale: 1), frame: frame, syncInterval: 250)
        let video = try #require(film.summary.track(.video))
        var list = PlaybackList()
        _ = list.apply(.append([QueueItem("film")]))
        let entry = PlaybackList.ScheduledItem(
            serial: list.newSerial(), listPosition: try #require(list.firstPosition()), media: PrefetchedMedia(film),
            audioTrack: nil, videoTrack: video)
        list.begin(with: entry)
        let (made, shared) = (list, SharedPlaybackList())
        shared.restart { $0 = made }
        timebase = Timebase(clock: clock)
        let pictures = PictureTrack(
            film: film, source: film.source(for: video), decoder: SlowPictureDecoder(clock, frame: frame))
        let setting = VideoStage.Setting(
            list: shared, layer: layer, timebase: timebase, events: EventLog(clock: clock),
            progress: ProgressGate(signal: Signal()),
            open: { [pictures] (_, _) throws(MediaError) in pictures })
        stage = VideoStage(setting, pictures: pictures)
        _ = try stage.seek(to: .zero, aim: .exact)
        let start = TimebaseSegment(mediaAnchor: .zero, hostAnchor: clock.now, rate: 1)
        timebase.publish(TimebaseSnapshot(current: start, scheduled: nil, generation: 1))
    }

    /// Returns the times of the displayed frames until the media time reaches a number of seconds. The machine stalls
    /// once, at a number of seconds.
    private func shownTimes(untilSecond end: Double, stallAt stall: Double, for length: Duration) throws -> [Double] {
        var shown: [Double] = []
        var hasStalled = false
        while timebase.currentTime.seconds < end {
            if !hasStalled, timebase.currentTime.seconds >= stall {
                hasStalled = true
                clock.advance(by: length)
            }
            let step = try stage.step()
            if let time = layer.takeFrame(upTo: timebase.currentTime).picture?.presentationTime {
                shown.append(time.seconds)
            }
            if step != .moved { clock.advance(by: .milliseconds(5)) }
        }
        return shown
    }

    @Test func afterAStallFramesAreShownFromTheNextSyncFrameOn() throws {
        let shown = try shownTimes(untilSecond: 50, stallAt: 8, for: .seconds(4))
        let gaps = zip(shown, shown.dropFirst()).filter { $1 - $0 > 1 }
        #expect(gaps.map(\.1) == [20], "the sync frame at 10 s was late")
        let longest = zip(shown, shown.dropFirst()).filter { $0.0 >= 20 }.map { $1 - $0 }.max() ?? 60
        #expect(longest < 0.1 && shown.contains(20) && (shown.last ?? 0) > 49.8)
    }
}

/// Decodes a frame in 35 ms. Frames are returned after two further ones, as by a decoder that reorders; a third of them
/// are not referenced.
private final class SlowPictureDecoder: PictureDecoder {
    private let clock: ManualClock
    private let frame: MediaTime
    private var decoded: [SampleBuffer] = []
    private var delay = 2
    private var showFrom: MediaTime?
    var skipPolicy = SkipPolicy.full
    let decodeErrorCount = 0

    init(_ clock: ManualClock, frame: MediaTime) { (self.clock, self.frame) = (clock, frame) }

    func send(_ buffer: SampleBuffer) {
        guard let time = buffer.presentationTime else { return }
        let number = Int((time.seconds / frame.seconds).rounded())
        let isSync = buffer.flags.contains(.sync)
        if skipPolicy == .syncOnly, !isSync { return }
        if skipPolicy == .referencesOnly, !isSync, number % 3 == 2 { return }
        clock.advance(by: .milliseconds(35))
        decoded.append(NumberedPicture.buffer(number, every: frame))
    }

    func finish() { delay = 0 }

    func receive() -> SampleBuffer? {
        while decoded.count > delay {
            let next = decoded.removeFirst()
            if let showFrom, let end = next.end, end <= showFrom { continue }
            showFrom = nil
            return next
        }
        return nil
    }

    func flush() {
        decoded.removeAll()
        (showFrom, delay) = (nil, 2)
    }

    func dropFrames(before time: MediaTime) { showFrom = time }
}
