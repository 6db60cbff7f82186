import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A part of a film that is repeated (mpv's A-B loop), in virtual time.
@Suite struct SectionTests {
    private func second(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    /// 25 pictures a second.
    private func cinema(lasting length: Int64 = 20) -> VirtualCinema {
        let film = SyntheticFilm(
            duration: second(length), frame: MediaTime(value: 1, timescale: 25), sampleRate: 3000, syncInterval: 50)
        let cinema = VirtualCinema(film: film, sampleRate: 3000)
        cinema.run(for: .milliseconds(1200))
        return cinema
    }

    @Test func playGoesBackExactlyWhereTheEndIsPassedAndNoPictureBehindItIsShown() {
        let cinema = cinema()
        cinema.core.setRepeatedSection(MediaTimeRange(start: second(2), end: second(4)))
        cinema.run(for: .seconds(9))
        let shown = cinema.shown
        #expect(shown.allSatisfy { $0 <= 100 }, "\(shown.max() ?? 0)")
        let starts = shown.indices.dropFirst().filter { shown[$0] == 50 }
        #expect(starts.count >= 3)
        // The first picture behind each jump is the section's first.
        let jumps = shown.indices.dropFirst().filter { shown[$0] < shown[$0 - 1] }
        #expect(!jumps.isEmpty && jumps.allSatisfy { shown[$0] == 50 && shown[$0 - 1] >= 98 })
        cinema.core.setRepeatedSection(nil)
        cinema.run(for: .seconds(4))
        #expect((cinema.shown.last ?? 0) > 100)
    }

    @Test func whoeverWindsPastTheEndIsLetGoAndWhoeverComesBackRepeats() {
        let cinema = cinema()
        cinema.core.setRepeatedSection(MediaTimeRange(start: second(2), end: second(4)))
        cinema.core.seek(to: second(6), exact: true)
        cinema.run(for: .seconds(2))
        #expect((cinema.shown.last ?? 0) > 160)
        cinema.core.seek(to: second(3), exact: true)
        cinema.run(for: .seconds(3))
        #expect((50...100).contains(cinema.shown.last ?? 0))
    }

    @Test func anEndBehindTheFilmsEndIsTheFilmsEnd() {
        let cinema = cinema(lasting: 4)
        cinema.core.setRepeatedSection(MediaTimeRange(start: second(2), end: second(60)))
        cinema.run(for: .seconds(8))
        #expect(cinema.phase != .ended)
        #expect((cinema.shown.last ?? 0) >= 50)
    }

    @Test func aSectionBehindTheFilmsEndRepeatsNothing() {
        let cinema = cinema(lasting: 3)
        cinema.core.setRepeatedSection(MediaTimeRange(start: second(50), end: second(60)))
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(5)))
    }
}
