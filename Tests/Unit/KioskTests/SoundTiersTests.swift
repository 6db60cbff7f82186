import Testing

@testable import Kiosk

/// Which speakers play while others are unavailable.
@Suite struct SoundTiersTests {
    private func tiers(
        _ wanted: [String] = ["Kitchen", "Hall"], _ fallbacks: [String] = ["Office"], present: [String] = [],
        lost: [String] = [], waitsForWanted: Bool = false
    ) -> OutputTiers {
        var tiers = OutputTiers(wanted: wanted, fallbacks: fallbacks)
        for name in present { tiers.setPresence(name, .present) }
        for name in lost { tiers.setPresence(name, .lost) }
        tiers.waitsForWanted = waitsForWanted
        return tiers
    }

    @Test func thoseThatAreWantedPlayAsSoonAsOneOfThemIsThere() {
        #expect(tiers(present: ["Hall", "Office", "local"], waitsForWanted: true).choice?.audible == ["Hall"])
    }

    @Test func noFallbackPlaysDuringTheSearch() {
        #expect(tiers(present: ["Office", "local"], waitsForWanted: true).choice == nil)
    }

    @Test func aLostSpeakerStaysAMemberSoThatItRejoins() {
        let choice = tiers(present: ["Hall", "Office"], lost: ["Kitchen"]).choice
        #expect(choice?.members == ["Kitchen", "Hall"])
        #expect(choice?.audible == ["Hall"])
        #expect(choice?.isFallback == false)
    }

    @Test func fallbacksTakeOverInTheirOrderAndThisComputerIsTheLast() {
        let lost = ["Kitchen", "Hall"]
        #expect(tiers(present: ["Office", "local"], lost: lost).choice?.audible == ["Office"])
        #expect(tiers(present: ["local"], lost: lost + ["Office"]).choice?.audible == ["local"])
        #expect(tiers(present: ["local"], lost: lost).choice?.members == ["Kitchen", "Hall", "local"])
    }

    @Test func aReturnedSpeakerReplacesTheFallback() {
        var tiers = tiers(present: ["Office", "local"], lost: ["Kitchen", "Hall"])
        #expect(tiers.choice?.isFallback == true)
        tiers.setPresence("Kitchen", .present)
        #expect(
            tiers.choice == OutputTiers.Choice(members: ["Kitchen", "Hall"], audible: ["Kitchen"], isFallback: false))
    }

    @Test func thisComputerIsNoFallbackOfItself() {
        #expect(tiers(["local"], ["local"]).fallbacks.isEmpty)
    }

    @Test func withoutSpeakersThisComputerIsAMemberThatIsNotHeard() {
        let choice = tiers([], ["Office"], present: ["Office", "local"]).choice
        #expect(choice == OutputTiers.Choice(members: ["local"], audible: [], isFallback: false))
    }

    @Test func withoutOutputsNothingIsChosen() { #expect(tiers().choice == nil) }
}
