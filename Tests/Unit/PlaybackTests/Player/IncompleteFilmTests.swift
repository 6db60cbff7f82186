import CardPlayout
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A film that cannot be read from some film time on.
private final class TornFilm: MediaSource {
    let film: CountedFilm
    /// The kinds of tracks that fail, with which error, and from which film time on.
    let failure: MediaError?
    let kinds: Set<Track.Kind>
    let place: MediaTime
    let summary: MediaSummary
    var closedGaps: MediaTime { MediaTime(value: closedSeconds, timescale: 1) }
    private let closedSeconds: Int64

    /// - Parameters:
    ///   - failure: nil ends the tracks as at the end of the film.
    ///   - stating: the duration in seconds, if it is not that of the media.
    ///   - closed: the sum of the closed gaps in seconds.
    init(
        _ failure: MediaError?, of kinds: Set<Track.Kind> = [.audio, .video], seconds: Int = 2,
        after milliseconds: Int64 = 1000, isStated: Bool = false, stating: Int64? = nil, closed: Int64 = 0
    ) {
        closedSeconds = closed
        film = CountedFilm(
            1, frameCount: 25 * seconds, audioFrameCount: 48_000 * seconds,
            subtitles: [[CountedSubtitle(1, at: 0, for: 1)]])
        (self.failure, self.kinds) = (failure, kinds)
        place = MediaTime(value: milliseconds, timescale: 1000)
        var summary = film.summary
        summary.isDurationStated = isStated
        if let stating { summary.duration = MediaTime(value: stating, timescale: 1) }
        self.summary = summary
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        Reader(track: track, source: try film.source(for: track), film: self)
    }

    private final class Reader: SampleSource {
        let track: Track
        let source: any SampleSource
        let film: TornFilm
        private let hasFailed = Lock(false)

        init(track: Track, source: any SampleSource, film: TornFilm) {
            (self.track, self.source, self.film) = (track, source, film)
        }

        func read() throws(MediaError) -> SampleBuffer? {
            let buffer = try source.read()
            guard film.kinds.contains(track.kind), buffer?.presentationTime.map({ $0 >= film.place }) ?? true else {
                return buffer
            }
            if let failure = film.failure, failure.isRecoverable {
                // One sample is missing; the next call continues.
                guard
                    hasFailed.withLock({ hasFailed in
                        defer { hasFailed = true }; return hasFailed
                    })
                else { throw failure }
                return buffer
            }
            if let failure = film.failure { throw failure }
            return nil
        }

        func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
            try source.seek(to: time, mode: mode)
        }

        func cancel() { source.cancel() }
    }
}

/// Fails while it is drained, as after the failure of a device without a software decoder.
private final class BrokenDecoder: VideoFrameDecoder {
    var skipPolicy = SkipPolicy.full
    let decodeErrorCount = 0
    private(set) var failure: MediaError?

    func send(_ buffer: SampleBuffer) {}
    func finish() { failure = MediaError(.exhausted, "no decoder") }
    func receive() -> SampleBuffer? { nil }
    func flush() {}
    func dropFrames(before time: MediaTime) {}
}

/// A read failure is reported with cause and position, never as the end of the film.
@Suite struct IncompleteFilmTests {
    private let broken = MediaError(.readFailed, "reading \"film\" failed: input/output error; check the disk")

    private func played(_ film: any MediaSource) -> VirtualProgramme {
        let programme = VirtualProgramme(["film": film], first: "film")
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        return programme
    }

    private func reports(_ programme: VirtualProgramme) -> [MediaFailure] {
        programme.playerEvents.compactMap { if case .incomplete(_, let failure) = $0 { failure } else { nil } }
    }

    @Test func aReadErrorInTheMiddleIsReportedWithItsCauseAndItsPlace() throws {
        let programme = played(TornFilm(broken))
        let report = try #require(reports(programme).first)
        #expect(reports(programme).count == 1)
        #expect(report.error.message.contains("breaks off at 00:00:01: \(broken.message)"))
        #expect(report.error.code == .failed)
        #expect(abs(report.position.seconds - 1) < 0.05)
        #expect(programme.core.state.mediaFailure == report)
        #expect(programme.core.state.failure == nil)
        // The readable part is played.
        #expect(programme.numbers.compactMap { $0 }.max() == 1_000_024)
    }

    @Test(arguments: [Track.Kind.audio, .video, .subtitle])
    func aFailedTrackIsReportedAndTheOthersContinue(kind: Track.Kind) throws {
        let name = [Track.Kind.audio: "The sound", .video: "The picture", .subtitle: "The subtitle track"][kind]!
        let programme = played(TornFilm(broken, of: [kind], after: kind == .subtitle ? 0 : 1000))
        let report = try #require(reports(programme).first, "\(programme.playerEvents)")
        #expect(reports(programme).count == 1)
        #expect(report.error.message.hasPrefix("\(name) of “"), "\(report.error.message)")
        if kind != .video { #expect(programme.numbers.compactMap { $0 }.max() == 1_000_049) }
    }

    @Test(arguments: [Set([Track.Kind.audio, .video]), [.audio], [.video]])
    func aLostSegmentIsReportedWithCauseAndPositionAndPlaybackContinues(kinds: Set<Track.Kind>) throws {
        let lost = MediaError(.lostSegment, "the server has no \"http://server/2.ts\" (404); try again later")
        let programme = played(TornFilm(lost, of: kinds))
        let report = try #require(reports(programme).first)
        #expect(reports(programme).count == 1)
        #expect(
            report.error.message.hasSuffix("lacks a part from 00:00:01 on: \(lost.message)"), "\(report.error.message)")
        #expect(report.error.code == .failed)
        #expect(abs(report.position.seconds - 1) < 0.1)
        #expect(programme.core.state.mediaFailure == report && programme.core.state.failure == nil)
        #expect(programme.numbers.compactMap { $0 }.max() == 1_000_049)
    }

