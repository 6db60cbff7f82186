import AirPlay
import AirPlayTransport
import AirPlayWire
import Discovery
import Foundation
import MediaCore
import Sockets
import Testing

@Suite struct DiscoveryPreconditions {
    @Test func underContinuousIntegrationDiscoveryIsTestedForReal() {
        if ProcessInfo.processInfo.environment["CI"] == "true" {
            #expect(DiscoveryNetwork.obstacle == nil)
        }
    }
}

@Suite(
    .serialized, .timeLimit(.minutes(2)),
    .enabled(if: DiscoveryNetwork.obstacle == nil, "cannot run: \(DiscoveryNetwork.obstacle ?? "")"))
struct SpeakerBrowserTests {
    private let network = DiscoveryNetwork.shared

    /// Waits until the announcements of the previous test are gone.
    init() throws {
        network.withdrawAll()
        let browser = try SpeakerBrowser()
        _ = try #require(reached(browser) { $0.isSettled && $0.speakers.isEmpty })
    }

    private func soon(_ seconds: Int = 15) -> HostInstant { HostInstant.now.advanced(by: .seconds(seconds)) }

    /// Returns the snapshot that satisfies a condition; nil on timeout.
    private func reached(
        _ browser: SpeakerBrowser, within seconds: Int = 15, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> SpeakerBrowser.Snapshot? {
        let (snapshot, satisfied) = browser.wait(until: soon(seconds), condition)
        return satisfied ? snapshot : nil
    }

    /// Announces the two services of one receiver; the device ID links them.
    private func announceKitchen(flags: String = "0x4") {
        network.announce(
            "kitchen", name: "Kitchen",
            [("_airplay._tcp", 7000, ["deviceid=AA:BB:CC:00:11:22", "model=Test1,1", "flags=\(flags)"])])
        network.announce(
            "kitchen-raop", name: "AABBCC001122@Kitchen", [("_raop._tcp", 5000, ["am=Test1,1", "cn=0,1"])])
    }

    @Test func speakersAppearChangeAndVanishWhileTheProgramRuns() throws {
        let browser = try SpeakerBrowser()
        _ = try #require(reached(browser) { $0.isSettled && $0.speakers.isEmpty })
        announceKitchen()
        let found = try #require(
            reached(browser) {
                $0.speakers.first?.endpoints.count == 2 && $0.speakers.first?.raopEndpoints.count == 2
            })
        let speaker = try #require(found.speakers.first)
        #expect(found.speakers.count == 1)
        #expect(speaker.name == "Kitchen")
        #expect(speaker.id == SpeakerID("AABBCC001122"))
        #expect(speaker.endpoints.first?.description == "10.99.0.2:7000")
        let last = try #require(speaker.endpoints.last)
        #expect(last.address.isLinkLocal && last.address.scope != 0)
        #expect(speaker.traits.status == [.cableAttached])

        let changes = ChangeRecorder(browser)
        announceKitchen(flags: "0x20004")
        _ = try #require(reached(browser) { $0.speakers.first?.traits.status?.contains(.busy) == true })
        #expect(changes.finish().allSatisfy { !$0.isEmpty })

        network.withdrawAll()
        _ = try #require(reached(browser) { $0.speakers.isEmpty })
    }

    @Test func theListOutlivesTheDaemonAndIsRebuiltWhenItReturns() throws {
        announceKitchen()
        let browser = try SpeakerBrowser()
        _ = try #require(reached(browser) { $0.speakers.first?.endpoints.count == 2 })
        let changes = ChangeRecorder(browser)
        for stop in [network.stopDaemon, network.killDaemon] {
            stop()
            let gone = try #require(reached(browser) { $0.availability != .available })
            guard case .unavailable(let error) = gone.availability else {
                Issue.record("still \(gone.availability)")
                return
            }
            #expect(error.message.contains("systemctl start avahi-daemon"))
            #expect(error.message.contains("airplay://HOST"))
            #expect(gone.speakers.count == 1)
            network.startDaemon()
            _ = try #require(reached(browser) { $0.availability == .available && $0.isSettled })
        }
        _ = try #require(reached(browser) { $0.speakers.first?.endpoints.count == 2 })
        #expect(changes.finish().allSatisfy { $0.map(\.name) == ["Kitchen"] })
    }

