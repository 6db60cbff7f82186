import AirPlayTransport
import AirPlayWire
import Sockets
import Testing

@testable import ClassicAirPlay

/// Which speakers classic AirPlay uses, and how.
struct ClassicDecisionTests {
    private func speaker(_ strings: [String], hasClassic: Bool = true) throws -> DiscoveredSpeaker {
        let endpoints = [NetworkEndpoint(try #require(NetworkAddress("192.0.2.5")), port: 5000)]
        return DiscoveredSpeaker(
            id: nil, name: "Box", traits: SpeakerTraits(try TXTRecord(strings: strings.map { Array($0.utf8) })),
            endpoints: hasClassic ? [] : endpoints, raopEndpoints: hasClassic ? endpoints : [])
    }

    private func decide(_ strings: String...) throws -> ClassicDecision { .decide(for: try speaker(strings)) }

    @Test func encryptionIsUsedOnlyWhereItIsRequired() throws {
        #expect(try decide("et=0,1", "cn=0,1").method == ClassicMethod())
        #expect(try decide("et=1", "cn=0,1").method == ClassicMethod(isEncrypted: true))
        #expect(
            try decide("et=0,1", "ek=1", "cn=0,1").method
                == ClassicMethod(isEncrypted: true, hasUpperCaseDigest: true))
        #expect(try decide("et=0,4").method == ClassicMethod(needsSetup: true))
        #expect(try decide("et=4").method == ClassicMethod(needsSetup: true))
        #expect(try decide("am=AirPort4,107").method == ClassicMethod())
        let fairPlay = try decide("et=3,5")
        #expect(fairPlay.method == nil && fairPlay.reason.contains("FairPlay"))
    }

    @Test func whatCannotBePlayedToIsNotOffered() throws {
        #expect(try decide("et=0", "cn=2").method == nil)
        #expect(try decide("et=0", "tp=TCP").method == nil)
        #expect(try decide("et=0", "sf=0x8").method == nil)
        #expect(ClassicDecision.decide(for: try speaker(["et=0"], hasClassic: false)).method == nil)
    }

    @Test func homePodsThatStaySilentAreNotOffered() throws {
        func isOffered(_ version: String) throws -> Bool {
            try decide("et=0,4", "am=AudioAccessory5,1", version).method != nil
        }
        #expect(try isOffered("ov=26.5"))
        #expect(try !isOffered("ov=26.6"))
        #expect(try !isOffered("ov=27.0"))
        #expect(try isOffered("vs=860.7.1"))
        #expect(try !isOffered("vs=980.1"))
    }
}
