import Foundation
import Routing
internal import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import CardOutput
@testable import Profiles
@testable import Storage
@testable import TalkieApp

/// Selection of the profile by the known sink, and the migration of profiles that did not distinguish sinks.
@Suite struct CardProfileTests {
    let folder = TemporaryFolder()
    var store: ProfileStore { ProfileStore(StateFolder(path: folder.path("state"))) }

    private static func sink(_ name: String) -> AudioSink {
        AudioSink(key: "sink-\(name)", name: name, title: "The \(name)")
    }

    private func use(
        _ knowledge: SinkKnowledge, _ profiles: [LatencyProfile], latency: OutputLatency? = nil
    ) -> ProfileChoice.Use {
        let speaker = SoundCardProvider.identity(at: knowledge, device: "default")
        return ProfileChoice(
            for: [ProfileChoice.Member(speaker: speaker.key, route: speaker.route, latency: latency)], screen: "TV",
            mode: "60-Hz full-screen", among: profiles
        ).uses[0]
    }

    @Test func aHeadsetsNumberIsNotTheLoudspeakers() {
        let profiles = [ProfileTests.profile("sink-headset", offset: 200, route: "card")]
        #expect(use(.known(Self.sink("headset")), profiles).correction == .milliseconds(-200))
        #expect(use(.known(Self.sink("loudspeakers")), profiles).profile == nil)
        #expect(use(.known(Self.sink("loudspeakers")), profiles).correction == .zero)
    }

    @Test func anUnknownSinkHasNoProfile() {
        let profiles = ["sink-headset", "local-default", "local-pulse"].map {
            ProfileTests.profile($0, offset: 200, route: "card")
        }
        #expect(use(.unknown("the sound server does not answer"), profiles).profile == nil)
    }

    /// What a card states of a Bluetooth device behind a sound server.
    private static func latency(_ source: LatencySource, portOffset: Duration = .zero) -> OutputLatency {
        OutputLatency(
            startLead: .zero,
            shares: [
                LatencyShare(name: "sound card", duration: .milliseconds(130), source: source),
                LatencyShare(name: "port offset", duration: portOffset, source: .configured),
            ])
    }

    @Test func theLedgerSaysThatADelayIsAssumed() throws {
        let shares = LatencyLedger.stated(Self.latency(.assumed), isCard: true)
        let queue = try #require(shares.first { $0.name == "queue" })
        #expect(queue.source == "assumed" && queue.note.contains("calibrate"))
        #expect(LatencyLedger.stated(Self.latency(.reported), isCard: true).allSatisfy { $0.source != "assumed" })
    }

    @Test func anOffsetOfTheDesktopIsAShareAndIsNotAddedTwice() throws {
        // Calibrated with 100 ms in the desktop's settings: 50 ms were left.
        var profile = ProfileTests.profile("sink-headset", offset: 50, route: "card")
        profile.shares = LatencyLedger.stated(Self.latency(.reported, portOffset: .milliseconds(100)), isCard: true)
        #expect(profile.shares.first { $0.name == "desktop" }?.milliseconds == 100)
        for (offset, rest) in [(100, 50), (150, 0), (0, 150), (-20, 170)] {
            let latency = Self.latency(.reported, portOffset: .milliseconds(offset))
            let use = use(.known(Self.sink("headset")), [profile], latency: latency)
            #expect(use.correction == .milliseconds(-rest))
            let ledger = LatencyLedger(
                speaker: "x", route: "card", stated: LatencyLedger.stated(latency, isCard: true), profile: use.profile)
            // The sum does not depend on who keeps it: 130 ms of the card, 150 ms behind it.
            #expect(abs(ledger.offsetUsed - 280) < 0.001, "\(ledger.text)")
            let headset = OutputIdentity(key: profile.key.speaker, name: "x", query: "local", route: "card")
            #expect(LatencyInquiry.ledger(of: headset, stating: latency, [profile]).text == ledger.text)
        }
        // Of a profile from before offsets were recorded none is known.
        profile.shares = []
        let latency = Self.latency(.reported, portOffset: .milliseconds(100))
        #expect(use(.known(Self.sink("headset")), [profile], latency: latency).correction == .milliseconds(-50))
    }

    @Test func roomsOfAnEarlierRunKeepTheirDifferenceWithAnotherOffset() {
        // Two sinks aligned with 100 ms of the desktop at the second, which is 30 ms behind the first.
        let profiles = [("a", 0, 0.0), ("b", 100, 30)].map { name, offset, behind in
            var profile = ProfileTests.profile(
                "sink-\(name)", offset: nil, route: "card", room: (run: "r", behind: behind))
            profile.shares = LatencyLedger.stated(
                Self.latency(.reported, portOffset: .milliseconds(offset)), isCard: true)
            return profile
        }
        let members = [("a", 0), ("b", 60)].map { name, offset in
            ProfileChoice.Member(
                speaker: "sink-\(name)", route: "card",
                latency: Self.latency(.reported, portOffset: .milliseconds(offset)))
        }
        let uses = ProfileChoice(for: members, screen: nil, mode: nil, among: profiles).uses
        #expect(uses.map(\.correction) == [.zero, .milliseconds(-70)])
    }

