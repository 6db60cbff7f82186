import Foundation
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct PlayerTests {
    let frame = MediaTime(value: 1001, timescale: 24000)

    func film(seconds: Int64, sampleRate: Int = 48_000) -> SyntheticFilm {
        SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1), sampleRate: sampleRate)
    }

    /// Minutes of film; the default is two, in which the card drifts by ten milliseconds.
    static let minutes = Int64(ProcessInfo.processInfo.environment["TALKIE_VIRTUAL_MINUTES"] ?? "") ?? 2

    @Test func aFilmOnACardThatDriftsKeepsEverySampleAndPictureAtItsInstant() throws {
        // A sample rate of 3 kHz keeps the test short without affecting what it checks.
        let seconds = Self.minutes * 60
        let cinema = VirtualCinema(film: film(seconds: seconds, sampleRate: 3000), cardPPM: 80, sampleRate: 3000)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(seconds + 10)))
        #expect(cinema.dropped == 0)
        #expect(cinema.screen.shown.count == Int((Double(seconds) / frame.seconds).rounded(.up)))
        let worstPicture = try #require(cinema.pictureErrors.map { abs($0.inMilliseconds) }.max())
        #expect(worstPicture < 1)
        // Excludes the first seconds, in which the card's rate is measured, and the final fade, which changes the
        // encoded numbers.
        let sound = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }
        #expect(sound.count > 1000)
        let worst = try #require(sound.dropFirst(sound.count / 20).dropLast().max())
        #expect(worst < 1)
    }

    @Test func theFirstPictureAndTheFirstSampleArePerceivedTogether() throws {
        let cinema = VirtualCinema(film: film(seconds: 10))
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        let heard = try #require(cinema.firstSound.withLock { $0 })
        #expect(abs((heard - start).inMilliseconds) < 1)
        let second = try #require(cinema.screen.shown.first { $0.number == 1 })
        #expect(abs((second.at - start.advanced(by: frame.duration)).inMilliseconds) < 1)
    }

    @Test(arguments: [true, false]) func aFilmStartsWhenItsFirstFrameIsVisible(_ hasSound: Bool) throws {
        var options = PlayerOptions()
        options.playsAudio = hasSound
        let cinema = VirtualCinema(film: film(seconds: 10), options: options)
        cinema.isScreenBusy = true
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .buffering)
        cinema.isScreenBusy = false
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        #expect(Array(cinema.shown.prefix(20)) == Array(0..<20))
        #expect(cinema.dropped == 0)
        guard hasSound else { return }
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        let heard = try #require(cinema.firstSound.withLock { $0 })
        #expect(abs((heard - start).inMilliseconds) < 1)
    }

    @Test func aScreenThatShowsNothingDelaysSoundByThreeSecondsAtMost() throws {
        let cinema = VirtualCinema(film: film(seconds: 10))
        cinema.isScreenBusy = true
        let begin = cinema.clock.now
        cinema.run(for: .seconds(4))
        let heard = try #require(cinema.firstSound.withLock { $0 })
        #expect((3.0...3.5).contains((heard - begin).inSeconds))
    }

    @Test func aSpeakerLostBeforeItsFirstSoundHoldsThePictureUntilItIsBack() throws {
        let cinema = VirtualCinema(film: film(seconds: 10))
        // Long enough that the loss occurs between announcement and start.
        cinema.card.extraLead = .milliseconds(400)
        while cinema.phase != .playing { cinema.run(for: .milliseconds(1)) }
        cinema.card.isAway = true
        cinema.run(for: .seconds(1))
        #expect(cinema.phase == .buffering)
        #expect(cinema.shown == [0])
        cinema.card.isAway = false
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        let heard = try #require(cinema.firstSound.withLock { $0 })
        #expect(abs((heard - start).inMilliseconds) < 1)
        #expect(Array(cinema.shown.prefix(20)) == Array(0..<20))
    }

    @Test func aSpeakerThatNeedsLongerForTheClockPutsTheStartOff() throws {
        let cinema = VirtualCinema(film: film(seconds: 10))
        cinema.card.extraLead = .milliseconds(400)
        while cinema.phase != .playing { cinema.run(for: .milliseconds(1)) }
        let announced = try #require(cinema.synchronizer.timebase.snapshot.scheduled).hostAnchor
        cinema.card.earliestStart = announced.advanced(by: .milliseconds(200))
        cinema.run(for: .seconds(2))
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        #expect(start > announced)
        #expect(Array(cinema.shown.prefix(20)) == Array(0..<20))
        let heard = try #require(cinema.firstSound.withLock { $0 })
        #expect(abs((heard - start).inMilliseconds) < 1)
    }

    @Test func aSpeakerLostAfterItsFirstSoundHoldsNothing() {
        let cinema = VirtualCinema(film: film(seconds: 10))
        cinema.run(for: .seconds(2))
        cinema.card.isAway = true
        cinema.run(for: .seconds(1))
        #expect(cinema.phase == .playing)
    }

    @Test func anExactSeekShowsThePictureAtThePlaceAndRunsOnFromThere() {
        let cinema = VirtualCinema(film: film(seconds: 100))
        cinema.run(for: .seconds(2))
        let before = cinema.screen.shown.count
        let target = frame * 1001
        cinema.core.seek(to: target, exact: true)
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        let after = cinema.shown[before...]
        #expect(after.first == 1001)
        #expect(Array(after) == Array(1001..<(1001 + after.count)))
    }

    @Test func aSeekByKeyframeStartsSoundAndPictureAtTheSyncPicture() throws {
        let cinema = VirtualCinema(film: film(seconds: 100))
        cinema.run(for: .seconds(1))
        let before = cinema.screen.shown.count
        cinema.core.seek(to: frame * 1001, exact: false)
        cinema.run(for: .seconds(1))
        #expect(cinema.shown[before...].first == 1001 / 24 * 24)
        let late = cinema.soundErrors.withLock { $0.suffix(5) }.map { abs($0.inMilliseconds) }
        #expect(try #require(late.max()) < 1)
    }

    @Test func aPauseHoldsPictureAndSoundAndResumesWithoutLosingEither() throws {
        let cinema = VirtualCinema(film: film(seconds: 60))
        cinema.run(for: .seconds(3))
        cinema.core.pause()
        cinema.run(for: .seconds(5))
        #expect(cinema.phase == .paused)
        let held = cinema.screen.shown.count
        cinema.run(for: .seconds(5))
        #expect(cinema.screen.shown.count == held)
        cinema.core.play()
        cinema.run(for: .seconds(3))
        #expect(cinema.shown == Array(0..<cinema.screen.shown.count))
        #expect(cinema.dropped == 0)
        let late = cinema.soundErrors.withLock { $0.suffix(5) }.map { abs($0.inMilliseconds) }
        #expect(try #require(late.max()) < 1)
    }

    @Test func steppingMovesByOneFrame() {
        let cinema = VirtualCinema(film: film(seconds: 60))
        cinema.run(for: .seconds(1))
        cinema.core.pause()
        cinema.run(for: .milliseconds(500))
        let current = cinema.shown.last!
        cinema.core.step(byFrames: 1)
        cinema.run(for: .milliseconds(200))
        #expect(cinema.shown.last == current + 1)
        cinema.core.step(byFrames: -1)
        cinema.run(for: .milliseconds(500))
        #expect(cinema.shown.last == current)
        cinema.core.step(byFrames: -1)
        cinema.run(for: .milliseconds(500))
        #expect(cinema.shown.last == current - 1)
        #expect(cinema.phase == .paused)
    }

    @Test(arguments: [0.25, 0.5, 1.5, 2.0, 4.0])
    func aChangeOfSpeedHoldsNoPictureAndTheSoundIsThereAgainAtOnce(_ speed: Double) throws {
        let cinema = VirtualCinema(film: film(seconds: 60))
        cinema.run(for: .seconds(3))
        let before = cinema.screen.shown.count
        cinema.core.setSpeed(speed)
        #expect(cinema.phase == .playing)
        cinema.run(for: .seconds(3))
        #expect(cinema.phase == .playing)
        #expect(cinema.dropped == 0)
        #expect(cinema.shown == Array(0..<cinema.screen.shown.count))
        let instants = cinema.screen.shown[(before - 1)...].map(\.at)
        let longest = zip(instants, instants.dropFirst()).map { ($1 - $0).inSeconds }.max() ?? 0
        #expect(longest < frame.seconds / min(1, speed) + 0.002)
        #expect(cinema.synchronizer.effectiveRate == speed)
        // At the natural speed every sample encodes its position.
        cinema.core.setSpeed(1)
        cinema.run(for: .milliseconds(300))
        cinema.soundErrors.withLock { $0.removeAll() }
        cinema.run(for: .seconds(1))
        let late = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }
        #expect(late.count > 1000)
        #expect(try #require(late.max()) < 1)
    }

    @Test func aLoopPlaysTheFilmAgainFromItsStart() {
        var options = PlayerOptions()
        options.loopFile = .times(2)
        let cinema = VirtualCinema(film: film(seconds: 2), options: options)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(cinema.shown.filter { $0 == 0 }.count == 3)
        #expect(cinema.shown.filter { $0 == 47 }.count == 3)
    }

    @Test func startAndEndCutTheFilmToTheirPicture() {
        var options = PlayerOptions()
        options.start = .fromStart(frame * 100)
        options.end = .fromStart(frame * 150)
        let cinema = VirtualCinema(film: film(seconds: 60), options: options)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(cinema.shown.first == 100)
        #expect((149...150).contains(cinema.shown.last!))
    }

    @Test func anEndBehindTheFilmsOwnChangesNothingAndPlacesMayCountFromTheEnd() {
        var options = PlayerOptions()
        options.start = .fromEnd(MediaTime(value: 2, timescale: 1))
        options.end = .fromStart(MediaTime(value: 100, timescale: 1))
        let cinema = VirtualCinema(film: film(seconds: 10), options: options)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(5)))
        options = PlayerOptions()
        options.start = .fraction(0.5)
        let half = VirtualCinema(film: film(seconds: 10), options: options)
        half.run(for: .seconds(1))
        #expect((119...121).contains(half.shown.first ?? 0))
    }

    @Test func anAudioDelayMovesTheSoundAndNotThePicture() throws {
        var options = PlayerOptions()
        options.audioDelay = .milliseconds(250)
        let cinema = VirtualCinema(film: film(seconds: 30), options: options)
        cinema.run(for: .seconds(5))
        let late = cinema.soundErrors.withLock { $0.suffix(20) }.map(\.inMilliseconds)
        #expect(abs(try #require(late.max()) - 250) < 1)
        #expect(try #require(cinema.pictureErrors.map { abs($0.inMilliseconds) }.max()) < 1)
    }

    /// Steering replaces the segment in effect, to which the delay applies.
    @Test func anAudioDelayStaysTheSameWhileTheTimelineFollowsASpeakersClock() throws {
        var options = PlayerOptions()
        options.audioDelay = .milliseconds(250)
        let cinema = VirtualCinema(film: film(seconds: 60), options: options)
        cinema.run(for: .seconds(3))
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        // An output reports its own timeline, which includes the delay.
        let held = TimebaseSegment(
            mediaAnchor: .zero, hostAnchor: start.advanced(by: options.audioDelay), rate: 1 + 50e-6, speed: 1)
        cinema.card.held = { held }
        cinema.run(for: .seconds(2))
        #expect(cinema.synchronizer.timebase.rate != 1)
        cinema.soundErrors.withLock { $0.removeAll() }
        cinema.run(for: .seconds(5))
        let late = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds - 250) }
        #expect(late.count > 1000)
        #expect(try #require(late.max()) < 2)
    }

    @Test func aScreensDelayMovesThePicturesAndNotTheSound() throws {
        let cinema = VirtualCinema(film: film(seconds: 30))
        // A start that is announced later than the screen's delay makes the first frames late.
        cinema.card.extraLead = .milliseconds(400)
        let delay = Duration.milliseconds(100)
        cinema.screen.latency = OutputLatency(
            startLead: .zero, shares: [LatencyShare(name: "screen", duration: delay, source: .configured)])
        cinema.run(for: .seconds(5))
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        #expect(cinema.dropped == 0)
        #expect(cinema.shown.count > 80 && cinema.shown == Array(0..<cinema.shown.count))
        // The first frame is shown before the start.
        let early = cinema.screen.shown.dropFirst().map {
            abs((start.advanced(by: (frame * Int64($0.number)).duration) - $0.at - delay).inMilliseconds)
        }
        #expect(try #require(early.max()) < 1)
        let late = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }
        #expect(try #require(late.suffix(20).max()) < 1)
    }

    @Test func anAudioDelayMayBeAsLongAsThatOfTheOptions() {
        let cinema = VirtualCinema(film: film(seconds: 30))
        cinema.core.audioControl.setDelay(.seconds(60))
        #expect(cinema.core.state.audioDelay == .seconds(60))
        cinema.core.audioControl.setDelay(.seconds(-7000))
        #expect(cinema.core.state.audioDelay == .zero - PlayerOptions.longestAudioDelay)
    }

    /// The card accepts a second ahead.
    @Test func soundThatIsThreeSecondsLateInItsFileIsInStepWithANegativeDelay() throws {
        var options = PlayerOptions()
        options.audioDelay = .seconds(-3)
        let cinema = VirtualCinema(film: film(seconds: 30), options: options)
        cinema.run(for: .seconds(8))
        cinema.soundErrors.withLock { $0 = [] }
        cinema.run(for: .seconds(3))
        let errors = cinema.soundErrors.withLock { $0 }
        #expect(errors.count > 10 && errors.allSatisfy { abs($0.inMilliseconds + 3000) < 1 }, "\(errors.count)")
    }

    @Test func aSpeedThatIsSetWhileAFilmIsOpenedIsThatOfItsFirstSound() {
        let cinema = VirtualCinema(film: film(seconds: 30))
        cinema.core.setSpeed(1.5)
        #expect(cinema.core.renderer?.settings.withLock { $0.speed } == 1.5)
    }

    @Test func aFilmWhoseSoundCannotBeDecodedIsSeenAndItsOutputStays() {
        struct NoCodecs: AudioCodecs {
            func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
                -> any PCMConverter
            { throw MediaError(.unsupported, "The description of the sound is damaged.") }
            func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
                throw MediaError(.unsupported, "nothing is encoded")
            }
        }
        var options = PlayerOptions()
        options.isOutputNamed = true
        options.session.lostRoutePolicy = .pause
        let cinema = VirtualCinema(film: film(seconds: 5), options: options, codecs: NoCodecs())
        cinema.run(for: .seconds(3))
        #expect(cinema.phase == .playing && cinema.shown.count > 40)
        #expect(cinema.messages.withLock { $0 }.contains { $0.hasSuffix("The picture continues without sound.") })
        #expect(cinema.core.status.state.outputProblems.isEmpty)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(10)))
    }

    @Test func soundThatIsLaterThanThePictureIsPlayedToItsEnd() throws {
        var options = PlayerOptions()
        options.audioDelay = .milliseconds(500)
        let cinema = VirtualCinema(film: film(seconds: 2), options: options)
        cinema.run(for: .seconds(1))
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: cinema.clock.now).hostInstant(of: .zero))
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(5)))
        #expect((2.45...2.65).contains((cinema.clock.now - start).inSeconds))
    }

    @Test func audioThatStartsLaterThanVideoDelaysNothing() throws {
        let film = SyntheticFilm(
            duration: MediaTime(value: 20, timescale: 1), audioStart: MediaTime(value: 5, timescale: 1))
        let cinema = VirtualCinema(film: film)
        cinema.run(for: .seconds(3))
        #expect(cinema.phase == .playing)
        #expect(cinema.shown.count > 60)
    }

    @Test func aNamedSpeakerThatIsLostInMidFilmLeavesThePicturePlaying() {
        var options = PlayerOptions()
        options.isOutputNamed = true
        let cinema = VirtualCinema(film: film(seconds: 20), options: options)
        cinema.run(for: .seconds(2))
        cinema.core.audioFailed(TalkieError(.unavailable, "Another sender is now playing on Kitchen."))
        let before = cinema.screen.shown.count
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        #expect(cinema.screen.shown.count - before > 40)
        #expect(cinema.messages.withLock { $0.contains { $0.contains("The picture continues") } })
    }

    @Test func aSpeakerThatFailsBetweenTwoItemsDoesNotEndPlayback() {
        let cinema = VirtualCinema(film: film(seconds: 20))
        cinema.run(for: .seconds(1))
        // As while the next item opens.
        cinema.core.closeMedia()
        cinema.core.audioFailed(TalkieError(.unavailable, "Kitchen does not answer."))
        #expect(cinema.core.current == nil && cinema.phase != .failed)
        #expect(cinema.messages.withLock { $0.isEmpty })
    }

    @Test func aNamedSpeakerThatCannotBeHadAtTheStartEndsTheFilmWithItsStatus() {
        var options = PlayerOptions()
        options.isOutputNamed = true
        let cinema = VirtualCinema(film: film(seconds: 20), options: options)
        cinema.core.audioFailed(TalkieError(.unavailable, "Kitchen does not answer."))
        #expect(cinema.phase == .failed)
        #expect(cinema.core.state.failure?.code == .unavailable)
    }
}
