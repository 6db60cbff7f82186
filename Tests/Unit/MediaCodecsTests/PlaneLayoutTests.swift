import CFFmpeg
import MediaCore
import Testing

@testable import MediaCodecs

/// Plane layouts of pixel formats for upload to a graphics processor.
@Suite struct PlaneLayoutTests {
    private func layout(_ format: String) -> PlaneLayout? { PlaneLayout(av_get_pix_fmt(format)) }

    @Test func planarFilmsHaveThreePlanesWithASmallerPairForColours() throws {
        for (format, bits, depth) in [
            ("yuv420p", 8, 8), ("yuvj420p", 8, 8), ("yuv420p10le", 16, 10), ("yuv420p16le", 16, 16),
        ] {
            let layout = try #require(self.layout(format))
            #expect(layout.sampleBits == bits && layout.depth == depth && layout.shift == 0 && !layout.isRGB)
            #expect(
                layout.planes == [.init([0]), .init([1], halvedX: 1, halvedY: 1), .init([2], halvedX: 1, halvedY: 1)])
        }
        #expect(layout("yuv422p")?.planes[1] == .init([1], halvedX: 1))
        #expect(layout("yuv411p")?.planes[2] == .init([2], halvedX: 2))
        #expect(layout("yuv444p12le")?.planes[1] == .init([1]))
    }

    @Test func coloursThatLieTogetherAreNamedInTheirOrder() {
        #expect(layout("nv12") == PlaneLayout(.nv12))
        #expect(layout("nv21")?.planes[1] == .init([2, 1], halvedX: 1, halvedY: 1))
        // Ten bits in the high bits of sixteen.
        #expect(
            layout("p010le")
                == PlaneLayout(
                    planes: [.init([0]), .init([1, 2], halvedX: 1, halvedY: 1)], sampleBits: 16, depth: 10, shift: 6))
    }

    @Test func redGreenAndBlueAreFoundWhereverTheyLie() {
        #expect(layout("bgra") == PlaneLayout(planes: [.init([2, 1, 0, -1])], isRGB: true))
        #expect(layout("bgr0")?.planes == [.init([2, 1, 0, -1])])
        #expect(layout("argb")?.planes == [.init([-1, 0, 1, 2])])
        #expect(layout("rgb24")?.planes == [.init([0, 1, 2])])
        #expect(layout("rgb48le")?.sampleBits == 16)
        #expect(layout("gbrp")?.planes == [.init([1]), .init([2]), .init([0])])
    }

    @Test func alphaIsIgnored() {
        #expect(layout("yuva420p")?.planes == layout("yuv420p")?.planes)
        #expect(layout("ya8")?.planes == [.init([0, -1])])
        #expect(layout("gray10le")?.planes == [.init([0])])
    }

    @Test func whatIsNoWholeBytesInOneOrderIsLeftToTheConverter() {
        for format in [
            "pal8", "yuyv422", "uyvy422", "rgb565le", "x2rgb10le", "yuv420p10be", "gbrpf32le", "xyz12le", "monow",
            "vaapi", "bayer_rggb8",
        ] {
            #expect(layout(format) == nil, "\(format)")
        }
    }

    @Test func whatIsLeftOverAtAnEdgeHasColoursOfItsOwn() {
        let plane = PlaneLayout.Plane([1], halvedX: 1, halvedY: 1)
        #expect(plane.size(of: PixelSize(width: 127, height: 33)) == PixelSize(width: 64, height: 17))
    }
}
