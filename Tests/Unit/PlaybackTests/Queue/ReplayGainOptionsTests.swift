import Foundation
import MediaCore
import Testing

@testable import Playback

@Suite struct ReplayGainOptionsTests {
    private let tags = ReplayGain(
        track: ReplayGain.Level(gain: 6, peak: 0.8), album: ReplayGain.Level(gain: -6, peak: 1))

    private func decibels(_ tags: ReplayGain?, _ change: (inout ReplayGainOptions) -> Void) -> Double {
        var options = ReplayGainOptions()
        change(&options)
        return (20 * log10(Double(options.gain(for: tags))) * 100).rounded() / 100
    }

    @Test func withoutAWordNothingChanges() {
        #expect(ReplayGainOptions().gain(for: tags) == 1)
        #expect(!ReplayGainOptions().isActive)
    }

    @Test func theAlbumIsAskedFirstAndThenTheTrack() {
        #expect(decibels(tags) { $0.mode = .album } == -6)
        #expect(decibels(ReplayGain(track: tags.track)) { ($0.mode, $0.mayClip) = (.album, true) } == 6)
        #expect(decibels(ReplayGain(album: tags.album)) { ($0.mode, $0.fallback) = (.track, -2) } == -2)
    }

    @Test func theGainIsLoweredUntilTheHighestSampleIsFullScale() {
        #expect(decibels(tags) { $0.mode = .track } == 1.94)
        #expect(decibels(tags) { ($0.mode, $0.mayClip) = (.track, true) } == 6)
        #expect(decibels(tags) { ($0.mode, $0.mayClip, $0.preamp) = (.track, true, 2.5) } == 8.5)
    }

    @Test func theFallbackIsForWhatHasNoTagsAndAlsoWhenNoneAreAskedFor() {
        #expect(decibels(nil) { ($0.mode, $0.fallback, $0.preamp) = (.track, -4, 3) } == -4)
        #expect(decibels(tags) { $0.fallback = -4 } == -4)
    }
}
