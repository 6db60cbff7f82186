import AirPlayWire
import MediaCore
import SyncRendering
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct NowPlayingUpdatesTests {
    private static let every: FeatureBits = [.textMetadata, .progress, .artwork]
    private let cover = NowPlaying.Artwork([0xFF, 0xD8, 0xFF, 1])
    private let film = NowPlaying(
        title: "Film", artist: "Studio", album: "Album", genre: "Drama", trackNumber: 3,
        duration: MediaTime(value: 100, timescale: 1),
        start: MediaTime(value: -10, timescale: 1))

    private func updates(_ features: FeatureBits = every) -> NowPlayingUpdates {
        NowPlayingUpdates(shown: NowPlaying(title: "Talkie"), at: RTPTimestamp(rawValue: 7), features: features)
    }

    /// Returns the due requests at a position in seconds, with RTP timestamps of 1 kHz that begin at 100,000.
    private func due(
        _ updates: inout NowPlayingUpdates, _ item: NowPlaying, _ line: NowPlayingUpdates.PlaybackState,
        at position: Int64
    ) -> [NowPlayingUpdates.Request] {
        var requests: [NowPlayingUpdates.Request] = []
        while requests.count < 9,
            let request = updates.next(
                item, on: line, position: MediaTime(value: position, timescale: 1),
                rate: { if case .playing = line { 1 } else { 0 } }(),
                timestamp: RTPTimestamp(rawValue: UInt32(100_000 + 1000 * position)), sampleRate: 1000)
        {
            requests.append(request)
        }
        return requests
    }

    private func progress(_ start: UInt32, _ now: UInt32, _ end: UInt32) -> NowPlayingUpdates.Request {
        .progress(
            start: RTPTimestamp(rawValue: start), now: RTPTimestamp(rawValue: now), end: RTPTimestamp(rawValue: end))
    }

    @Test func aStartSendsTextProgressAndArtworkOnce() {
        var updates = updates()
        var item = film
        item.artwork = cover
        let requests = due(&updates, item, .playing(anchor: 1), at: 5)
        guard requests.count == 3, case .text(let text, let moment) = requests[0] else {
            Issue.record("\(requests)")
            return
        }
        #expect(text.title == "Film" && text.artist == "Studio" && text.album == "Album")
        #expect(text.genre == "Drama" && text.trackNumber == 3)
        #expect(moment.rawValue == 105_000)
        // 15 s of the item have elapsed, 85 s follow.
        #expect(requests[1] == progress(90_000, 105_000, 190_000))
        #expect(requests[2] == .artwork(cover, at: moment))
        // Time alone is no reason to send anything.
        #expect(due(&updates, item, .playing(anchor: 1), at: 50) == [])
    }

    @Test func pauseSeekResumeAndNextItemSendTheProgressAgain() {
        var updates = updates()
        _ = due(&updates, film, .playing(anchor: 1), at: 5)
        let pause = MediaTime(value: 6, timescale: 1)
        #expect(due(&updates, film, .stopped(at: pause), at: 6) == [progress(90_000, 106_000, 190_000)])
        #expect(due(&updates, film, .stopped(at: pause), at: 6) == [])
        let target = MediaTime(value: 30, timescale: 1)
        #expect(due(&updates, film, .stopped(at: target), at: 30) == [progress(90_000, 130_000, 190_000)])
        #expect(due(&updates, film, .playing(anchor: 2), at: 30) == [progress(90_000, 130_000, 190_000)])
        var next = NowPlaying(title: "Next", start: MediaTime(value: 90, timescale: 1))
        let requests = due(&updates, next, .playing(anchor: 2), at: 91)
        // The end of a live stream is unknown.
        #expect(requests.count == 2 && requests.last == progress(190_000, 191_000, 191_000), "\(requests)")
        next.start = .zero
        #expect(due(&updates, next, .playing(anchor: 2), at: 92).count == 1)
    }

    @Test func artworkWaitsForPlaybackAndIsRemovedWithItsItem() {
        var updates = updates()
        var item = film
        item.artwork = cover
        let stopped = due(&updates, item, .stopped(at: .zero), at: 0)
        #expect(!stopped.contains { if case .artwork = $0 { true } else { false } })
        #expect(
            due(&updates, item, .playing(anchor: 1), at: 1).last == .artwork(cover, at: RTPTimestamp(rawValue: 100_000))
        )
        let removed = due(&updates, NowPlaying(title: "Next"), .playing(anchor: 1), at: 2)
        #expect(removed.last == .artwork(nil, at: RTPTimestamp(rawValue: 102_000)))
    }

    @Test func aSpeakerGetsTheKindsThatItWantsAndHasNotRefused() {
        var updates = updates([])
        var item = film
        item.artwork = cover
        let requests = due(&updates, item, .playing(anchor: 1), at: 1)
        guard requests.count == 1, case .text = requests[0] else {
            Issue.record("\(requests)")
            return
        }
        var refusing = self.updates()
        for request in due(&refusing, item, .playing(anchor: 1), at: 1) { refusing.recordRefusal(of: request) }
        #expect(due(&refusing, film, .playing(anchor: 2), at: 2) == [])
        #expect(due(&refusing, NowPlaying(title: "Next"), .playing(anchor: 2), at: 2).count == 1)
    }

    @Test func propertyListsSayTheSameToSpeakersThatReadThem() {
        var updates = updates([.nowPlayingPropertyList])
        var item = film
        item.artwork = cover
        func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }
        let paused = due(&updates, item, .stopped(at: seconds(5)), at: 5)
        var plain = film
        plain.start = .zero
        let identifier = RTPTimestamp(rawValue: 105_000)
        #expect(
            paused.dropFirst() == [
                .item(plain, elapsed: seconds(15), rate: 0, at: identifier), .state(isPlaying: false), .commands,
            ])
        var shown = plain
        shown.artwork = cover
        #expect(
            due(&updates, item, .playing(anchor: 1), at: 5) == [
                .item(shown, elapsed: seconds(15), rate: 1, at: identifier), .state(isPlaying: true),
            ])
        #expect(due(&updates, item, .playing(anchor: 1), at: 50) == [])
        #expect(
            due(&updates, item, .stopped(at: seconds(50)), at: 50) == [
                .position(elapsed: seconds(60), rate: 0), .state(isPlaying: false),
            ])
        // The next item has no image until it plays.
        let next = due(&updates, NowPlaying(title: "Next"), .stopped(at: seconds(50)), at: 50)
        #expect(
            next.dropFirst().first
                == .item(
                    NowPlaying(title: "Next"), elapsed: seconds(50), rate: 0, at: RTPTimestamp(rawValue: 150_000)))
        updates.recordRefusal(of: .commands)
        #expect(due(&updates, film, .playing(anchor: 2), at: 51).count == 1)
    }

    @Test func shairportSyncReadsProgressAndArtworkWhateverItStates() {
        var updates = NowPlayingUpdates(
            shown: film, at: RTPTimestamp(rawValue: 7), features: [.nowPlayingPropertyList], readsAll: true)
        var item = film
        item.artwork = cover
        let requests = due(&updates, item, .playing(anchor: 1), at: 5)
        #expect(
            requests.prefix(2) == [progress(90_000, 105_000, 190_000), .artwork(cover, at: RTPTimestamp(rawValue: 7))])
        #expect(requests.count == 5)
    }
}
