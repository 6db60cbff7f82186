import AirPlayTransport
import AirPlayWire
import MediaCore
import Sockets
import Storage
import TalkieTestKit
import Testing

@testable import ClassicAirPlay

/// Speakers with stored credentials, which classic AirPlay does not authenticate.
struct ClassicChoiceTests {
    private let folder = TemporaryFolder()
    private let id = SpeakerID("AA:BB:CC:DD:EE:FF")!

    private func choose(
        _ credentials: SpeakerCredentials?, _ route: Route? = nil, password: Bool = false
    ) throws -> ClassicChoice {
        let (identity, _) = InstallationIdentity.load(from: StateFolder(path: folder.path))
        let pairings = PairingStore(StateFolder(path: folder.path), identity: identity)
        if let credentials { try pairings.store(credentials, for: id, name: "Box") }
        let record = ["et=0,1", "cn=0,1"] + (password ? ["pw=true"] : [])
        let speaker = DiscoveredSpeaker(
            id: id, name: "Box", traits: SpeakerTraits(try TXTRecord(strings: record.map { Array($0.utf8) })),
            endpoints: [],
            raopEndpoints: [NetworkEndpoint(try #require(NetworkAddress("192.0.2.5")), port: 5000)])
        return try ClassicChoice(
            speaker, query: .name("Box"), pairings: pairings,
            preferences: SpeakerPreferences(route: route.map { .only($0) }))
    }

    private let paired = SpeakerCredentials(
        accessory: PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 7, count: 32)))

    @Test func aSpeakerThatWasPairedGetsNoSoundByAProtocolThatProvesNothing() throws {
        for credentials in [paired, SpeakerCredentials(password: "secret")] {
            let error = #expect(throws: TalkieError.self) { try choose(credentials) }
            #expect(error?.code == .notPermitted)
        }
    }

    @Test func theUserCanRequestItAllTheSame() throws {
        #expect(try choose(paired, .classic).password == nil)
        #expect(try choose(SpeakerCredentials(password: "secret"), .classic).password == "secret")
    }

    @Test func aPasswordForClassicAirPlayIsKeptApart() throws {
        #expect(try choose(SpeakerCredentials(classicPassword: "old"), password: true).password == "old")
        #expect(throws: TalkieError.self) { try choose(SpeakerCredentials(), password: true) }
    }
}