    /// Installs files written by the commit before sinks were distinguished.
    private func placeOldFiles() throws {
        let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Fixtures/card-profiles")
        let files = StateFolder(path: folder.path("state"))
        for name in try FileManager.default.contentsOfDirectory(atPath: fixtures.path) {
            try files.write("profiles/\(name)", Array(try Data(contentsOf: fixtures.appending(path: name))))
        }
    }

    @Test func oldFilesAreReadWholeAndAppliedToNothing() throws {
        try placeOldFiles()
        let (profiles, notes) = store.all()
        #expect(notes.isEmpty)
        #expect(profiles.map(\.key.speaker) == ["local-plughw_CARD_PCH_DEV_0", "local-default"])
        let headset = try #require(profiles.last)
        #expect(headset.offset == 212.375 && headset.audioRest == 231.5 && headset.screenRest == 19.125)
        #expect(headset.sigma == 0.31 && headset.events == 12 && headset.measuredAt == 1_763_700_000)
        #expect(headset.key.screen == "DELL U2720Q 27\"" && headset.shares.count == 3)
        #expect(profiles.allSatisfy { $0.key.isOfUnknownSink })
        for sink in ["default", "loudspeakers"] { #expect(use(.known(Self.sink(sink)), profiles).profile == nil) }
        let odd = AudioSink(key: "local-default", name: "x", title: "x")
        #expect(use(.known(odd), profiles).profile == nil)
    }

    @Test func oldFilesAreListedCarriedAndForgotten() throws {
        try placeOldFiles()
        let desk = ProfileCommands(store: store)
        #expect(desk.list(json: false).contains("not applied"))
        #expect(desk.list(json: false).contains("talkie profile forget local-default removes it"))
        #expect(!store.all().profiles.contains { $0.text.contains("talkie ") }, "the program adds the advice")
        #expect(
            desk.list(json: true).contains("\"applies\": false") || desk.list(json: true).contains("\"applies\":false"))
        _ = try desk.export(to: folder.path("export.json"))
        let other = ProfileStore(StateFolder(path: folder.path("other")))
        _ = try ProfileCommands(store: other).importProfiles(from: folder.path("export.json"))
        #expect(other.all().profiles == store.all().profiles)
        _ = try desk.forget("local-default")
        #expect(store.all().profiles.map(\.key.speaker) == ["local-plughw_CARD_PCH_DEV_0"])
    }

    @Test func oldFilesAreSpokenOfOnce() throws {
        #expect(store.noticeOfOldCards(among: store.all().profiles) == nil)
        try placeOldFiles()
        let profiles = store.all().profiles
        #expect(store.noticeOfOldCards(among: profiles)?.contains("'sound card'") == true)
        #expect(store.noticeOfOldCards(among: profiles) == nil)
    }

    @Test func aNewMeasurementIsStoredUnderTheSink() throws {
        try placeOldFiles()
        let speaker = SoundCardProvider.identity(at: .known(Self.sink("headset")), device: "default")
        #expect(speaker.name == "The headset")
        try store.store([ProfileTests.profile(speaker.key, offset: 180, route: speaker.route)])
        #expect(use(.known(Self.sink("headset")), store.all().profiles).profile?.offset == 180)
        #expect(store.all().profiles.count == 3)
    }

    @Test func theLedgerStatesAnUnknownSink() {
        let ledger = LatencyInquiry.ledger(
            of: SoundCardProvider.identity(at: .unknown("the sound server does not answer"), device: "default"), [])
        #expect(ledger.text.contains("the sink is unknown"))
    }

    @Test func theDoctorNamesThePluginThatPipeWireLacks() {
        let servers = ["PipeWire", "PulseAudio's protocol"]
        let lacking = SoundServerCheck.finding(of: servers, devices: ["default", "pulse"])
        #expect(lacking.verdict == .limited)
        #expect(lacking.remedy == "install pipewire-alsa")
        #expect(SoundServerCheck.finding(of: servers, devices: ["pipewire", "pulse"]).verdict == .good)
        #expect(SoundServerCheck.finding(of: ["PulseAudio's protocol"], devices: ["pulse"]).verdict == .good)
    }

    @Test func theDoctorNamesTheSinkOrSaysWhyNot() {
        let known = SoundCardCheck.finding(of: .known(Self.sink("headset")))
        #expect(known.verdict == .good && known.text.contains("The headset"))
        let unknown = SoundCardCheck.finding(of: .unknown("the sound server does not answer"))
        #expect(unknown.verdict == .limited && unknown.text.contains("does not answer") && unknown.remedy != nil)
    }
}
