import MediaCore
import SyncRendering
import Testing

@Suite struct NowPlayingTests {
    @Test func artworkIsAJPEGOrAPNGOfABoundedSize() {
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        #expect(NowPlaying.Artwork(jpeg)?.format == .jpeg)
        #expect(NowPlaying.Artwork(png)?.format == .png)
        #expect(NowPlaying.Artwork([]) == nil)
        #expect(NowPlaying.Artwork(Array("GIF89a".utf8)) == nil)
        let rest = [UInt8](repeating: 0, count: NowPlaying.Artwork.maxBytes - 4)
        #expect(NowPlaying.Artwork(jpeg + rest) != nil)
        #expect(NowPlaying.Artwork(jpeg + rest + [0]) == nil)
    }

    @Test func elapsedTimeIsWithinTheItem() {
        func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }
        let item = NowPlaying(title: "Film", duration: seconds(60), start: seconds(10))
        #expect(item.elapsed(at: seconds(25)) == seconds(15))
        #expect(item.elapsed(at: seconds(9)) == .zero)
        #expect(item.elapsed(at: seconds(71)) == seconds(60))
        #expect(NowPlaying(title: "Live", start: seconds(10)).elapsed(at: seconds(100)) == seconds(90))
    }
}
