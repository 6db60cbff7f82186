import ScreenOutput
import Testing

@testable import Kiosk

/// What a new configuration changes at once, and what waits for the next start.
@Suite struct KioskSettingsTests {
    private static let nine = KioskConfiguration.Start.time(TimeOfDay(hour: 9, minute: 0)!)

    @Test func changesAreReturnedOnce() {
        let settings = KioskSettings(KioskConfiguration())
        var fresh = KioskConfiguration()
        #expect(settings.replace(with: fresh, movesStart: true).isEmpty)
        (fresh.slate, fresh.loops, fresh.mode, fresh.imageDuration) = ("/a.png", false, .preferred, .seconds(3))
        (fresh.screen, fresh.start) = (.number(1), Self.nine)
        #expect(settings.replace(with: fresh, movesStart: true) == [.loops, .start, .imageDuration, .mode, .slate])
        #expect(settings.configuration == fresh)
        #expect(settings.replace(with: fresh, movesStart: true).isEmpty)
    }

    @Test func aStartThatHasComeWaitsForTheNextOne() {
        let settings = KioskSettings(KioskConfiguration())
        var fresh = KioskConfiguration()
        fresh.start = Self.nine
        #expect(settings.replace(with: fresh, movesStart: false).isEmpty)
        #expect(settings.start == .atOnce && settings.keysThatWait(hasAudioOutputs: true) == ["start_at"])
        // Back to the value in force.
        fresh.start = .atOnce
        #expect(settings.replace(with: fresh, movesStart: true).isEmpty)
        #expect(settings.keysThatWait(hasAudioOutputs: true).isEmpty)
        fresh.start = Self.nine
        #expect(settings.replace(with: fresh, movesStart: true) == [.start])
        #expect(settings.start == Self.nine && settings.keysThatWait(hasAudioOutputs: true).isEmpty)
    }

    @Test func keysOfTheStartWaitUntilTheyAreRestored() {
        let settings = KioskSettings(KioskConfiguration())
        var fresh = KioskConfiguration()
        (fresh.fleet, fresh.operatorScreen) = (.init(host: "127.0.0.1", name: "hall"), .other)
        #expect(settings.replace(with: fresh, movesStart: true).isEmpty)
        #expect(settings.keysThatWait(hasAudioOutputs: true) == ["operator_screen", "fleet"])
        #expect(!settings.hasOperatorScreen)
        #expect(settings.keysThatWait(hasAudioOutputs: false) == ["speakers", "operator_screen", "fleet"])
        _ = settings.replace(with: KioskConfiguration(), movesStart: true)
        #expect(settings.keysThatWait(hasAudioOutputs: true).isEmpty)
    }
}
