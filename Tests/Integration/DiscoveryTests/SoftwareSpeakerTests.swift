import AirPlay
import AirPlayTransport
import Discovery
import MediaCore
import PTP
import Sockets
import Testing

@testable import VirtualSpeaker

extension SpeakerBrowserTests {
    @Test(arguments: ["10.99.0.7", "fd00:99::7"])
    func aSpeakerInSoftwareIsFoundUnderAnAddressOfItsOwn(_ address: String) throws {
        let browser = try SpeakerBrowser()
        let record = SpeakerRecord()
        let made = ServiceAnnouncement(
            .airPlay, name: "Rehearsal", host: "talkie-rehearsal", address: NetworkAddress(address)!, port: 7123,
            strings: ["deviceid=02:00:00:00:00:07", "model=TalkieSpeaker", "flags=0x4"],
            failed: { record.record(.notAnnounced(reason: $0)) })
        let announcement = try #require(made)
        let found = browser.wait(until: .now.advanced(by: .seconds(15))) { snapshot in
            snapshot.speakers.contains { $0.name == "Rehearsal" && !$0.endpoints.isEmpty }
        }
        let speaker = try #require(
            found.snapshot.speakers.first { $0.name == "Rehearsal" }, "not found; \(record.events)")
        #expect(speaker.endpoints == [NetworkEndpoint(NetworkAddress(address)!, port: 7123)])
        // Another daemon does not know what was announced to the first one.
        DiscoveryNetwork.shared.stopDaemon()
        DiscoveryNetwork.shared.startDaemon()
        let again = try SpeakerBrowser().wait(until: .now.advanced(by: .seconds(15))) { snapshot in
            snapshot.speakers.contains { $0.name == "Rehearsal" && !$0.endpoints.isEmpty }
        }
        #expect(again.satisfied, "not found again; \(record.events)")
        announcement.stop()
        let gone = browser.wait(until: .now.advanced(by: .seconds(15))) { $0.speakers.isEmpty }
        #expect(gone.satisfied)
    }
}