    /// Libavahi-client waits 25 s for each answer.
    @Test func nothingWaitsForADaemonThatDoesNotAnswer() throws {
        announceKitchen()
        let clock = ContinuousClock()
        var known: SpeakerBrowser? = try SpeakerBrowser()
        #expect(known.map { reached($0) { $0.speakers.first?.endpoints.count == 2 } != nil } == true)
        var later: SpeakerBrowser?
        var announcement: ServiceAnnouncement?
        try network.withFrozenDaemon {
            let asked = try clock.measure {
                known?.request(for: SpeakerRequests([try SpeakerQuery("Bath")], ids: []))
                later = try SpeakerBrowser()
                later?.request(for: SpeakerRequests([try SpeakerQuery("Bath")], ids: []))
                announcement = ServiceAnnouncement(
                    ServiceName.Kind(rawValue: "_airplay._tcp"), name: "Bath", host: "bath", address: .loopback,
                    port: 7000, strings: [], failed: { _ in })
            }
            #expect(asked < .milliseconds(500))
            let search = clock.measure {
                let error = #expect(throws: DiscoveryError.self) {
                    try later?.find(SpeakerQuery("Bath"), until: soon())
                }
                #expect(error?.message.contains("does not answer; restart it") == true)
            }
            #expect(search < .seconds(4))
            // It is not reported as starting again.
            let state = later?.wait(until: soon(1)) { $0.availability == .starting }
            #expect(state?.satisfied == false)
            #expect(clock.measure { known = nil } < .milliseconds(2500))
            #expect(clock.measure { announcement?.stop() } < .milliseconds(2500))
        }
        let browser = try #require(later)
        _ = try #require(reached(browser, within: 60) { $0.speakers.map(\.name) == ["Kitchen"] })
    }

    @Test func aSpeakerIsFoundByNameOrIdAsSoonAsItAppears() throws {
        let browser = try SpeakerBrowser()
        announceKitchen()
        let byName = try browser.find(SpeakerQuery("kitchen"), until: soon())
        #expect(byName.leader.endpoint != nil)
        #expect(try browser.find(SpeakerQuery("aa:bb:cc:00:11:22"), until: soon()).name == "Kitchen")
        let error = #expect(throws: DiscoveryError.self) {
            try browser.find(SpeakerQuery("Nowhere"), until: HostInstant.now.advanced(by: .milliseconds(100)))
        }
        #expect(error?.code == .notFound)
    }

    @Test func aStereoPairIsOneEntryOnceBothMembersAreThere() throws {
        for (index, id) in ["AA:BB:CC:00:11:01", "AA:BB:CC:00:11:02"].enumerated() {
            network.announce(
                "pair\(index)", name: "Pod \(index)",
                [("_airplay._tcp", 7000 + index, ["deviceid=\(id)", "tsid=T", "gid=G", "gpn=Living Room"])])
        }
        let browser = try SpeakerBrowser()
        let pair = try browser.find(SpeakerQuery("Living Room"), until: soon())
        #expect(pair.kind == .stereoPair)
        #expect(pair.members.map(\.name) == ["Pod 0", "Pod 1"])
        #expect(!browser.snapshot.entries.contains { $0.name.hasPrefix("Pod") })
    }

    @Test func aFloodOfServicesIsBoundedAndKeepsTheSpeakerThatWasThere() throws {
        announceKitchen()
        let browser = try SpeakerBrowser(serviceLimit: 60)
        _ = try #require(reached(browser) { $0.speakers.count == 1 && $0.isSettled })
        for index in 0..<60 {
            network.announce(
                "flood\(index)", name: "Flood \(index)",
                [("_airplay._tcp", 7000, ["deviceid=02:00:00:00:\(hex(index >> 8)):\(hex(index & 255))"])])
        }
        // 60 names, each received over IPv4 and IPv6, are twice the maximum number of announcements.
        let flooded = try #require(reached(browser, within: 30) { $0.refusals >= 60 })
        #expect(flooded.speakers.count <= 60)
        #expect(flooded.speakers.contains { $0.name == "Kitchen" })
        network.withdrawAll()
        _ = try #require(reached(browser, within: 30) { $0.speakers.isEmpty })
    }

    @Test func aNameThatIsAskedForIsFoundWhereBrowsingHasNoRoomForIt() throws {
        network.announce("kitchen", name: "Kitchen", [("_airplay._tcp", 7000, ["deviceid=AA:BB:CC:00:11:22"])])
        let browser = try SpeakerBrowser(serviceLimit: 0)
        let kitchen = try browser.find(SpeakerQuery("kitchen"), until: soon())
        #expect(kitchen.leader.id == SpeakerID("AABBCC001122"))
        #expect(kitchen.leader.endpoint?.description == "10.99.0.2:7000")
    }

    private func hex(_ byte: Int) -> String { String(format: "%02X", byte) }
}

/// Collects every list of the stream of updates.
private final class ChangeRecorder: Sendable {
    private let lists = Lock<[[DiscoveredSpeaker]]>([])
    private let task: Task<Void, Never>

    init(_ browser: SpeakerBrowser) {
        let updates = browser.updates()
        task = Task { [lists] in
            for await snapshot in updates { lists.withLock { $0.append(snapshot.speakers) } }
        }
    }

    func finish() -> [[DiscoveredSpeaker]] {
        task.cancel()
        return lists.withLock { $0 }
    }
}
