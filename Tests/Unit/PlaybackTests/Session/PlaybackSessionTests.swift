import CardPlayout
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Interruptions and changes of the route, in virtual time.
@Suite struct PlaybackSessionTests {
    private func house(_ names: [String] = ["Kitchen"], _ session: PlaybackSession = PlaybackSession()) -> VirtualHouse
    {
        var options = PlayerOptions()
        options.session = session
        let house =
            names.count == 1
            ? VirtualHouse(names[0], options: options) : VirtualHouse(names[0], names[1], options: options)
        for output in house.outputs where output.name != "card" { output.kind = .bufferedSpeaker }
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing)
        return house
    }

    private func takeOver(_ output: VirtualSoundCard) {
        output.failure = OutputError(.busy, "Another sender is now playing on \(output.name).")
        output.refusal = output.failure
    }

    private func reasons(_ house: VirtualHouse) -> [PlaybackRouteChange.Reason] {
        house.routeChanges.withLock { $0.map(\.reason) }
    }

    private func interruptions(_ house: VirtualHouse) -> [PlaybackInterruption] { house.interruptions.withLock { $0 } }

    // MARK: Policy

    @Test func theKindDecidesWhatInterruptionsDo() {
        func responses(_ session: PlaybackSession) -> [PlaybackSession.Mixing] {
            [.takenOver, .sleep, .otherAudio].map(session.response(to:))
        }
        #expect(responses(PlaybackSession()) == [.pauses, .pauses, .pauses])
        #expect(responses(PlaybackSession(contentKind: .spokenAudio)) == [.pauses, .pauses, .pauses])
        #expect(responses(PlaybackSession(mixing: .mixes)) == [.mixes, .mixes, .mixes])
        var session = PlaybackSession()
        session.contentKind = .music
        #expect(responses(session) == [.mixes, .mixes, .ducks], "a silent output is not ducked")
        #expect(responses(PlayerOptions().session) == [.mixes, .mixes, .mixes], "as before there were sessions")
    }

    // MARK: Interruptions

    @Test func aFilmPausesForOtherAudioAndResumesAtItsPosition() {
        let house = house()
        house.core.beginInterruption(.otherAudio)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused && house.core.state.interruption == .otherAudio)
        let position = house.synchronizer.currentTime()
        house.run(for: .seconds(5))
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .milliseconds(20))
        #expect((house.synchronizer.currentTime() - position).duration < .milliseconds(40))
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        #expect(interruptions(house) == [.began(.otherAudio), .ended(.otherAudio, mayResume: true)])
    }

    @Test func musicBecomesQuieterAndKeepsItsVolume() throws {
        let house = house(["card"], PlaybackSession(contentKind: .music))
        func level() throws -> Double {
            let last = try #require(house.heard("card").last)
            return last.frame / (house.synchronizer.currentTime().seconds * Double(VirtualHouse.rate))
        }
        let volume = house.group.knownVolume
        house.core.beginInterruption(.otherAudio)
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing && house.group.knownVolume == volume)
        // The samples are quieter, whatever the volume of the output.
        #expect(try abs(level() - 0.1) < 0.01)
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(3))
        #expect(try abs(level() - 1) < 0.01)
    }

    @Test func whatTheUserPausedStaysPaused() {
        let house = house()
        house.core.pause()
        house.run(for: .seconds(1))
        house.core.beginInterruption(.sleep)
        house.core.endInterruption(.sleep, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused)
        house.core.play()
        house.run(for: .seconds(1))
        // A pause during the interruption.
        house.core.beginInterruption(.sleep)
        house.core.pause()
        house.core.endInterruption(.sleep, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused)
    }

    @Test func playbackResumesAfterTheLastOfSeveralInterruptions() {
        let house = house()
        house.core.beginInterruption(.sleep)
        house.core.beginInterruption(.otherAudio)
        house.core.endInterruption(.sleep, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused && house.core.state.interruption == .otherAudio)
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .playing)
    }

    /// The interruptions begin in the first order and end in the second; the last value is whether playback resumes.
    static let overlaps: [([PlaybackInterruption.Cause], [(PlaybackInterruption.Cause, Bool)], Bool)] = [
        // A call during which another sender has the speaker for a while: the end of the call decides.
        ([.otherAudio, .takenOver], [(.takenOver, false), (.otherAudio, true)], true),
        ([.otherAudio, .takenOver], [(.takenOver, true), (.otherAudio, false)], false),
        // A speaker that was taken over, and returned on its own: a call in between has paused nothing.
        ([.takenOver, .otherAudio], [(.takenOver, false), (.otherAudio, true)], false),
        ([.takenOver, .otherAudio], [(.otherAudio, true), (.takenOver, false)], false),
        ([.takenOver, .otherAudio], [(.otherAudio, false), (.takenOver, true)], true),
        // A call that ended while the computer slept: it does not play when it wakes.
        ([.otherAudio, .sleep], [(.otherAudio, true), (.sleep, false)], false),
        ([.otherAudio, .sleep], [(.sleep, false), (.otherAudio, true)], true),
        ([.otherAudio, .takenOver, .sleep], [(.sleep, false), (.takenOver, false), (.otherAudio, true)], true),
    ]

    @Test(arguments: overlaps) func playbackResumesIfTheFirstAndTheLastInterruptionPermitIt(
        _ begun: [PlaybackInterruption.Cause], _ ended: [(PlaybackInterruption.Cause, Bool)], _ resumes: Bool
    ) {
        let house = house()
        for cause in begun {
            house.core.beginInterruption(cause)
            house.run(for: .seconds(1))
            #expect(house.core.state.phase == .paused)
        }
        for (cause, mayResume) in ended {
            #expect(house.core.state.phase == .paused)
            house.core.endInterruption(cause, mayResume: mayResume)
            house.run(for: .seconds(1))
        }
        #expect(house.core.state.phase == (resumes ? .playing : .paused))
        // What was refused then has no effect on a later interruption.
        house.core.play()
        house.run(for: .seconds(1))
        house.core.beginInterruption(.otherAudio)
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .playing)
    }

    @Test func musicThatBecomesQuieterIsNotResumedByTheEndOfACall() {
        let house = house(["Kitchen"], PlaybackSession(contentKind: .music))
        house.core.pause()
        house.run(for: .seconds(1))
        house.core.beginInterruption(.otherAudio)
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused)
    }

    @Test func aSleepEndsPausedAndPlayEndsAllInterruptions() {
        let house = house()
        house.core.beginInterruption(.sleep)
        house.clock.suspend(for: .seconds(3600))
        house.core.endInterruption(.sleep, mayResume: false)
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .paused)
        house.core.beginInterruption(.otherAudio)
        house.core.play()
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        #expect(interruptions(house).last == .ended(.otherAudio, mayResume: true))
    }

    // MARK: Taken over

    @Test func aFilmPausesWhenItsSpeakerIsTakenOverAndPlayTakesItBack() throws {
        let house = house()
        let kitchen = house.outputs[0]
        takeOver(kitchen)
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .paused && house.core.state.interruption == .takenOver)
        let change = try #require(house.routeChanges.withLock { $0.last })
        #expect(change.reason == .takenOver && change.error?.code == .busy)
        #expect(change.previous.map(\.name) == ["Kitchen"] && change.current.isEmpty)
        #expect(interruptions(house) == [.began(.takenOver)])
        #expect(!house.messages.withLock { $0 }.contains { $0.contains("The picture continues") })
        let position = house.synchronizer.currentTime()
        kitchen.refusal = nil
        house.core.play()
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        #expect(reasons(house) == [.takenOver, .newOutput])
        let again = try #require(house.heard("Kitchen").last)
        #expect(again.frame > (position.seconds + 1) * Double(VirtualHouse.rate))
        #expect(abs(again.late.inMilliseconds) < 2)
    }

    @Test(arguments: [true, false]) func aSpeakerThatRefusesAgainAfterPlayIsReportedAgain(_ playsVideo: Bool) {
        var options = PlayerOptions()
        (options.session, options.playsVideo) = (PlaybackSession(), playsVideo)
        let house = VirtualHouse("Kitchen", options: options)
        house.run(for: .seconds(3))
        takeOver(house.outputs[0])
        house.run(for: .seconds(2))
        for _ in 0..<2 {
            house.core.play()
            house.run(for: .seconds(2))
            #expect(house.core.state.phase == .paused && house.core.state.interruption == .takenOver)
        }
        #expect(reasons(house) == [.takenOver, .takenOver, .takenOver])
        let again: [PlaybackInterruption] = [.ended(.takenOver, mayResume: true), .began(.takenOver)]
        #expect(interruptions(house) == [.began(.takenOver)] + again + again)
        house.outputs[0].refusal = nil
        house.core.play()
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        #expect(reasons(house).last == .newOutput)
    }

    /// A group that cannot be opened is closed, and has no problems.
    @Test func anOutputThatRefusesWhenItIsOpenedAgainWasTakenOver() {
        let house = house()
        house.outputs[0].refusal = OutputError(.busy, "Another sender is playing on Kitchen.")
        house.core.audioControl.reopenOutputs()
        house.run(for: .seconds(2))
        #expect(reasons(house) == [.takenOver] && interruptions(house) == [.began(.takenOver)])
        #expect(house.routeChanges.withLock { $0[0].hasOpened && $0[0].error?.code == .busy })
        #expect(house.core.state.phase == .paused)
    }

    @Test func aFilmWhoseSpeakerIsTakenOverResumesOnTheChosenOutput() {
        let house = house()
        takeOver(house.outputs[0])
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .paused)
        let card = house.output("card")
        house.change(to: card)
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing)
        #expect(reasons(house) == [.takenOver, .chosen])
        #expect(interruptions(house) == [.began(.takenOver), .ended(.takenOver, mayResume: true)])
        #expect(!house.heard("card").isEmpty)
    }

    @Test func aTakeoverOfOneOfTwoOutputsInterruptsNothing() {
        let house = house(["card", "Kitchen"])
        takeOver(house.outputs[1])
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .playing)
        #expect(reasons(house) == [.takenOver] && interruptions(house).isEmpty)
        let current = house.routeChanges.withLock { $0.last?.current.map(\.name) }
        #expect(current == ["card"])
    }

    @Test func backgroundMusicContinuesWhenItsSpeakerIsTakenOver() {
        let house = house(["Kitchen"], PlaybackSession(contentKind: .music))
        takeOver(house.outputs[0])
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == .takenOver)
    }

    @Test func aSpeakerThatIsLostAndThenFoundBusyWasTakenOver() {
        let house = house()
        // The session is lost; the attempt to rejoin a second later finds another sender.
        house.outputs[0].device.isGone = true
        house.run(for: .seconds(1))
        #expect(reasons(house) == [.outputGone] && house.core.state.phase == .playing)
        takeOver(house.outputs[0])
        house.run(for: .seconds(1))
        #expect(reasons(house) == [.outputGone, .takenOver])
        #expect(house.core.state.phase == .paused && house.core.state.interruption == .takenOver)
    }

    @Test func aListThatIsOverDoesNotStartAgain() {
        let house = house()
        house.core.beginInterruption(.otherAudio)
        house.run(for: .seconds(1))
        house.core.finish()
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .ended)
    }

    @Test(arguments: [PlaybackSession(), PlaybackSession(lostRoutePolicy: .pause)])
    func anOutputThatNeverPlayedFailsAndPausesNothing(_ session: PlaybackSession) {
        var options = PlayerOptions()
        (options.session, options.isOutputNamed) = (session, true)
        let house = VirtualHouse("Kitchen", options: options) { $0[0].refusal = OutputError(.busy, "It is busy.") }
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .failed && interruptions(house).isEmpty)
    }

    @Test(arguments: [PlaybackSession.LostRoutePolicy.pause, .wait])
    func playOpensALostOutputAgain(_ policy: PlaybackSession.LostRoutePolicy) {
        let house = house(["Kitchen"], PlaybackSession(mixing: .mixes, lostRoutePolicy: policy))
        takeOver(house.outputs[0])
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == (policy == .pause ? .paused : .playing))
        house.outputs[0].refusal = nil
        house.core.play()
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        #expect(reasons(house) == [.takenOver, .newOutput])
    }

    @Test func musicWithoutVideoPausesIfTheSessionSaysSoAndElseFails() {
        for session in [PlaybackSession(), PlaybackSession(contentKind: .music)] {
            var options = PlayerOptions()
            (options.session, options.playsVideo) = (session, false)
            let house = VirtualHouse("Kitchen", options: options)
            house.run(for: .seconds(3))
            takeOver(house.outputs[0])
            house.run(for: .seconds(2))
            guard session.contentKind == .film else {
                #expect(house.core.state.phase == .failed && house.core.state.interruption == nil)
                continue
            }
            #expect(house.core.state.phase == .paused)
            house.outputs[0].refusal = nil
            house.core.play()
            house.run(for: .seconds(3))
            #expect(house.core.state.phase == .playing && house.core.state.interruption == nil)
        }
    }

    // MARK: Route

    @Test func aLostOutputAndItsReturnAreRouteChanges() throws {
        let house = house(["card", "Kitchen"])
        let kitchen = house.outputs[1]
        nonisolated(unsafe) let device = kitchen.device
        let isBack = Lock(false)
        kitchen.supply = DeviceFailover.Supply { _ in isBack.withLock { $0 } ? device : nil }
        device.isGone = true
        house.run(for: .seconds(2))
        #expect(reasons(house) == [.outputGone])
        let change = try #require(house.routeChanges.withLock { $0.last })
        #expect(change.removed.map(\.name) == ["Kitchen"] && change.current.map(\.name) == ["card"])
        device.isGone = false
        isBack.withLock { $0 = true }
        house.run(for: .seconds(8))
        #expect(reasons(house) == [.outputGone, .newOutput])
        #expect(house.routeChanges.withLock { $0.last?.added.map(\.name) } == ["Kitchen"])
        #expect(house.core.state.phase == .playing && interruptions(house).isEmpty)
    }

    @Test func playbackPausesWithoutAnOutputIfTheSessionSaysSo() {
        let house = house(["card"], PlaybackSession(lostRoutePolicy: .pause))
        house.outputs[0].device.isGone = true
        house.run(for: .seconds(2))
        #expect(house.core.state.phase == .paused && reasons(house) == [.outputGone])
        #expect(interruptions(house).isEmpty)
    }

    @Test func theEndOfACallDoesNotResumeWithoutAnOutput() {
        let house = house(["card"], PlaybackSession(lostRoutePolicy: .pause))
        house.core.beginInterruption(.otherAudio)
        house.run(for: .seconds(1))
        // A paused card does not notice that its device is gone; a speaker does.
        house.core.pendingRouteChange = PlaybackRouteChange(reason: .outputGone, previous: [], current: [])
        house.core.respondToRouteChange()
        house.core.endInterruption(.otherAudio, mayResume: true)
        house.run(for: .seconds(1))
        #expect(house.core.state.phase == .paused)
    }

    @Test func anOutputIsTakenOverBetweenTwoItems() throws {
        var route = RouteObservation()
        func member(isOpen: Bool) -> RouteObservation.Member {
            RouteObservation.Member(id: OutputID(0), name: "Kitchen", kind: .bufferedSpeaker, isOpen: isOpen)
        }
        #expect(route.update([member(isOpen: false)], silent: []) == nil && !route.hasOpened)
        _ = route.update([member(isOpen: true)], silent: [])
        _ = route.update([member(isOpen: false)], silent: [])
        #expect(route.hasOpened)
    }

    // MARK: Player

    @Test func aSetSessionIsReadAtOnce() {
        let player = Player(
            components: Player.Components(
                open: { (_, _) throws(MediaError) in SyntheticFilm(duration: MediaTime(value: 60, timescale: 1)) },
                codecs: SyntheticCodecs(),
                makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) }, audioOutput: nil
            ),
            options: PlayerOptions(), events: EventLog(clock: MonotonicClock())
        ) { _ in }
        defer { player.shutDown() }
        player.session.contentKind = .music
        player.session.lostRoutePolicy = .pause
        #expect(player.session == PlaybackSession(contentKind: .music, mixing: .mixes, lostRoutePolicy: .pause))
    }

    // MARK: Observation

    @Test func aSinkThatBecomesKnownIsNoMoveAndAnotherOneIs() throws {
        var route = RouteObservation()
        func member(_ name: String?, isOwn: Bool = true, sink: String? = nil) -> RouteObservation.Member {
            RouteObservation.Member(
                id: OutputID(0), name: "card", kind: .soundCard, isOpen: true,
                device: name.map { OutputDevice(name: $0, isOwn: isOwn, sink: sink) })
        }
        func reason(_ member: RouteObservation.Member) -> PlaybackRouteChange.Reason? {
            route.update([member], silent: [])?.reason
        }
        #expect(reason(member(nil)) == nil)
        #expect(reason(member("default")) == nil)
        #expect(reason(member("default", sink: "Speakers")) == nil)
        #expect(reason(member("default")) == nil, "unknown for a while")
        #expect(reason(member("default", sink: "Speakers")) == nil)
        #expect(reason(member("default", sink: "Headphones")) == .moved)
        #expect(reason(member("hw:1", isOwn: false)) == .outputGone)
        #expect(reason(member("hw:1", isOwn: false, sink: "USB")) == nil)
        #expect(reason(member("default", sink: "Headphones")) == .newOutput)
    }
}
