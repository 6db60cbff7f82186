import MediaCore
import Testing

@testable import ScreenOutput

@Suite struct OverlayPainterTests {
    /// A bar says another time each second, and more; on a slow or busy computer it is drawn for longer than it is the newest.
    // feature: bar
    @Test(.timeLimit(.minutes(1))) func whatChangesFasterThanItIsDrawnIsSeenAllTheSame() {
        let painter = OverlayPainter(raising: nil)
        defer { painter.stop() }
        let area = PixelSize(width: 640, height: 360)
        let deadline = HostInstant.now.advanced(by: .seconds(20))
        var (number, drawn) = (0, OverlayPainter.Drawn?.none)
        while drawn == nil, HostInstant.now < deadline {
            number += 1
            let bar = ScreenBar(isPlaying: true, place: 0.5, time: "\(number)")
            painter.draw(OverlayPainter.Content(bar: bar), in: area)
            drawn = painter.take()
        }
        #expect(drawn?.barLayout != nil, "\(number) wishes")
        // What is in the making when all of it is to go is not shown any more.
        painter.draw(OverlayPainter.Content(bar: ScreenBar(isPlaying: true, place: 0.6, time: "x")), in: area)
        painter.draw(OverlayPainter.Content(), in: area)
        #expect(painter.take()?.images.isEmpty == true)
    }
}
