import AirPlay
import MediaCore
import Testing

@testable import LocalOutput
@testable import Routing

@Suite struct RouteDetectorTests {
    private func device(_ name: String) -> SoundCardProbe.Device {
        SoundCardProbe.Device(name: name, description: "about \(name)")
    }

    private func offer(_ snapshot: SpeakerBrowser.Snapshot, _ devices: String...) -> RouteDetector.Offer {
        RouteDetector.offer(
            device: nil, snapshot: snapshot, devices: devices.map(device),
            obstacle: { $0.name == "Bath" ? "it wants a PIN" : nil })
    }

    @Test func thisComputerIsAlwaysThereAndAloneNothingToChoose() {
        let alone = offer(SpeakerBrowser.Snapshot(), "sysdefault:CARD=PCH", "pulse", "hw:0")
        #expect(alone.routes.map(\.id) == ["local"])
        #expect(!alone.hasSeveral)
    }

    @Test func severalCardsAreListedOnceEach() {
        let several = offer(
            SpeakerBrowser.Snapshot(), "sysdefault:CARD=PCH", "front:CARD=PCH", "hdmi:CARD=HDMI", "plughw:1")
        #expect(several.routes.map(\.id) == ["local", "alsa:sysdefault:CARD=PCH", "alsa:hdmi:CARD=HDMI"])
        #expect(several.hasSeveral)
    }

    @Test func speakersComeByNameWithWhatStandsInTheWay() {
        let there = ScriptedNetwork.listing(
            DiscoveredSpeaker(id: nil, name: "Kitchen", traits: SpeakerTraits(), endpoints: []),
            DiscoveredSpeaker(id: nil, name: "Bath", traits: SpeakerTraits(), endpoints: []))
        let routes = offer(there).routes
        #expect(routes.map(\.name) == ["This computer", "Bath", "Kitchen"])
        #expect(routes.map(\.obstacle) == [nil, "it wants a PIN", nil])
        #expect(routes[2].id == "name:Kitchen" && routes[2].kind == .speaker)
    }

    @Test func withoutADaemonTheCardsAreThereAndANoteSaysWhatIsMissing() {
        let blind = offer(ScriptedNetwork.without("start avahi-daemon"))
        #expect(blind.routes.map(\.id) == ["local"])
        #expect(blind.note == "start avahi-daemon")
    }

    @Test(.timeLimit(.minutes(1))) func whoFollowsHearsOfWhatComesAndTheEnd() async {
        let cards = Lock(["sysdefault:CARD=A"])
        let detector = RouteDetector(
            device: nil, source: nil,
            devices: {
                cards.withLock { names in names.map { SoundCardProbe.Device(name: $0, description: $0) } }
            }, obstacle: { _ in nil }, interrupt: {})
        cards.withLock { $0.append("sysdefault:CARD=B") }
        for await offer in detector.offers where offer.hasSeveral { break }
        #expect(detector.offer.routes.count == 3)
        detector.stop()
        var rest = 0
        for await _ in detector.offers { rest += 1 }
        #expect(rest == 1, "the last offer, and then the end")
    }
}
