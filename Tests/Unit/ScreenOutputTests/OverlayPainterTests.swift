import MediaCore
import Testing

@testable import ScreenOutput

@Suite struct OverlayPainterTests {
    /// The text of a bar changes every second and more often; on a slow or busy computer drawing takes longer than a
    /// state is current.
    // feature: bar
    @Test(.timeLimit(.minutes(10))) func whatChangesFasterThanItIsDrawnIsSeenAllTheSame() {
        let painter = OverlayPainter(raising: nil)
        defer { painter.stop() }
        let area = PixelSize(width: 640, height: 360)
        let deadline = HostInstant.now.advanced(by: .seconds(20))
        var (number, drawn) = (0, OverlayPainter.Drawn?.none)
        while drawn == nil, HostInstant.now < deadline {
            number += 1
            let bar = ScreenBar(isPlaying: true, position: 0.5, time: "\(number)")
            painter.draw(OverlayPainter.Content(bar: bar), in: area)
            drawn = painter.consumeResult()
        }
        #expect(drawn?.barLayout != nil, "\(number) wishes")
        // A drawing in progress is not shown after everything was hidden.
        painter.draw(OverlayPainter.Content(bar: ScreenBar(isPlaying: true, position: 0.6, time: "x")), in: area)
        painter.draw(OverlayPainter.Content(), in: area)
        #expect(painter.consumeResult()?.images.isEmpty == true)
    }

    @Test(.timeLimit(.minutes(10))) func aPainterWithoutMemorySaysWhyNoWordsAreShown() throws {
        let done = try PollableSignal()
        let painter = OverlayPainter(raising: done, makePainter: { nil })
        defer { painter.stop() }
        painter.draw(OverlayPainter.Content(mark: "x"), in: PixelSize(width: 64, height: 36))
        _ = done.wait(until: HostInstant.now.advanced(by: .seconds(30)))
        #expect(painter.consumeProblem()?.hasSuffix("no text is shown over the film") == true)
        #expect(painter.consumeProblem() == nil)
    }
}
