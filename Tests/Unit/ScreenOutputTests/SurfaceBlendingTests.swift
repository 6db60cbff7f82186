import CSDL
import MediaCore
import SyncRendering
import Testing

@testable import ScreenOutput

@Suite struct SurfaceBlendingTests {
    /// Windows of 16 bits, and of another byte order.
    @Test(arguments: [SDL_PIXELFORMAT_RGB565.rawValue, SDL_PIXELFORMAT_RGBA8888.rawValue].map { UInt32($0) })
    func anOverlayIsBlendedInOtherPixelFormats(format: UInt32) throws {
        let surface = try #require(SDL_CreateRGBSurfaceWithFormat(0, 4, 2, 32, format))
        defer { SDL_FreeSurface(surface) }
        SDL_FillRect(surface, nil, SDL_MapRGB(surface.pointee.format, 0, 0, 255))
        // Opaque red, half transparent and fully transparent; the last pixel is beyond the edge.
        let red: [UInt8] = [0, 0, 255]
        let pixels = red + [255] + red + [128] + red + [0] + red + [255]
        SurfacePresenter.blit(
            OverlayImage(rect: PixelRect(x: 1, y: 1, width: 4, height: 1), pixels: pixels), on: surface)
        let seen = try #require(
            SDL_ConvertSurfaceFormat(surface, UInt32(SDL_PIXELFORMAT_ARGB8888.rawValue), 0))
        defer { SDL_FreeSurface(seen) }
        let row = (seen.pointee.pixels + Int(seen.pointee.pitch)).assumingMemoryBound(to: UInt8.self)
        func color(_ column: Int) -> (blue: UInt8, red: UInt8) { (row[column * 4], row[column * 4 + 2]) }
        #expect(color(0) == (255, 0) && color(3) == (255, 0))
        #expect(color(1) == (0, 255))
        #expect((110...140).contains(color(2).blue) && (110...140).contains(color(2).red))
        let above = seen.pointee.pixels.assumingMemoryBound(to: UInt8.self)
        #expect((0..<4).allSatisfy { above[$0 * 4] == 255 && above[$0 * 4 + 2] == 0 })
    }
}
