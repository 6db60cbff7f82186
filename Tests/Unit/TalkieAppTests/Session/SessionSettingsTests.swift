import Testing

@testable import Playback
@testable import TalkieApp

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
}
