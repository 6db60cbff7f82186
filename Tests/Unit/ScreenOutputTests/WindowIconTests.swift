import Testing

@testable import ScreenOutput

@Suite struct WindowIconTests {
    @Test func theIconIsOpaqueInTheMiddleClearInTheCornersAndSmoothBetween() {
        let pixels = WindowIcon.pixels
        #expect(pixels.count == WindowIcon.side * WindowIcon.side * 4)
        func opacity(_ x: Int, _ y: Int) -> UInt8 { pixels[(y * WindowIcon.side + x) * 4 + 3] }
        #expect(opacity(32, 26) == 255 && opacity(0, 0) == 0 && opacity(63, 63) == 0)
        #expect(pixels.indices.contains { $0 % 4 == 3 && pixels[$0] > 0 && pixels[$0] < 255 })
    }
}
