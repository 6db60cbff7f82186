import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Images that outputs display for items.
@Suite struct ArtworkFinderTests {
    /// Components whose encoder writes the number of the frame after the signature of a JPEG.
    ///
    /// - Parameter delay: The number of frames that the decoder holds.
    private func parts(delay: Int) -> Player.Components {
        var parts = Player.Components(
            open: { (address, _) throws(MediaError) in try NumberedFilm(address, rate: 8000) },
            codecs: SyntheticCodecs(),
            makeDecoder: { (format) throws(MediaError) in try NumberedPictureDecoder(format, delay: delay) },
            audioOutput: nil)
        parts.encodeArtwork = { picture in
            (picture as? NumberedFrame).map { [0xFF, 0xD8, 0xFF, UInt8($0.number % NumberedFilm.spread)] }
        }
        return parts
    }

    /// Returns the number of the frame that is found for an item.
    private func frame(_ address: String, allowsFrame: Bool = true, delay: Int = 0) throws -> UInt8? {
        let media = PrefetchedMedia(try NumberedFilm(address, rate: 8000))
        return ArtworkFinder.find(in: media, parts: parts(delay: delay), allowsFrame: allowsFrame)?.bytes.last
    }

    @Test func aCoverIsFoundAlsoOnServersAndAFrameOfAFilmInFilesOnly() throws {
        #expect(try frame("1/8000/cover") == 0)
        #expect(try frame("1/8000/cover", allowsFrame: false) == 0)
        // A tenth of ten seconds: the sync frame at or before it.
        #expect(try frame("1/80000/25:1/250") == 24)
        #expect(try frame("1/80000/25:1/250", allowsFrame: false) == nil)
    }

    @Test func aDecoderThatReordersReturnsTheFirstFrameWithoutFurtherPackets() throws {
        // More than the longest search reads.
        #expect(try frame("1/800000/25:1/2500", delay: 2000) == 240)
    }

    @Test func whatCannotBeReadTwiceOrDecodedHasNoImage() throws {
        #expect(try frame("1/80000/25:1/250/once") == nil)
        #expect(try frame("1/8000/cover/broken") == nil)
    }

    @Test func outputsElsewhereDisplayTheImageOfTheItemThatPlays() throws {
        var options = PlayerOptions()
        options.loadsArtwork = true
        let queue = VirtualQueue(options)
        queue.core.apply(.append([QueueItem("1/16000/cover"), QueueItem("2/16000")]))
        queue.core.play()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        queue.run(for: .milliseconds(100))
        // These components cannot encode an image; the second item has none.
        #expect(queue.state.artwork == nil)
        let image = try #require(NowPlaying.Artwork([0xFF, 0xD8, 0xFF, 9]))
        queue.core.status.change { $0.artwork = image }
        queue.run(for: .milliseconds(100))
        #expect(queue.card.nowPlaying.last??.artwork == image)
        queue.run(for: .seconds(2))
        #expect(queue.state.current?.address == "2/16000")
        #expect(queue.card.nowPlaying.last??.artwork == nil)
    }
}
