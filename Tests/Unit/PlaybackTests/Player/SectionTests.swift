import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A repeated section of a film (mpv's A-B loop), in virtual time.
@Suite struct SectionTests {
    private func second(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    /// 25 frames per second.
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
        // The first frame after each seek is the section's first.
        let jumps = shown.indices.dropFirst().filter { shown[$0] < shown[$0 - 1] }
        #expect(!jumps.isEmpty && jumps.allSatisfy { shown[$0] == 50 && shown[$0 - 1] >= 98 })
        cinema.core.setRepeatedSection(nil)
        cinema.run(for: .seconds(4))
        #expect((cinema.shown.last ?? 0) > 100)
    }

    @Test func aSeekPastTheSectionLeavesItAndASeekBackRepeatsIt() {
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

    // MARK: Gapless

    /// 250 frames, ten seconds.
    private func programme(
        _ film: CountedFilm = CountedFilm(1), depth: Duration = .seconds(1), recallLead: Duration? = .milliseconds(50)
    ) -> VirtualProgramme {
        let programme = VirtualProgramme(["film": film], first: "film", depth: depth)
        programme.tape.recallLead = recallLead
        programme.run(for: .milliseconds(1100))
        return programme
    }

    private func section(_ start: Double, _ end: Double) -> MediaTimeRange {
        MediaTimeRange(
            start: MediaTime(seconds: start, preferredTimescale: 1000),
            end: MediaTime(seconds: end, preferredTimescale: 1000))
    }

    /// Expects exactly these parts of the film in seconds, to the sample and the frame; the last one may be truncated.
    private func expect(
        _ parts: [ClosedRange<Double>], of programme: VirtualProgramme,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let tape = programme.tape
        #expect(tape.doubled == 0 && tape.blanks == 0 && tape.takes.isEmpty, sourceLocation: sourceLocation)
        #expect(programme.dropped == 0, sourceLocation: sourceLocation)
        let sounds = parts.map {
            (
                sound: 1,
                frames: Int64(($0.lowerBound * 48_000).rounded())..<Int64(($0.upperBound * 48_000).rounded())
            )
        }
        #expect(tape.tape.span > sounds.reduce(0) { $0 + $1.frames.count } * 3 / 4, sourceLocation: sourceLocation)
        #expect(tape.tape.firstMismatch(with: sounds) == nil, sourceLocation: sourceLocation)
        let pictures = parts.flatMap {
            Int(($0.lowerBound * 25).rounded(.down))..<Int(($0.upperBound * 25).rounded(.up))
        }
        let shown = programme.numbers.map { ($0 ?? -1) % 1_000_000 }
        #expect(shown.count > pictures.count * 3 / 4, sourceLocation: sourceLocation)
        #expect(shown == Array(pictures.prefix(shown.count)), sourceLocation: sourceLocation)
        // On one timeline: no frame was delayed.
        let instants = programme.shown.dropFirst().map(\.presented)
        let longest = zip(instants, instants.dropFirst()).map { ($1 - $0).inMilliseconds }.max() ?? 0
        #expect(longest < 40.5, sourceLocation: sourceLocation)
        let waits = programme.playerEvents.filter { if case .phase(.buffering) = $0 { true } else { false } }.count
        #expect(waits == 1, sourceLocation: sourceLocation)
    }

    @Test(arguments: [Duration.milliseconds(300), .seconds(1), .seconds(4)])
    func theEndJoinsTheBeginningToTheSampleAndThePicture(_ depth: Duration) {
        // With a depth of four seconds, audio beyond the end was already sent, and is flushed.
        let programme = programme(depth: depth)
        programme.core.setRepeatedSection(section(2, 4))
        programme.run(for: .seconds(8))
        expect([0...4, 2...4, 2...4, 2...4, 2...4], of: programme)
        #expect((2.0...4.0).contains(programme.state.position.seconds))
    }

    @Test func afterTheLoopEndsPlaybackContinuesBehindIt() {
        let programme = programme()
        programme.core.setRepeatedSection(section(2, 4))
        programme.run(for: .seconds(4))
        programme.core.setRepeatedSection(nil)
        programme.run(for: .seconds(4))
        expect([0...4, 2...4, 4...10], of: programme)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(programme.numbers.last == 1_000_249)
    }

    @Test func anEarlierEndAndALaterOneFollowWithoutASeam() {
        let programme = programme()
        programme.core.setRepeatedSection(section(2, 6))
        programme.run(for: .milliseconds(500))
        programme.core.setRepeatedSection(section(1, 3))
        programme.run(for: .seconds(2))
        // A new start for the next pass, and a later end, which is reached by playing what is in between.
        programme.core.setRepeatedSection(section(2.5, 5))
        programme.run(for: .seconds(5))
        expect([0...3, 1...3, 3...5, 2.5...5], of: programme)
    }

    @Test func aSectionSetWhilePausedAppliesOnResume() {
        let programme = programme()
        programme.core.pause()
        programme.run(for: .milliseconds(500))
        programme.core.setRepeatedSection(section(0.4, 1.6))
        programme.run(for: .milliseconds(500))
        programme.core.play()
        programme.run(for: .seconds(3))
        #expect(programme.tape.doubled == 0 && programme.tape.blanks == 0)
        let shown = programme.numbers.map { ($0 ?? -1) % 1_000_000 }
        #expect(shown.max() == 39)
        #expect(shown.filter { $0 == 10 }.count >= 2)
    }

    @Test func aSeekInsideASectionStaysInItAndASeekOutsideLeavesIt() {
        let programme = programme()
        programme.core.setRepeatedSection(section(2, 4))
        programme.run(for: .seconds(1))
        programme.core.seek(to: second(3), exact: true)
        programme.run(for: .seconds(3))
        #expect((2.0...4.0).contains(programme.state.position.seconds))
        programme.core.seek(by: second(5), exact: true)
        programme.run(for: .seconds(1))
        #expect(programme.state.position.seconds > 7)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(10)))
    }

    /// If audio beyond the end cannot be flushed, or the input cannot be read at two positions, the repetition is a
    /// seek with the same exact position.
    @Test(arguments: [true, false]) func whatCannotJoinGoesBackWithAJump(_ sharesReader: Bool) {
        let programme = programme(
            CountedFilm(1, sharesReader: sharesReader), depth: .seconds(4),
            recallLead: sharesReader ? .milliseconds(50) : nil)
        programme.core.setRepeatedSection(section(2, 4))
        programme.run(for: .seconds(6))
        let shown = programme.numbers.map { ($0 ?? -1) % 1_000_000 }
        let jumps = shown.indices.dropFirst().filter { shown[$0] < shown[$0 - 1] }
        #expect(!jumps.isEmpty && jumps.allSatisfy { shown[$0] == 50 && (98...100).contains(shown[$0 - 1]) })
        #expect(shown.max() ?? 0 <= 100)
    }

    /// The position at which playback starts is the end: the section starts, whether or not it repeats gaplessly.
    @Test(arguments: [true, false], [true, false])
    func anEndAtTheTargetOfASeekIsPassedAtOnce(isPaused: Bool, sharesReader: Bool) {
        let programme = programme(CountedFilm(1, sharesReader: sharesReader))
        if isPaused { programme.core.pause() }
        programme.core.seek(to: second(8), exact: true)
        if isPaused { programme.run(for: .milliseconds(500)) }
        programme.core.setRepeatedSection(section(2, 8))
        programme.core.play()
        programme.run(for: .seconds(3))
        #expect(programme.phase == .playing && (3.0..<8.0).contains(programme.state.position.seconds))
        #expect((75..<200).contains((programme.numbers.last ?? nil).map { $0 % 1_000_000 } ?? -1))
    }

    @Test func anEmptySectionRepeatsNothing() {
        let programme = programme()
        programme.core.setRepeatedSection(section(2, 2))
        programme.run(for: .milliseconds(4500))
        expect([0...7], of: programme)
    }

    /// With any sequence of changes and seeks no audio is repeated, and the film ends normally.
    @Test(arguments: 1...12) func anEveningOfChangesComesToTheFilmsEnd(_ seed: UInt64) {
        var state = seed &* 0x9e37_79b9_7f4a_7c15
        func random(_ range: ClosedRange<Double>) -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound + Double(state >> 40) / Double(1 << 24) * (range.upperBound - range.lowerBound)
        }
        let programme = programme(depth: seed.isMultiple(of: 2) ? .milliseconds(300) : .seconds(3))
        for _ in 0..<15 {
            let core = programme.core
            switch Int(random(0...9.99)) {
            case 0...3:
                let start = random(0...8)
                core.setRepeatedSection(section(start, min(9.9, start + random(0.1...3))))
            case 4: core.setRepeatedSection(nil)
            case 5: core.seek(to: MediaTime(seconds: random(0...9), preferredTimescale: 1000), exact: true)
            case 6: core.seek(by: MediaTime(seconds: random(-3...3), preferredTimescale: 1000), exact: false)
            case 7: core.pause()
            default: core.play()
            }
            programme.run(for: .milliseconds(Int(random(20...900))))
            if programme.phase == .ended { core.seek(to: .zero, exact: true) }
        }
        programme.core.setRepeatedSection(nil)
        programme.core.play()
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(40)), "\(programme.state)")
        #expect(programme.numbers.last == 1_000_249)
        #expect(programme.tape.doubled == 0)
        #expect(programme.tape.maxError < 1e-6)
    }

    /// Packets have a thousand frames, a video frame lasts 40 ms: neither start nor end needs to be on one of these
    /// boundaries.
    @Test(arguments: [(2.0, 4.007), (2.003, 4.0), (2.003, 4.007)], [Duration.milliseconds(300), .seconds(4)])
    func aSectionBeginsAndEndsInsidePacketsAndPictures(_ places: (Double, Double), _ depth: Duration) {
        let programme = programme(depth: depth)
        programme.core.setRepeatedSection(section(places.0, places.1))
        programme.run(for: .seconds(5))
        programme.core.setRepeatedSection(nil)
        programme.run(for: .milliseconds(4500))
        expect([0...places.1, places.0...places.1, places.0...places.1, places.1...9], of: programme)
    }
}
