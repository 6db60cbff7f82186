import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A video decoder that is too slow, always or after a stall of the machine, in virtual time.
@Suite struct LateDecodingTests {
    /// A film of a minute with a sync frame every ten seconds, decoded by a stage and shown by a presenter.
    private final class LateDecodingFixture {
        let clock = ManualClock()
        let layer = DisplayLayer(depth: 8)
        let events: EventLog
        private let synchronizer: RenderSynchronizer
        var timebase: Timebase { synchronizer.timebase }
        let decoder: SlowPictureDecoder
        let screen: VirtualScreen
        private let stage: VideoStage
        private let presenter: FramePresenter
        private(set) var dropped = 0
        /// The largest sum of shown and dropped frames, less those that existed by then.
        private(set) var excess = Int.min
        /// How late each frame was shown.
        private(set) var delays: [Duration] = []

        init(_ costs: SlowPictureDecoder.Costs) throws {
            let frame = MediaTime(value: 1, timescale: 25)
            let film = SyntheticFilm(duration: MediaTime(value: 60, timescale: 1), frame: frame, syncInterval: 250)
            let video = try #require(film.summary.track(.video))
            var list = PlaybackList()
            _ = list.apply(.append([QueueItem("film")]))
            let entry = PlaybackList.ScheduledItem(
                serial: list.newSerial(), listPosition: try #require(list.firstPosition()),
                media: PrefetchedMedia(film), audioTrack: nil, videoTrack: video)
            list.begin(with: entry)
            let (made, shared) = (list, SharedPlaybackList())
            shared.restart { $0 = made }
            events = EventLog(clock: clock)
            synchronizer = RenderSynchronizer(clock: clock, events: events)
            synchronizer.addRenderer(layer)
            screen = VirtualScreen(clock: clock)
            decoder = SlowPictureDecoder(clock, frame: frame, costs)
            let reader = VideoReader(film: film, source: film.source(for: video), decoder: decoder)
            let setting = VideoStage.Setting(
                list: shared, layer: layer, progress: ProgressGate(signal: Signal()),
                open: { [reader] (_, _) throws(MediaError) in reader })
            stage = VideoStage(setting, reader: reader)
            presenter = FramePresenter(
                layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
            _ = try stage.seek(to: .zero, aim: .exact)
            // The first frame is shown while the timeline is stopped.
            while layer.count == 0 { _ = try stage.step() }
            _ = presenter.step()
            let start = TimebaseSegment(mediaAnchor: .zero, hostAnchor: clock.now, rate: 1)
            timebase.publish(TimebaseSnapshot(current: start, scheduled: nil, generation: 1))
        }

        /// Plays until the media time reaches a number of seconds; returns the times of the frames shown meanwhile. The
        /// machine stalls once, at a number of seconds.
        func play(untilSecond end: Double, stallAt stall: Double = .infinity, for length: Duration = .zero) throws
            -> [Double]
        {
            let before = screen.shown.count
            var hasStalled = false
            while timebase.currentTime.seconds < end {
                if !hasStalled, timebase.currentTime.seconds >= stall {
                    hasStalled = true
                    clock.advance(by: length)
                }
                let step = try stage.step()
                if step != .moved { clock.advance(by: .milliseconds(5)) }
                // The screen's thread is not delayed by the decoder's: frames decoded meanwhile are shown when due.
                while case .at(let instant) = presenter.step(), instant <= clock.now {}
                note()
            }
            return screen.shown.dropFirst(before).map { Double($0.number) / 25 }
        }

        private func note() {
            while let entry = events.removeFirst() {
                switch entry.event {
                case .framesDropped(let count, _, _): dropped += count
                case .frame(_, let target, let presented): delays.append(presented - target)
                default: break
                }
            }
            excess = max(excess, delays.count + dropped - (Int(timebase.currentTime.seconds * 25 + 0.001) + 1))
        }
    }

    @Test func afterAStallFramesAreShownFromTheNextSyncFrameOn() throws {
        let rig = try LateDecodingFixture(SlowPictureDecoder.Costs(decoding: .milliseconds(35)))
        let shown = try rig.play(untilSecond: 50, stallAt: 8, for: .seconds(4))
        let gaps = zip(shown, shown.dropFirst()).filter { $1 - $0 > 1 }
        #expect(gaps.map(\.1) == [20], "the sync frame at 10 s was late")
        let longest = zip(shown, shown.dropFirst()).filter { $0.0 >= 20 }.map { $1 - $0 }.max() ?? 60
        #expect(longest < 0.1 && shown.contains(20) && (shown.last ?? 0) > 49.8)
    }

    @Test func aDecoderThatSkipsShowsFramesAgainBeforeTheNextSyncFrame() throws {
        let rig = try LateDecodingFixture(SlowPictureDecoder.Costs(decoding: .milliseconds(20), canSkip: true))
        let shown = try rig.play(untilSecond: 30, stallAt: 8, for: .seconds(2))
        let gaps = zip(shown, shown.dropFirst()).filter { $1 - $0 > 0.1 }
        #expect(gaps.count == 1 && gaps.allSatisfy { $0 < 8.4 && $1 < 14 }, "\(gaps)")
        #expect(rig.delays.allSatisfy { $0 <= .milliseconds(40) })
        #expect(rig.excess <= 0)
    }

