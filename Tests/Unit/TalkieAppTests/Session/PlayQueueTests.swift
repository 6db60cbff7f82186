import Testing

@testable import Playback
@testable import TalkieApp

@Suite struct PlayQueueTests {
    private func queue(_ names: String..., loop: PlayerOptions.Loop = .times(0)) -> PlayQueue {
        PlayQueue(names.map { PlaylistLoader.Item(address: $0) }, loop: loop)
    }

    /// Returns the films played if every one of them can be opened.
    private func play(_ queue: PlayQueue, atMost limit: Int = 100) -> [String] {
        var queue = queue
        var played: [String] = []
        repeat {
            queue.noteBegun()
            played.append(queue.current.address)
        } while played.count < limit && queue.advance()
        return played
    }

    @Test func theListIsPlayedInOrderAndAsOftenAsItWasAskedFor() {
        #expect(play(queue("a", "b")) == ["a", "b"])
        #expect(play(queue("a", "b", loop: .times(2))) == ["a", "b", "a", "b", "a", "b"])
        #expect(play(queue("a", loop: .forever), atMost: 50).count == 50)
    }

    @Test func aListOfNothingButFailuresIsNotRepeated() {
        var queue = queue("a", "b", loop: .forever)
        let goesOn = [queue.advance(), queue.advance()]
        #expect(goesOn == [true, false])
        // One playable film is sufficient for another pass.
        queue = self.queue("a", "b", loop: .forever)
        queue.noteBegun()
        let goesRound = [queue.advance(), queue.advance()]
        #expect(goesRound == [true, true])
        #expect(queue.current.address == "a")
    }

    @Test func aPersonMovesWithinTheList() {
        var queue = queue("a", "b")
        let moves = [queue.step(by: -1), queue.step(by: 1), queue.step(by: 1)]
        #expect(moves == [false, true, false])
        #expect(queue.current.address == "b" && queue.number == 2)
    }
}

@Suite struct SessionSettingsTests {
    @Test func stepsUpAndDownLeadBackToWhereTheyBegan() {
        var settings = SessionSettings(PlayerOptions())
        for _ in 0..<5 { settings.multiplySpeed(by: 1.1) }
        for _ in 0..<5 { settings.multiplySpeed(by: 1 / 1.1) }
        #expect(settings.speed == 1)
    }

    @Test func voicesRiseByThreeDecibelsAndAfterTheLastStepAreAsMixed() {
        var settings = SessionSettings(PlayerOptions())
        var steps: [Double] = []
        for _ in 0..<5 {
            settings.cycleDialogueLift()
            steps.append(settings.dialogueLift)
        }
        #expect(steps == [3, 6, 9, 0, 3])
        var chosen = PlayerOptions()
        chosen.dialogueLift = 4
        settings = SessionSettings(chosen)
        settings.cycleDialogueLift()
        #expect(settings.dialogueLift == 6)
        #expect(KeyBindings.action(for: "C") == .cycleDialogueLift && KeyBindings.action(for: "n") == .toggleNightMode)
    }

    @Test func nothingLeavesItsRange() {
        var settings = SessionSettings(PlayerOptions())
        for _ in 0..<100 { settings.multiplySpeed(by: 2) }
        #expect(settings.speed == 4)
        for _ in 0..<100 { settings.multiplySpeed(by: 0.5) }
        #expect(settings.speed == 0.25)
    }

    @Test func whatAPageListsIsPutBehindItOnce() {
        var queue = PlayQueue(["a", "page", "z"].map { PlayQueue.Item(address: $0) }, loop: .times(0))
        let more = ["b", "c"].map { PlayQueue.Item(address: $0) }
        let answers = ["page", "page", "gone"].map { queue.insert(more, behind: $0) }
        #expect(answers == [true, false, false], "a second playing lists them again")
        #expect((0..<queue.count).map { queue.item($0).address } == ["a", "page", "b", "c", "z"])
    }
}
