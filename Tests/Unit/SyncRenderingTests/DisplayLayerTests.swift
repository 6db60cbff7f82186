import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct DisplayLayerTests {
    private static let frame = MediaTime(value: 1, timescale: 25)

    private func layer(_ numbers: Range<Int>, depth: Int = 8) -> DisplayLayer {
        let layer = DisplayLayer(depth: depth)
        for number in numbers { layer.enqueue(NumberedFrame.buffer(number, every: Self.frame)) }
        return layer
    }

    @Test func aFlushFromATimeTakesWhatBeginsThereAndKeepsWhatComesBefore() {
        let layer = layer(0..<8)
        #expect(layer.flush(fromSourceTime: Self.frame * 5) == 3)
        #expect(layer.waitingTimes == (0..<5).map { Self.frame * Int64($0) })
        // Within a frame: that frame is shown up to there.
        #expect(layer.flush(fromSourceTime: MediaTime(value: 7, timescale: 50)) == 1)
        #expect(layer.waitingTimes == (0..<4).map { Self.frame * Int64($0) })
        var last: SampleBuffer?
        while let picture = layer.dequeueFrame(upTo: Self.frame * 9).frame { last = picture }
        #expect(last?.end == MediaTime(value: 7, timescale: 50))
        #expect(layer.flush(fromSourceTime: .zero) == 0)
    }

    @Test func aFlushFromATimeMakesRoomAndSaysSo() {
        let layer = layer(0..<8)
        let room = Signal()
        layer.requestMediaData(raising: room)
        room.clear()
        #expect(!layer.isReadyForMoreMediaData)
        layer.finish()
        layer.flush(fromSourceTime: Self.frame * 6)
        #expect(room.wait(until: .now))
        #expect(!room.wait(until: .now), "said once")
        #expect(layer.isReadyForMoreMediaData)
        // The end of the stream was flushed too.
        _ = layer.dequeueFrame(upTo: Self.frame * 9)
        #expect(!layer.isDrained)
        layer.flush(fromSourceTime: Self.frame * 5)
        #expect(!room.wait(until: .now))
    }

    @Test func aPictureThatTakesThePlaceOfAPreparedOneIsTheOneThatIsShown() {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = layer(0..<2)
        synchronizer.add(layer)
        let screen = VirtualScreen(clock: clock)
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: screen, events: EventLog(clock: clock))
        _ = presenter.step()
        synchronizer.setRate(1, time: .zero)
        // The second frame has been converted and waits for its presentation time.
        clock.advance(by: .milliseconds(30))
        _ = presenter.step()
        layer.flush(fromSourceTime: Self.frame)
        layer.enqueue(
            SampleBuffer(payload: .videoFrame(NumberedFrame(7)), presentationTime: Self.frame, duration: Self.frame))
        for _ in 0..<20 {
            clock.advance(by: .milliseconds(1))
            _ = presenter.step()
        }
        #expect(screen.shown.map(\.number) == [0, 7])
    }

    @Test func aStartWaitsForTheScreenThatWillShowTheFirstFrame() {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = layer(0..<2)
        synchronizer.addRenderer(layer)
        #expect(layer.startWait == nil, "no screen shows it")
        layer.addScreen()
        #expect(layer.startWait?.cause == .video)
        synchronizer.setRate(1, time: .zero)
        #expect(synchronizer.pendingStart != nil)
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: VirtualScreen(clock: clock),
            events: EventLog(clock: clock))
        #expect(layer.isAwaitingScreen)
        _ = presenter.step()
        #expect(synchronizer.pendingStart == nil)
        #expect(synchronizer.timebase.snapshot.upcoming.rate == 1)
        layer.flush()
        layer.enqueue(NumberedFrame.buffer(3, every: Self.frame))
        #expect(layer.startWait?.cause == .video, "the window shows the previous film")
        synchronizer.setRate(1, time: .zero)
        #expect(synchronizer.pendingStart != nil)
        presenter.leave()
        layer.removeScreen()
        #expect(synchronizer.pendingStart == nil, "no screen is left")
    }
}