    @Test func ifDecodingAndConversionAreTooSlowTheConversionIsFastBeforeFramesAreDropped() throws {
        let rig = try LateDecodingFixture(
            SlowPictureDecoder.Costs(
                decoding: .milliseconds(28), conversion: .milliseconds(16), fastConversion: .milliseconds(4)))
        let shown = try rig.play(untilSecond: 40)
        #expect(rig.dropped == 0 && shown.count >= 39 * 25)
        #expect(rig.decoder.fastCount > 200 && rig.decoder.preciseCount > 200)
        #expect(rig.decoder.skipPolicy == .full)
    }

    @Test func aFastMachineConvertsPrecisely() throws {
        let rig = try LateDecodingFixture(
            SlowPictureDecoder.Costs(
                decoding: .milliseconds(8), conversion: .milliseconds(8), fastConversion: .milliseconds(2)))
        _ = try rig.play(untilSecond: 20)
        // While the queue fills after the start.
        #expect(rig.decoder.fastCount <= 8 && rig.decoder.preciseCount > 450, "\(rig.decoder.fastCount) fast")
        #expect(rig.dropped == 0)
    }

    @Test func aConversionOfSeveralFramesDurationShowsFewerFramesInTime() throws {
        let rig = try LateDecodingFixture(
            SlowPictureDecoder.Costs(
                decoding: .milliseconds(10), conversion: .milliseconds(150), fastConversion: .milliseconds(90),
                canSkip: true))
        let shown = try rig.play(untilSecond: 30)
        #expect(rig.delays.allSatisfy { $0 <= .milliseconds(40) }, "\(rig.delays.max() ?? .zero)")
        #expect(shown.count > 30 * 3, "\(shown.count)")
        #expect(rig.excess <= 0 && rig.decoder.skipPolicy > .syncOnly)
    }

    /// Two thirds of the frames can be decoded in time, or none but sync frames.
    @Test(arguments: [50, 90]) func aFrameIsShownInTimeOrCountedAsDroppedOnce(decoding: Int) throws {
        let rig = try LateDecodingFixture(
            SlowPictureDecoder.Costs(
                decoding: .milliseconds(decoding), conversion: .milliseconds(8), fastConversion: .milliseconds(3),
                canSkip: true))
        let shown = try rig.play(untilSecond: 50)
        #expect(rig.delays.allSatisfy { $0 <= .milliseconds(40) }, "\(rig.delays.max() ?? .zero)")
        #expect(rig.excess <= 0)
        #expect(shown.count > (decoding < 60 ? 500 : 5))
        let missing = 50 * 25 - shown.count - rig.dropped
        #expect((0...260).contains(missing), "\(missing) frames are neither shown nor counted")
    }
}

/// Decodes with fixed costs. Frames are returned after two further ones, as by a decoder that reorders; a third of them
/// are not referenced.
private final class SlowPictureDecoder: VideoFrameDecoder {
    struct Costs {
        var decoding: Duration
        /// The cost of a frame that is returned.
        var conversion = Duration.zero
        var fastConversion = Duration.zero
        /// Whether it skips forward: frames before the target are not converted, nor decoded if not referenced.
        var canSkip = false
    }

    private let clock: ManualClock
    private let frame: MediaTime
    private let costs: Costs
    private var decoded: [SampleBuffer] = []
    private var delay = 2
    private var showFrom: MediaTime?
    private var skipsTo: MediaTime?
    private(set) var fastCount = 0
    private(set) var preciseCount = 0
    var skipPolicy = SkipPolicy.full
    var prefersFastConversion = false
    let decodeErrorCount = 0

    init(_ clock: ManualClock, frame: MediaTime, _ costs: Costs) {
        (self.clock, self.frame, self.costs) = (clock, frame, costs)
    }

    func send(_ buffer: SampleBuffer) {
        guard let time = buffer.presentationTime else { return }
        let number = Int((time.seconds / frame.seconds).rounded())
        let isSync = buffer.flags.contains(.sync)
        if skipPolicy == .syncOnly, !isSync { return }
        let needsAll = skipPolicy > .referencesOnly && !(skipsTo.map { time < $0 } ?? false)
        if !needsAll, !isSync, number % 3 == 2 { return }
        clock.advance(by: costs.decoding)
        decoded.append(NumberedFrame.buffer(number, every: frame))
    }

    func finish() { delay = 0 }

    func receive() -> SampleBuffer? {
        while decoded.count > delay {
            let next = decoded.removeFirst()
            if let showFrom, let end = next.end, end <= showFrom { continue }
            (showFrom, skipsTo) = (nil, nil)
            clock.advance(by: prefersFastConversion ? costs.fastConversion : costs.conversion)
            if prefersFastConversion { fastCount += 1 } else { preciseCount += 1 }
            return next
        }
        return nil
    }

    func flush() {
        decoded.removeAll()
        (showFrom, skipsTo, delay) = (nil, nil, 2)
    }

    func dropFrames(before time: MediaTime) { showFrom = time }

    func skipForward(to time: MediaTime) -> Bool {
        guard costs.canSkip else { return false }
        (showFrom, skipsTo) = (time, time)
        return true
    }
}
