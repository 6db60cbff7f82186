import AirPlay
import AirPlayTransport
import AirPlayWire
import Discovery
import Foundation
import MediaCore
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import TalkieApp

@Suite struct SpeakerScanTests {
    /// The result of a scan of a scripted network.
    private struct ScanResult {
        var output = ""
        var remarks: [String] = []
        var error: DiscoveryError?
    }

    private func scan(
        _ network: ScriptedNetwork, _ scan: SpeakerScan = SpeakerScan(), sinks: [OutputDestination] = [],
        readsOn: Int = .max
    ) -> ScanResult {
        var result = ScanResult()
        var parts = 0
        do throws(DiscoveryError) {
            try scan.run(
                network, clock: network.clock,
                list: { entries in
                    entries.map {
                        SpeakerListing(entry: $0, decision: .decide(for: $0.leader), isPaired: false)
                    }
                },
                sinks: { sinks },
                write: {
                    result.output += $0
                    parts += 1
                    return parts < readsOn
                }, remark: { result.remarks.append($0) })
        } catch {
            result.error = error
        }
        return result
    }

    private func unsettled(_ speakers: DiscoveredSpeaker...) -> SpeakerBrowser.Snapshot {
        var snapshot = ScriptedNetwork.listing()
        snapshot.speakers = speakers
        snapshot.isSettled = false
        return snapshot
    }

    @Test func theListIsPrintedAsSoonAsAllWhoAreAwakeHaveAnswered() {
        let network = ScriptedNetwork(
            (.milliseconds(30), unsettled(.announced("Kitchen"))),
            (
                .milliseconds(900),
                ScriptedNetwork.listing(.announced("Kitchen"), .announced("Office", id: "02:00:00:00:00:02"))
            ))
        let result = self.scan(network)
        #expect(network.elapsed == .milliseconds(900))
        #expect(result.output.hasPrefix("Kitchen\n    Box  10.0.0.5:7000  02:00:00:00:00:01\n"))
        #expect(result.output.contains("\nOffice\n") && result.remarks.isEmpty)
    }

