import MediaCore
import Playback
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Changes of outputs during playback, in virtual time.
@Suite struct RouteChangeTests {
    /// Where a card's audio starts or ends, a resampler of eight points sees an edge.
    private let edge = 4.0

    /// Returns the time from the old output's last sample to the new one's first, in milliseconds; negative if both
    /// were audible.
    private func gap(_ house: VirtualHouse, from old: String, to new: String) throws -> Double {
        let last = try #require(house.heard(old).last)
        let first = try #require(house.heard(new).first { $0.at > house.heard(old)[0].at })
        return (first.at - last.at).inMilliseconds
    }

    /// The maximum offset of the new output from the media time, in milliseconds.
    private func worstLateness(_ house: VirtualHouse) throws -> Double {
        try #require(house.heard("Kitchen").dropFirst(10).map { abs($0.late.inMilliseconds) }.max())
    }

    @Test func theNewOutputIsHeardInSyncWhereTheOldOneFallsSilent() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(5))
        let kitchen = house.output("Kitchen")
        house.change(to: kitchen)
        let asked = house.clock.now
        house.run(for: .seconds(5))
        let moment = try #require(house.lastChange)
        let place = moment.seconds * Double(VirtualHouse.rate)
        let old = try #require(house.heard("card").last)
        let new = try #require(house.heard("Kitchen").first)
        #expect(abs(old.frame - place) <= edge)
        #expect(abs(new.frame - place) <= edge)
        #expect(try abs(gap(house, from: "card", to: "Kitchen")) <= 2)
        // A change happens at a packet boundary, and the packets of this film last a third of a second.
        #expect(new.at - asked < .seconds(1) + .milliseconds(342))
        #expect(try worstLateness(house) < 1)
        #expect(house.outputs[0].closings == 1)
        #expect(house.group.members.map(\.name) == ["Kitchen"])
        let joined = house.noted.contains { if case .outputJoined(OutputID(1), moment, _) = $0 { true } else { false } }
        let left = house.noted.contains { if case .outputLeft(OutputID(0), moment, _) = $0 { true } else { false } }
        #expect(joined && left)
    }

    /// As when a fallback is removed because the speaker that it replaced has returned.
    @Test func anOutputLeavesNotBeforeOneThatCameBackIsHeard() throws {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(3))
        let heard = house.clock.now.advanced(by: .milliseconds(1200))
        house.outputs[1].audibleFrom = heard
        house.change(to: house.outputs[1])
        house.run(for: .milliseconds(1100))
        #expect(house.group.members.count == 2)
        house.run(for: .seconds(3))
        #expect(house.group.members.map(\.name) == ["Kitchen"])
        #expect(try #require(house.heard("card").last).at >= heard)
    }

    /// If the returning output stays inaudible, the other one is removed nevertheless.
    @Test func anOutputThatIsNotHeardForTenSecondsIsNotWaitedFor() {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(3))
        house.outputs[1].audibleFrom = house.clock.now.advanced(by: .seconds(60))
        house.change(to: house.outputs[1])
        house.run(for: .seconds(12))
        #expect(house.group.members.map(\.name) == ["Kitchen"])
    }

    @Test func anOutputThatDoesNotAnswerIsAProblemUntilItAnswers() {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(3))
        house.outputs[1].isUnresponsive = true
        house.run(for: .seconds(1))
        #expect(house.core.state.outputProblems.map(\.kind) == [.unresponsive])
        #expect(house.told == ["problem Kitchen"])
        house.outputs[1].isUnresponsive = false
        house.run(for: .seconds(1))
        #expect(house.told == ["problem Kitchen", "recovered Kitchen"])
    }

    @Test func thereIsNoUnderrunAndThePictureDoesNotNotice() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        for _ in 0..<3 {
            house.change(to: house.output("next \(house.outputs.count)"))
            house.run(for: .seconds(3))
        }
        let shown = house.screen.shown.map(\.number)
        #expect(shown == Array(0..<shown.count))
        #expect(shown.count > 280)
        let underruns = house.noted.filter { if case .underrun = $0 { true } else { false } }
        #expect(underruns.isEmpty)
        #expect(house.core.state.phase == .playing)
    }

    @Test func fromTheCardToASpeakerToAnotherToBothAndBackNoFilmIsLostOrHeardTwice() throws {
        let house = VirtualHouse("card")
        let card = house.outputs[0]
        house.run(for: .seconds(3))
        let (kitchen, study) = (house.output("Kitchen"), house.output("Study"))
        for wish in [[kitchen], [study], [kitchen, study], [card]] {
            house.group.change(to: wish) { [outcomes = house.outcomes] outcome in
                outcomes.withLock { $0.append(outcome) }
            }
            house.run(for: .seconds(3))
        }
        #expect(house.outcomes.withLock { $0.count } == 4)
        // Every frame of the film between start and now was audible on some output, except in the fades.
        var frames = Set<Int>()
        for name in ["card", "Kitchen", "Study"] {
            for item in house.heard(name) {
                frames.insert(Int(item.frame.rounded()))
                #expect(abs(item.late.inMilliseconds) < 2)
            }
        }
        let last = try #require(frames.max())
        #expect(Double(frames.count) > Double(last) * 0.998)
        // One output at a time, except for the fade, until both were selected.
        let study0 = try #require(house.heard("Study").first)
        let kitchenBefore = house.heard("Kitchen").filter { $0.at > study0.at.advanced(by: .milliseconds(6)) }
        #expect(try #require(kitchenBefore.first).at - study0.at > .seconds(2))
        #expect(house.heard("Study").last!.at < house.heard("card").last!.at)
    }

    @Test func aMemberThatStaysIsNotTouchedWhenAnotherJoins() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let kitchen = house.output("Kitchen")
        house.change(to: house.outputs[0], kitchen)
        house.run(for: .seconds(3))
        #expect(house.outputs[0].closings == 0)
        #expect(house.outputs[0].device.starts == 1)
        let frames = house.heard("card").map(\.frame)
        #expect(zip(frames, frames.dropFirst()).allSatisfy { abs($1 - $0 - 1) < 0.1 })
        let both = try #require(house.heard("Kitchen").last)
        #expect(abs(both.late.inMilliseconds) < 1)
    }

    @Test func theOldOutputPlaysOnUntilTheNewOneHasLearnedTheTime() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let kitchen = house.output("Kitchen")
        kitchen.clockIsReady = house.clock.now.advanced(by: .milliseconds(2300))
        kitchen.extraLead = .milliseconds(450)
        house.change(to: kitchen)
        house.run(for: .seconds(1))
        let progress = try #require(house.group.changeProgress)
        guard case .waiting(let wait) = progress else {
            Issue.record("\(progress)")
            return
        }
        #expect(wait.description == "waiting for Kitchen's clock, about 1.3 s")
        #expect(house.heard("Kitchen").isEmpty)
        house.run(for: .seconds(4))
        let ready = try #require(kitchen.clockIsReady)
        let first = try #require(house.heard("Kitchen").first)
        #expect(first.at - ready < .seconds(1) + .milliseconds(342))
        #expect(abs(try gap(house, from: "card", to: "Kitchen")) <= 2)
    }

    @Test func aNewOutputThatFailsLeavesTheOldOnePlayingAndSaysWhy() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let kitchen = house.output("Kitchen")
        kitchen.refusal = OutputError(.busy, "Another sender plays there.")
        house.change(to: kitchen)
        house.run(for: .seconds(3))
        guard case .refused(let refusals)? = house.outcomes.withLock({ $0.first }) else {
            Issue.record("the change was not refused")
            return
        }
        #expect(refusals.map(\.description) == ["'Kitchen': Another sender plays there."])
        #expect(house.outputs[0].closings == 0)
        let frames = house.heard("card").map(\.frame)
        #expect(zip(frames, frames.dropFirst()).allSatisfy { abs($1 - $0 - 1) < 0.1 })
        #expect(!house.noted.contains { if case .outputLost = $0 { true } else { false } })
    }

    @Test func ofSeveralNewOutputsThoseThatCanBeHadJoin() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let (kitchen, study) = (house.output("Kitchen"), house.output("Study"))
        study.refusal = OutputError(.unavailable, "Study does not answer.")
        house.change(to: kitchen, study)
        house.run(for: .seconds(3))
        guard case .changed(_, let without)? = house.outcomes.withLock({ $0.first }) else {
            Issue.record("the change did not happen")
            return
        }
        #expect(without.map(\.output) == ["Study"])
        #expect(house.group.members.map(\.name) == ["Kitchen"])
        #expect(house.outputs[0].closings == 1)
    }

    @Test func aSpeakerWithoutAClockIsDropped() {
        let house = VirtualHouse("card")
        house.run(for: .seconds(1))
        let kitchen = house.output("Kitchen")
        kitchen.clockIsReady = house.clock.now.advanced(by: .seconds(3600))
        house.change(to: kitchen)
        house.run(for: .seconds(12))
        guard case .refused(let refusals)? = house.outcomes.withLock({ $0.first }) else {
            Issue.record("the change was not refused")
            return
        }
        #expect(refusals[0].error.message.contains("firewall") && !refusals[0].error.message.contains("talkie"))
        #expect(refusals[0].error.remedy?.action == .checkFirewall)
        #expect(kitchen.closings == 1)
        #expect(house.outputs[0].closings == 0)
    }

    @Test func aLaterWishTakesThePlaceOfOneThatIsNotDecided() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let (kitchen, study) = (house.output("Kitchen"), house.output("Study"))
        kitchen.clockIsReady = house.clock.now.advanced(by: .seconds(5))
        house.change(to: kitchen)
        house.run(for: .seconds(1))
        house.change(to: study)
        house.run(for: .seconds(3))
        let outcomes = house.outcomes.withLock { $0 }
        #expect(outcomes.count == 2)
        guard case .superseded? = outcomes.first, case .changed? = outcomes.last else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(house.heard("Kitchen").isEmpty)
        #expect(!house.heard("Study").isEmpty)
    }

    @Test func aChangeDuringAPauseIsImmediateAndResumesAtTheSameFrame() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        house.core.pause()
        house.run(for: .seconds(1))
        let kitchen = house.output("Kitchen")
        house.change(to: kitchen)
        house.run(for: .seconds(2))
        #expect(house.outcomes.withLock { $0.count } == 1)
        #expect(house.heard("Kitchen").isEmpty)
        let held = try #require(house.heard("card").last)
        house.core.play()
        house.run(for: .seconds(2))
        let first = try #require(house.heard("Kitchen").first)
        // A card that cannot be flushed may sound 15 ms beyond a pause.
        #expect(abs(first.frame - held.frame) <= 0.016 * Double(VirtualHouse.rate))
        #expect(try worstLateness(house) < 1)
        let shown = house.screen.shown.map(\.number)
        #expect(shown == Array(0..<shown.count))
    }

    @Test func aJumpWhileTheNewOutputGetsReadyLeavesBothInSync() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        let kitchen = house.output("Kitchen")
        kitchen.clockIsReady = house.clock.now.advanced(by: .seconds(2))
        house.change(to: kitchen)
        house.run(for: .seconds(1))
        house.core.seek(to: MediaTime(value: 100, timescale: 1), exact: true)
        house.run(for: .seconds(4))
        let moment = try #require(house.lastChange)
        #expect(moment.seconds > 100)
        #expect(abs(try gap(house, from: "card", to: "Kitchen")) <= 2)
        #expect(try worstLateness(house) < 1)
    }

    @Test func aJumpBackAfterTheDecisionDoesNotKeepTheNewOutputSilent() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(6))
        try decideToChange(house, lead: .milliseconds(450))
        house.core.seek(to: MediaTime(value: 2, timescale: 1), exact: true)
        house.run(for: .seconds(3))
        #expect(house.core.state.phase == .playing)
        let first = try #require(house.heard("Kitchen").first)
        #expect(abs(first.frame / Double(VirtualHouse.rate) - 2) < 0.01)
        #expect(house.heard("card").last!.at < first.at)
    }

    /// Changes to an output with a start lead, and runs until the change is decided.
    private func decideToChange(_ house: VirtualHouse, lead: Duration) throws {
        let kitchen = house.output("Kitchen")
        kitchen.extraLead = lead
        house.change(to: kitchen)
        let limit = house.clock.now.advanced(by: .seconds(10))
        while house.group.changeProgress.map({ if case .changing = $0 { false } else { true } }) ?? true {
            try #require(house.clock.now < limit, "the change is not decided")
            house.run(for: .milliseconds(2))
        }
    }

    @Test func theOldOutputPlaysFromAnAnnouncedStartToTheMomentOfAChangeThatWasDecidedBefore() throws {
        let house = VirtualHouse("card") { $0[0].extraLead = .seconds(1) }
        house.run(for: .seconds(3))
        house.core.pause()
        house.run(for: .seconds(1))
        let held = try #require(house.heard("card").last)
        house.core.play()
        house.runUntilIdle()
        let start = house.synchronizer.timebase.snapshot.upcoming
        try #require(start.rate > 0 && start.hostAnchor > house.clock.now, "the start is announced")
        try decideToChange(house, lead: .seconds(1))
        try #require(house.clock.now < start.hostAnchor, "and lies ahead")
        house.run(for: .seconds(4))
        let moment = try #require(house.lastChange)
        #expect(moment > start.mediaAnchor)
        #expect(try #require(house.heard("card").first { $0.at > held.at }).frame - held.frame < 50)
        #expect(try abs(gap(house, from: "card", to: "Kitchen")) <= 2)
        #expect(house.outputs[0].closings == 1)
    }

    @Test func aPauseBeforeTheMomentOfAChangeLosesNoFilm() throws {
        let house = VirtualHouse("card")
        house.run(for: .seconds(3))
        try decideToChange(house, lead: .seconds(1))
        house.core.pause()
        house.run(for: .seconds(2))
        #expect(house.outcomes.withLock { $0.count } == 1, "it happens in the pause")
        #expect(house.group.members.map(\.name) == ["Kitchen"] && house.outputs[0].closings == 1)
        let held = try #require(house.heard("card").last)
        house.core.play()
        house.run(for: .seconds(3))
        let first = try #require(house.heard("Kitchen").first)
        #expect(abs(first.frame - held.frame) <= 0.016 * Double(VirtualHouse.rate))
        #expect(try worstLateness(house) < 1)
    }

    @Test func lostAudioReturnsWithAWorkingOutput() throws {
        let house = VirtualHouse("card") { cards in
            // An error that is not retried, because retries would take real time.
            cards[0].refusal = OutputError(.busy, "the sound card is in use")
        }
        house.run(for: .seconds(3))
        #expect(house.messages.withLock { $0.first?.contains("the sound card is in use") } == true)
        #expect(house.core.state.phase == .playing)
        let kitchen = house.output("Kitchen")
        house.change(to: kitchen)
        house.run(for: .seconds(3))
        #expect(try worstLateness(house) < 1)
        #expect(house.core.state.phase == .playing)
    }

    @Test func outputsChosenBeforeTheFilmBeginsPlayItFromItsStart() throws {
        let house = VirtualHouse("card")
        let kitchen = house.output("Kitchen")
        house.change(to: kitchen)
        _ = house.group.advanceChange()
        house.run(for: .seconds(2))
        #expect(house.heard("card").isEmpty)
        #expect(try #require(house.heard("Kitchen").first).frame < 10)
    }

    @Test func loudnessOfOneOutputIsKeptForWhenItPlays() {
        let house = VirtualHouse("card")
        let kitchen = house.output("Kitchen")
        house.group.setVolume(25, of: kitchen)
        #expect(house.group.volume(of: kitchen) == 25)
        #expect(house.group.volume(of: house.outputs[0]) == 100)
    }

    @Test func anEmptyWishIsRefused() {
        let house = VirtualHouse("card")
        house.run(for: .seconds(1))
        house.group.change(to: []) { [outcomes = house.outcomes] outcome in outcomes.withLock { $0.append(outcome) } }
        house.run(for: .seconds(1))
        guard case .refused? = house.outcomes.withLock({ $0.first }) else {
            Issue.record("an empty list was taken")
            return
        }
        #expect(house.group.members.map(\.name) == ["card"])
    }
}
