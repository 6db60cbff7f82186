import AirPlay
import AirPlayTransport
import AirPlayWire
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import CardOutput
@testable import Storage

/// The offers of the two built-in providers.
@Suite struct ProviderOfferTests {
    private let folder = TemporaryFolder()

    private func cards(_ devices: String...) -> OutputOffer {
        SoundCardProvider().offer(devices.map { SoundCardProbe.Device(name: $0, description: "about \($0)") })
    }

    private func speakers(_ snapshot: SpeakerBrowser.Snapshot) -> OutputOffer {
        AirPlayProvider(knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path))).offer(snapshot)
    }

    @Test func thisComputerIsAlwaysThereAndAloneNothingToChoose() {
        let alone = cards("sysdefault:CARD=PCH", "pulse", "hw:0")
        #expect(alone.destinations.map(\.id) == ["local"])
        #expect(!alone.hasSeveral)
    }

    @Test func severalCardsAreListedOnceEach() {
        let several = cards("sysdefault:CARD=PCH", "front:CARD=PCH", "hdmi:CARD=HDMI", "plughw:1")
        #expect(several.destinations.map(\.id) == ["local", "alsa:sysdefault:CARD=PCH", "alsa:hdmi:CARD=HDMI"])
        #expect(several.hasSeveral)
    }

    @Test func aCardThatIsChosenIsTheOneThatItsPlaceNames() throws {
        let provider = SoundCardProvider(device: "pulse")
        let offer = provider.offer([
            SoundCardProbe.Device(name: "sysdefault:CARD=A", description: ""),
            SoundCardProbe.Device(name: "sysdefault:CARD=B", description: ""),
        ])
        let cards = try offer.destinations.map { try #require(provider.outputs(at: $0).first as? SoundCard) }
        #expect(cards.map(\.device) == ["pulse", "sysdefault:CARD=A", "sysdefault:CARD=B"])
        #expect(provider.outputs(at: offer.destinations[0]).first === cards[0], "the same place has the same output")
    }

    @Test func speakersAreListedByNameWithTheirObstacles() {
        let places = speakers(
            ScriptedNetwork.listing(
                .announced("Kitchen"), .announced("Bath", id: "02:00:00:00:00:02", "flags=0x204"))
        ).destinations
        #expect(places.map(\.name) == ["Bath", "Kitchen"])
        #expect(places[0].obstacle?.contains("paired first") == true && places[1].obstacle == nil)
        #expect(places[1].kind == .speaker && places[1].provider == "airplay")
        let nameless = speakers(
            ScriptedNetwork.listing(
                DiscoveredSpeaker(id: nil, name: "Den", traits: SpeakerTraits(), endpoints: [])))
        #expect(nameless.destinations.map(\.id) == ["name:Den"])
    }

    @Test(arguments: [
        ("model=AppleTV11,1", "features=0x4A7FDFD5,0x3C155FDE", OutputDestination.Kind.television),
        ("model=TV", "features=0x7F8AD0,0x38BCB46", .television), ("model=TV", "features=0x200,0x20000", .television),
        ("model=MacBookPro18,1", "features=0x4A7FCFD5,0x38174FDE", .computer),
        ("model=AudioAccessory5,1", "features=0x4A7FCA00,0x3C356BD0", .speaker),
    ])
    func whatShowsVideoIsATelevisionUnlessItIsAMac(_ model: String, _ features: String, _ kind: OutputDestination.Kind)
    {
        let place = speakers(ScriptedNetwork.listing(.announced("Den", features, model))).destinations[0]
        #expect(place.kind == kind)
    }

    /// A network on which nothing changes.
    private struct StillNetwork: SpeakerSource {
        let snapshot: SpeakerBrowser.Snapshot

        func wait(
            until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
        ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool) {
            if condition(snapshot) { return (snapshot, true) }
            Signal().wait(until: deadline)
            return (snapshot, false)
        }
    }

    @Test(.timeLimit(.minutes(10))) func aSpeakerThatAnotherProcessPairsIsOfferedWithoutItsObstacle() throws {
        let state = StateFolder(path: folder.path)
        let bath = DiscoveredSpeaker.announced("Bath", id: "02:00:00:00:00:02", "flags=0x204")
        let id = try #require(bath.id)
        let provider = AirPlayProvider(knowledge: SpeakerKnowledge(folder: state))
        let interruption = Interruption()
        var obstacles: [String?] = []
        provider.watch(StillNetwork(snapshot: ScriptedNetwork.listing(bath)), until: interruption) { offer in
            obstacles.append(offer.destinations.first?.obstacle)
            if obstacles.count > 1 { return interruption.raise(status: 0) }
            let accessory = PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 1, count: 32))
            try? SpeakerKnowledge(folder: state).pairings.store(
                SpeakerCredentials(accessory: accessory), for: id, name: "Bath")
        }
        #expect(obstacles.count == 2 && obstacles[0] != nil && obstacles[1] == nil, "\(obstacles)")
    }

    @Test func withoutADaemonANoteSaysWhatIsMissing() {
        let blind = speakers(ScriptedNetwork.without("start avahi-daemon"))
        #expect(blind.destinations.isEmpty)
        #expect(blind.note == "start avahi-daemon")
    }

    @Test func aSpeakerWhoseAnnouncementIsGoneIsRefusedWithItsName() throws {
        let provider = AirPlayProvider(knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path)))
        let place = try #require(provider.offer(ScriptedNetwork.listing(.announced("Kitchen"))).destinations.first)
        _ = provider.offer(ScriptedNetwork.listing())
        let error = try #require(throws: TalkieError.self) { try provider.outputs(at: place) }
        #expect(error.code == .unavailable && error.message.contains("'Kitchen'"))
    }
}