    @Test func anEmptyNetworkIsLookedAtForThreeSecondsAndSaidSo() throws {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing()))
        let result = self.scan(network)
        #expect(network.elapsed == .seconds(3))
        #expect(result.output.isEmpty && result.remarks.count == 1)
        var json = SpeakerScan()
        json.isJSON = true
        let printed = self.scan(ScriptedNetwork((.zero, ScriptedNetwork.listing())), json).output
        let object = try #require(try JSONSerialization.jsonObject(with: Data(printed.utf8)) as? [String: Any])
        #expect((object["speakers"] as? [Any])?.isEmpty == true && object["note"] is String)
    }

    @Test func theOutputsOfTheSoundServerFollowTheSpeakersWithTheNamesThatSelectThem() throws {
        let headset = OutputDestination(
            provider: "soundcard", id: "sink:bluez_output.1\u{1B}", name: "WH-1000XM4", kind: .soundCard)
        func printed(_ scan: SpeakerScan = SpeakerScan(), _ speakers: DiscoveredSpeaker...) -> String {
            var snapshot = ScriptedNetwork.listing()
            snapshot.speakers = speakers
            return self.scan(ScriptedNetwork((.zero, snapshot)), scan, sinks: [headset]).output
        }
        let sink = "WH-1000XM4\n    output of the sound server  sink:bluez_output.1\u{FFFD}\n"
        #expect(printed() == sink)
        let both = printed(SpeakerScan(), .announced("Kitchen"))
        #expect(both.hasPrefix("Kitchen\n") && both.hasSuffix(sink))
        var json = SpeakerScan()
        json.isJSON = true
        let object = try JSONSerialization.jsonObject(with: Data(printed(json).utf8)) as? [String: Any]
        #expect(object?["sinks"] as? [[String: String]] == [["name": headset.name, "id": headset.id]])
        let without = self.scan(
            ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon."))), sinks: [headset])
        #expect(without.output == sink && without.error?.message == "start avahi-daemon.")
        let answer = self.scan(
            ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon."))), json, sinks: [headset]
        ).output
        let listed = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
        #expect((listed?["sinks"] as? [Any])?.count == 1 && listed?["note"] as? String == "start avahi-daemon.")
        // A watch reports the changes of the network.
        var watch = SpeakerScan()
        watch.watches = true
        #expect(printed(watch, .announced("Kitchen")).hasPrefix("+ Kitchen\n"))
        #expect(!printed(watch, .announced("Kitchen")).contains(headset.name))
    }

    @Test func aTimeThatWasAskedForIsUsedUp() {
        var patient = SpeakerScan()
        patient.limit = .seconds(20)
        let network = ScriptedNetwork(
            (.zero, ScriptedNetwork.listing(.announced("Kitchen"))),
            (
                .seconds(15),
                ScriptedNetwork.listing(.announced("Kitchen"), .announced("Office", id: "02:00:00:00:00:02"))
            ))
        #expect(self.scan(network, patient).output.contains("Office"))
        #expect(network.elapsed == .seconds(20))
    }

    @Test func aWatchReportsAdditionsChangesAndRemovals() {
        var watch = SpeakerScan()
        watch.watches = true
        let network = ScriptedNetwork(
            (.zero, ScriptedNetwork.listing(.announced("Kitchen"))),
            (.seconds(60), ScriptedNetwork.listing(.announced("Kitchen", "flags=0x20004"))),
            (.seconds(90), ScriptedNetwork.without("start avahi-daemon.")),
            (.seconds(100), ScriptedNetwork.listing()))
        let result = self.scan(network, watch)
        let lines = result.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
        #expect(lines == ["+ Kitchen", "- Kitchen"] || lines == ["+ Kitchen", "~ Kitchen", "- Kitchen"])
        #expect(result.output.contains("~ Kitchen") && result.output.contains("busy"))
        #expect(result.remarks == ["start avahi-daemon."])
    }

    @Test func aWatchEndsWhenItsReaderIsGone() {
        var watch = SpeakerScan()
        watch.watches = true
        watch.isJSON = true
        let network = ScriptedNetwork(
            (.zero, ScriptedNetwork.listing(.announced("Kitchen"))), (.seconds(60), ScriptedNetwork.listing()))
        let result = self.scan(network, watch, readsOn: 1)
        #expect(result.output.hasPrefix(#"{"event":"appeared","speaker":{"name":"Kitchen""#))
        #expect(network.elapsed == .zero)
    }

    @Test func withoutADaemonTheLookEndsWithTheRemedy() {
        for watches in [false, true] {
            var scan = SpeakerScan()
            scan.watches = watches
            let network = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
            let result = self.scan(network, scan)
            #expect(result.error?.message == "start avahi-daemon." && result.output.isEmpty)
            #expect(network.elapsed == SpeakerBrowser.answerTimeout)
        }
    }

    @Test func nothingThatAStrangerAnnouncesReachesTheTerminalAsACommand() throws {
        // Through the directory, which creates all speakers from announcements.
        var directory = SpeakerDirectory()
        let evil = "Kit\u{1B}]0;gone\u{07}chen\n\u{9B}2J\u{202E}"
        let service = ServiceName(kind: .airPlay, instance: evil, interface: 1, family: .v4)
        _ = directory.found(service)
        let strings = ["deviceid=02:00:00:00:00:01", "features=0x405C4A00,0x5A340", "model=\(evil)", "gpn=\(evil)"]
        directory.resolved(
            service, at: NetworkEndpoint(NetworkAddress("10.0.0.5")!, port: 7000),
            record: try TXTRecord(strings: strings.map { Array($0.utf8) }))
        var snapshot = ScriptedNetwork.listing()
        snapshot.speakers = directory.speakers
        for isJSON in [false, true] {
            for watches in [false, true] {
                var scan = SpeakerScan()
                scan.isJSON = isJSON
                scan.watches = watches
                let output = self.scan(ScriptedNetwork((.zero, snapshot)), scan).output
                #expect(output.contains("Kit"))
                let hazards = output.unicodeScalars.filter { $0 != "\n" && $0.properties.generalCategory == .control }
                #expect(hazards.isEmpty && !output.contains("\u{202E}"))
            }
        }
    }
}
