import AirPlayTransport
import AirPlayWire
import Foundation
import MediaCore
import Sockets
import Storage
import SyncRendering
import Testing

@testable import ClassicAirPlay

/// Which speakers get sound by classic AirPlay, and with which password.
@Suite struct ClassicChoiceTests {
    private let folder = StateFolder(
        path:
            FileManager.default.temporaryDirectory.appending(path: "talkie-classic-\(UUID().uuidString)").path)
    private let id = SpeakerID("020000000001")!

    private func entry(_ strings: String...) throws -> SpeakerEntry {
        let speaker = DiscoveredSpeaker(
            id: id, name: "Box", traits: SpeakerTraits(try TXTRecord(strings: strings.map { Array($0.utf8) })),
            endpoints: [],
            raopEndpoints: [NetworkEndpoint(try #require(NetworkAddress("192.0.2.5")), port: 5000)])
        return SpeakerEntry(kind: .single, name: "Box", members: [speaker], hidden: [])
    }

    private func store(_ credentials: SpeakerCredentials) throws {
        let identity = InstallationIdentity.load(from: folder).identity
        try PairingStore(folder, identity: identity).store(credentials, for: id, name: "Box")
    }

    private func place(
        _ entry: SpeakerEntry, preferring route: SpeakerPreferences.RouteRequest? = nil
    ) throws(TalkieError) -> OutputDestination {
        let table = SpeakerPreferenceTable(SpeakerPreferences(route: route))
        return try ClassicAirPlayProvider(folder: folder, preferring: table).destination(of: entry, .name("Box"))
    }

    @Test func aSpeakerIsPlacedUnderItsIdentifier() throws {
        let place = try place(try entry("et=0"))
        #expect(place.id == id.description && place.provider == "classic-airplay" && place.name == "Box")
    }

    @Test func anotherRouteExcludesClassicAirPlay() throws {
        #expect(try place(try entry("et=0"), preferring: .only(.classic)).name == "Box")
        #expect(try place(try entry("et=0"), preferring: .best).name == "Box")
        let error = try #require(throws: TalkieError.self) {
            try place(try entry("et=0"), preferring: .only(.realtime))
        }
        #expect(error.code == .unsupported && error.message.contains("realtime"))
    }

    /// A request counts until another one, if the speaker played.
    @Test func aRequestedRouteIsStoredAfterPlaying() throws {
        let routes = RouteStore(folder)
        func use(_ route: SpeakerPreferences.RouteRequest?, plays: Bool = true) throws -> Route? {
            let provider = ClassicAirPlayProvider(
                folder: folder, preferring: SpeakerPreferenceTable(SpeakerPreferences(route: route)))
            let place = try provider.destination(of: entry("et=0"), .name("Box"))
            let box = try #require(try provider.outputs(at: place).first as? ClassicSpeaker)
            box.state.withLock { $0.details.hasPlayed = plays }
            box.close()
            provider.remember()
            return routes.memory(of: id).memory?.wanted
        }
        #expect(try use(.only(.classic), plays: false) == nil && routes.memory(of: id).memory == nil)
        #expect(try use(nil) == nil && use(.best) == nil && routes.memory(of: id).memory == nil)
        #expect(try use(.only(.classic)) == .classic)
        #expect(try use(nil) == .classic && use(.best, plays: false) == .classic)
        #expect(try use(.best) == nil)
    }

    @Test func aSpeakerThatWasPairedByAirPlay2GetsNeitherSoundNorDigest() throws {
        for credentials in [
            SpeakerCredentials(password: "secret"),
            SpeakerCredentials(
                accessory: PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 2, count: 32))),
        ] {
            try store(credentials)
            let error = try #require(throws: TalkieError.self) { try place(try entry("et=0", "pw=true")) }
            #expect(error.code == .notPermitted && error.message.contains("cannot authenticate"))
        }
    }

    @Test func aPasswordIsNeededOnceAndKept() throws {
        let error = try #require(throws: TalkieError.self) { try place(try entry("et=0", "pw=true")) }
        #expect(error.code == .notPermitted && error.remedy?.action == .givePassword)
        try store(SpeakerCredentials(password: "secret", isClassic: true))
        #expect(try place(try entry("et=0", "pw=true")).name == "Box")
    }

    @Test func aPlaceThatNeedsItsPasswordSaysSo() throws {
        var snapshot = SpeakerBrowser.Snapshot()
        snapshot.speakers = try entry("et=0", "pw=true").members
        let place = try #require(
            ClassicAirPlayProvider(folder: folder, preferring: SpeakerPreferenceTable()).offer(snapshot).destinations
                .first)
        #expect(place.pairing == .password && place.obstacle?.isEmpty == false)
        snapshot.speakers = try entry("et=3").members
        #expect(ClassicAirPlayProvider(folder: folder).offer(snapshot).destinations.isEmpty)
    }
}