    @Test func dataThatEndBeforeTheHeaderSaysAreIncomplete() throws {
        let programme = played(TornFilm(MediaError(.incomplete, "\"film\" is incomplete")))
        #expect(try #require(reports(programme).first).error.message.contains("ends at 00:00:01 of 00:00:02"))
    }

    @Test func tracksThatEndLongBeforeTheStatedDurationAreIncomplete() throws {
        let programme = played(TornFilm(nil, seconds: 10, after: 5000, isStated: true))
        #expect(try #require(reports(programme).first).error.message.contains("ends at 00:00:05 of 00:00:10"))
        #expect(reports(programme).count == 1)
        // An estimated duration, or a small difference, reports nothing.
        #expect(reports(played(TornFilm(nil, seconds: 10, after: 5000))).isEmpty)
        #expect(reports(played(TornFilm(nil, seconds: 10, after: 8500, isStated: true))).isEmpty)
    }

    @Test func aStatedDurationMayIncludeGapsThatWereClosed() {
        #expect(reports(played(TornFilm(nil, seconds: 10, after: 5000, isStated: true, closed: 5))).isEmpty)
        #expect(reports(played(TornFilm(nil, seconds: 10, after: 5000, isStated: true, closed: 1))).count == 1)
    }

    /// The tolerance is a share of the media, not of its gaps.
    @Test(arguments: [(5000, 1), (10_000, 0)])
    func anHourOfGapsDoesNotHideThatHalfOfTheFilmIsMissing(end: Int64, count: Int) {
        let film = TornFilm(nil, seconds: 10, after: end, isStated: true, stating: 3610, closed: 3600)
        #expect(reports(played(film)).count == count)
    }

    @Test func aDecoderThatFailsAtTheEndIsNoEnd() throws {
        let film = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000)
        let source = try film.source(for: try #require(film.summary.track(.video)))
        let reader = VideoReader(film: film, source: source, decoder: BrokenDecoder())
        #expect(try reader.nextFrame(within: 100) == nil)
        #expect(reader.frames.failure?.code == .exhausted)
    }

    @Test func theListContinuesAfterAnInterruptedFilm() {
        let films: [String: any MediaSource] = [
            "one": TornFilm(broken), "two": CountedFilm(2, frameCount: 25, audioFrameCount: 48_000),
        ]
        let programme = VirtualProgramme(films, first: "one")
        programme.core.setNext([QueueItem("two")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(reports(programme).count == 1)
        #expect(programme.began == ["two"])
        #expect(programme.core.state.mediaFailure == nil, "it is about the item that is perceived")
    }

    @Test func aFilmOfWhichNothingCanBeReadNamesTheCause() throws {
        let programme = VirtualProgramme(["film": TornFilm(broken, after: 0)], first: "film")
        #expect(programme.run(untilPhase: .failed, atMost: .seconds(5)))
        let failure = try #require(programme.core.state.failure)
        #expect(failure.code == .cannotOpen)
        #expect(failure.message.contains(broken.message) && !failure.message.contains("FFmpeg"))
        #expect(reports(programme).isEmpty)
    }

    @Test func aFilmThatIsWholeIsNotReported() {
        #expect(reports(played(CountedFilm(1, frameCount: 50, audioFrameCount: 96_000))).isEmpty)
    }

    @Test func aFilmEndsWithoutAScreen() {
        let programme = VirtualProgramme(
            ["film": CountedFilm(1, frameCount: 75, audioFrameCount: 144_000)], first: "film", hasScreen: false)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(6)))
    }

    @Test func anOutputThatRefusesTheVolumeIsInTheStateAndInAnEvent() throws {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(3))
        let refusal = OutputError(.failed, "Kitchen refused muting; set it on the speaker itself")
        house.outputs[1].gainFailure = refusal
        house.run(for: .seconds(1))
        let problem = try #require(house.core.state.outputProblems.first)
        #expect(problem.kind == .gainRefused && problem.name == "Kitchen" && problem.error == refusal)
        #expect(house.told.contains("problem Kitchen"))
        house.outputs[1].gainFailure = nil
        house.run(for: .seconds(1))
        #expect(house.core.state.outputProblems.isEmpty)
        #expect(house.told.contains("recovered Kitchen"))
    }

    @Test func aSilentOutputIsInTheStateAndInAnEvent() throws {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(3))
        #expect(house.core.state.outputProblems.isEmpty)
        let kitchen = house.outputs[1]
        nonisolated(unsafe) let device = kitchen.device
        let isBack = Lock(false)
        kitchen.supply = DeviceFailover.Supply { _ in isBack.withLock { $0 } ? device : nil }
        device.isGone = true
        house.run(for: .seconds(2))
        #expect(house.core.state.outputProblems.map(\.name) == ["Kitchen"])
        #expect(house.core.state.outputProblems.first?.kind == .silent)
        #expect(house.told.contains("problem Kitchen"))
        device.isGone = false
        isBack.withLock { $0 = true }
        house.run(for: .seconds(8))
        #expect(house.core.state.outputProblems.isEmpty)
        #expect(house.told.contains("recovered Kitchen"))
    }
}
