import AirPlay
import AirPlayTransport
import Discovery
import MediaCore
import Sockets
import Testing

@Suite struct SpeakerNamingTests {
    @Test(arguments: [
        ("airplay://kitchen.local", "kitchen.local", 7000), ("AirPlay://10.0.0.5:7001/", "10.0.0.5", 7001),
        ("airplay://[fd00::5]", "fd00::5", 7000), ("airplay://[fe80::5%25lo]:80", "fe80::5%lo", 80),
        ("airplay://[fe80::5%lo]", "fe80::5%lo", 7000), ("airplay://küche", "küche", 7000),
    ])
    func addressesAreRead(_ text: String, _ host: String, _ port: UInt16) throws {
        let address = try SpeakerAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(try SpeakerAddress(address.description) == address)
    }

    @Test(arguments: [
        "", "kitchen", "http://a", "airplay://", "airplay://:7000", "airplay://a:b", "airplay://a:0",
        "airplay://a:65536", "airplay://a:+5", "airplay://fd00::5", "airplay://[fd00::5", "airplay://[10.0.0.1]",
        "airplay://[fd00::5]x", "airplay://a b",
        "airplay://a/b", "airplay://user@a", "airplay://[fe80::1%nosuchinterface]", "airplay://[fe80::1]",
    ])
    func whatIsNoAddressSaysHowToWriteOne(_ text: String) {
        let error = #expect(throws: DiscoveryError.self) { try SpeakerAddress(text) }
        #expect(error?.code == .badAddress)
        #expect(error?.message.contains("airplay://HOST") == true)
    }

    @Test func aQueryIsAnAddressAnIdOrAName() throws {
        #expect(try SpeakerQuery("local") == .local)
        #expect(try SpeakerQuery("airplay://h") == .address(SpeakerAddress(host: "h")))
        #expect(try SpeakerQuery("a1:b2:c3:d4:e5:f6") == .id(#require(SpeakerID("A1B2C3D4E5F6"))))
        #expect(try SpeakerQuery("Kitchen") == .name("Kitchen"))
        #expect(throws: DiscoveryError.self) { try SpeakerQuery("airplay://") }
    }

    @Test func idsAreOneInEveryForm() {
        let id = SpeakerID("a1:b2:c3:d4:e5:f6")
        #expect(id?.description == "A1:B2:C3:D4:E5:F6")
        #expect(id == SpeakerID("A1-B2-C3-D4-E5-F6"))
        #expect(SpeakerID("A1B2C3D4E5F60718")?.digits == "A1B2C3D4E5F60718")
        for text in [
            "", "00:00:00:00:00:00", "A1B2", "A1:B2-C3:D4:E5:F6", "a1:b2:c3:d4:e5:f", "../../../etcd", "g1b2c3d4e5f6",
        ] {
            #expect(SpeakerID(text) == nil, "\(text)")
        }
    }

    @Test func versionsCompareByNumber() throws {
        let order = ["354.54.6", "366", "366.0.1", "860.7.1", "980"].map { DottedVersion($0)! }
        for (index, low) in order.enumerated() { for high in order[(index + 1)...] { #expect(low < high) } }
        #expect(DottedVersion("366") == DottedVersion("366.0"))
        #expect(DottedVersion("18.2 (22K)")?.description == "18.2")
        #expect(DottedVersion("p20.7") == nil)
        #expect(DottedVersion("99999999999.1") == nil)
    }
}

@Suite struct SpeakerListingTests {
    private func listing(_ strings: [String], name: String) throws -> SpeakerListing {
        let speaker = DiscoveredSpeaker(
            id: SpeakerID("020000000001"), name: name, traits: try KnownSpeakers.traits(strings),
            endpoints: [NetworkEndpoint(NetworkAddress("10.0.0.5")!, port: 7000)])
        return SpeakerListing(
            entry: SpeakerEntry.entries(of: [speaker])[0], decision: .decide(for: speaker), isPaired: false)
    }

    @Test func aListingSaysWhatASpeakerIsAndHowItWouldBeDriven() throws {
        #expect(
            try listing(KnownSpeakers.shairportSync, name: "Kitchen").text() == """
                Kitchen
                    ShairportSync  10.0.0.5:7000  02:00:00:00:00:01
                    can: AirPlay 2, buffered, PTP
                    buffered: advertises bit 40, PTP ports available

                """)
        let television = try listing(KnownSpeakers.appleTV, name: "TV")
        #expect(television.todo?.action == .pairByPIN && television.todo?.outputName == "TV")
        #expect(television.text { "press \($0.action.rawValue)" }.contains("    first: press pair-by-pin\n"))
        #expect(try listing(KnownSpeakers.marantzNR1607, name: "Old").text().contains("it does not support AirPlay 2"))
    }

    @Test func aSpeakerThatClassicAirPlayUsesSaysSoAndWhy() throws {
        var old = try listing(KnownSpeakers.marantzNR1607, name: "Old")
        old.classic = "it accepts audio without encryption"
        #expect(
            old.text().contains(
                "    classic: it accepts audio without encryption, and it does not support AirPlay 2 (it advertises "
                    + "neither bit 38 nor bit 48)\n"))
        let json = SpeakerListing.json([old], note: nil)
        #expect(json.contains(#""route":"classic","obstacle":null,"reason":"it accepts audio without encryption""#))
        var new = try listing(KnownSpeakers.shairportSync, name: "New")
        new.classic = "it accepts audio without encryption"
        #expect(SpeakerListing.json([new], note: nil).contains(#""alternatives":["realtime","classic"]"#))
    }

    @Test func jsonHoldsTheSameAndSurvivesEveryName() throws {
        let odd = try listing(KnownSpeakers.shairportSync, name: "a\"b\\c\u{FFFD}d")
        let json = SpeakerListing.json([odd], note: nil)
        #expect(json.hasPrefix(#"{"speakers":[{"name":"a\"b\\c"#))
        #expect(json.contains(#""route":"buffered","obstacle":null"#))
        #expect(json.hasSuffix("\"note\":null}\n"))
    }

    @Test func aWatcherHearsWhatAppearedChangedAndVanished() throws {
        let before = try listing(KnownSpeakers.shairportSync, name: "A")
        let after = try listing(["flags=0x20004"] + KnownSpeakers.shairportSync, name: "A")
        let other = try listing(KnownSpeakers.sonosEra, name: "B")
        #expect(ListingChange.between([], [before]) == [.appeared(before)])
        #expect(ListingChange.between([before], [after]) == [.changed(after)])
        #expect(ListingChange.between([before], [before]) == [])
        #expect(ListingChange.between([before], [other]) == [.vanished(before), .appeared(other)])
        #expect(ListingChange.vanished(before).text() == "- A\n")
    }
}
