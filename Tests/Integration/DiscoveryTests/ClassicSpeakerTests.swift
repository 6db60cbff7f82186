import AirPlayTransport
import ClassicAirPlay
import Discovery
import Foundation
import MediaCore
import Sockets
import Storage
import SyncRendering
import Testing

@testable import VirtualSpeaker

extension SpeakerBrowserTests {
    @Test func aSpeakerOfClassicAirPlayIsFoundByItsNameAndAMissingOneIsNot() throws {
        let record = SpeakerRecord()
        let made = ServiceAnnouncement(
            .raop, name: "020000000008@Old Room", host: "talkie-old-room", address: NetworkAddress("10.99.0.8")!,
            port: 5123, strings: SpeakerDescription.classic(SpeakerConfiguration()),
            failed: { record.record(.notAnnounced(reason: $0)) })
        let announcement = try #require(made)
        defer { announcement.stop() }
        let found = try SpeakerBrowser().wait(until: .now.advanced(by: .seconds(15))) { snapshot in
            snapshot.speakers.contains { $0.name == "Old Room" && !$0.raopEndpoints.isEmpty }
        }
        #expect(found.satisfied, "not found; \(record.events)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "talkie-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let provider = ClassicAirPlayProvider(
            folder: StateFolder(path: folder.path), preferring: SpeakerPreferenceTable())
        let places = try provider.find(["old room"], until: Interruption()) { _ in }
        #expect(places.map(\.id) == ["02:00:00:00:00:08"] && places.first?.name == "Old Room")
        #expect(try provider.outputs(at: try #require(places.first)).count == 1)
        #expect(provider.offer(found.snapshot).destinations.map(\.id) == ["02:00:00:00:00:08"])
        #expect(try provider.find(["Nobody"], until: Interruption()) { _ in }.isEmpty)
    }
}
