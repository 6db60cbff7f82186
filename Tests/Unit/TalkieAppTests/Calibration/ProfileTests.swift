import MediaCore
import Routing
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Profiles
@testable import Storage
@testable import TalkieApp

@Suite struct ProfileTests {
    let folder = TemporaryFolder()
    var store: ProfileStore { ProfileStore(StateFolder(path: folder.path("state"))) }

    static func profile(
        _ speaker: String, offset: Double?, screen: String = "TV", mode: String = "60-Hz full-screen",
        route: String = "buffered", room: (run: String, behind: Double)? = nil, at time: Int64 = 100
    ) -> LatencyProfile {
        var profile = LatencyProfile(
            key: LatencyProfile.Key(speaker: speaker, screen: screen, mode: mode, route: route),
            speakerName: "Room \(speaker)")
        profile.offset = offset
        profile.audioRest = (offset ?? 0) + 40
        profile.screenRest = 40
        profile.screenSource = "measured"
        profile.room = room.map { LatencyProfile.Room(run: $0.run, behindFirst: $0.behind) }
        profile.measuredAt = time
        profile.sigma = 0.25
        profile.shares = [
            LatencyLedger.Share("queue", 12.5, uncertainty: 0.5, source: "reported", note: "the card's | buffer")
        ]
        return profile
    }

    private func choice(
        _ speakers: [String], _ profiles: [LatencyProfile], screen: String? = "TV", mode: String? = "60-Hz full-screen"
    ) -> ProfileChoice {
        ProfileChoice(
            for: speakers.map { ProfileChoice.Member(speaker: $0, route: "buffered") }, screen: screen, mode: mode,
            among: profiles)
    }

    @Test func whatIsKeptIsReadBackWhole() throws {
        let kept = [Self.profile("AA", offset: -81.25), Self.profile("BB", offset: nil, room: ("r1", 12))]
        try store.store(kept)
        let (found, notes) = store.all()
        #expect(found == kept)
        #expect(notes.isEmpty)
    }

    @Test func eachScreenAndModeAndRouteHasANumberOfItsOwn() throws {
        try store.store([
            Self.profile("AA", offset: 1), Self.profile("AA", offset: 2, screen: "Monitor"),
            Self.profile("AA", offset: 3, mode: "60-Hz window"), Self.profile("AA", offset: 4, route: "realtime"),
            Self.profile("AA", offset: 5),
        ])
        #expect(Set(store.all().profiles.map(\.offset)) == [5, 2, 3, 4])
    }

    @Test func aDamagedProfileIsSetAsideAndSaid() throws {
        try store.store([Self.profile("AA", offset: 1)])
        let files = StateFolder(path: folder.path("state"))
        let name = try #require(files.list("profiles").first)
        try files.write("profiles/\(name)", Array("talkie profile 1\nrubbish\n".utf8))
        let (found, notes) = store.all()
        #expect(found.isEmpty)
        #expect(notes.count == 1 && notes[0].contains("damaged"))
    }

    @Test func aProfileOfANewerTalkieIsNotReplaced() throws {
        try store.store([Self.profile("AA", offset: 1, room: ("r1", 0))])
        let files = StateFolder(path: folder.path("state"))
        let name = "profiles/\(try #require(files.list("profiles").first))"
        let newer = Array("talkie profile 2\nbeyond this version\n".utf8)
        try files.write(name, newer)
        #expect(throws: TalkieError.self) { try store.store([Self.profile("AA", offset: 2, room: ("r2", 0))]) }
        #expect(try files.read(name) == newer)
    }

    @Test func exportAndImportCarryEverything() throws {
        try store.store([Self.profile("AA", offset: -81.25), Self.profile("BB", offset: nil, room: ("r1", 12))])
        let path = folder.path("export.json")
        _ = try ProfileCommands(store: store).export(to: path)
        let other = ProfileStore(StateFolder(path: folder.path("other")))
        #expect(try ProfileCommands(store: other).importProfiles(from: path).contains("2 profiles"))
        #expect(other.all().profiles == store.all().profiles)
    }

    @Test(arguments: ["", "{}", "[]", "{\"talkie_profiles\":1}", "{\"talkie_profiles\":1,\"profiles\":[{}]}", "\u{0}"])
    func whatIsNoExportChangesNothing(text: String) throws {
        let path = folder.write(text, to: "wrong.json")
        #expect(throws: TalkieError.self) { try ProfileCommands(store: store).importProfiles(from: path) }
        #expect(store.all().profiles.isEmpty)
    }

    @Test func aSpeakerIsForgottenByNameOrId() throws {
        try store.store([Self.profile("AA", offset: 1), Self.profile("BB", offset: 2)])
        _ = try ProfileCommands(store: store).forget("room aa")
        #expect(store.all().profiles.map(\.key.speaker) == ["BB"])
        #expect(throws: TalkieError.self) { try ProfileCommands(store: store).forget("room aa") }
    }

    // MARK: Selection

    @Test func soundIsMovedAgainstItsOffset() {
        let choice = choice(["AA"], [Self.profile("AA", offset: 87.5)])
        #expect(choice.uses[0].correction == .microseconds(-87_500))
        #expect(choice.uses[0].isExact)
    }

    @Test func theProfileOfThisScreenGoesBeforeANewerOneOfAnother() {
        let profiles = [
            Self.profile("AA", offset: 10, at: 1), Self.profile("AA", offset: 20, screen: "Monitor", at: 9),
            Self.profile("AA", offset: 30, mode: "60-Hz window", at: 8),
        ]
        #expect(choice(["AA"], profiles).uses[0].profile?.offset == 10)
        #expect(choice(["AA"], profiles, mode: "60-Hz window").uses[0].profile?.offset == 30)
        #expect(choice(["AA"], profiles, screen: "Monitor", mode: "x").uses[0].profile?.offset == 20)
    }

    @Test func anotherScreensProfileIsBetterThanNoneAndSaysSo() {
        let use = choice(["AA"], [Self.profile("AA", offset: 10, screen: "Monitor")]).uses[0]
        #expect(use.correction == .milliseconds(-10))
        #expect(!use.isExact)
    }

    @Test func anotherRoutesProfileIsNone() {
        #expect(choice(["AA"], [Self.profile("AA", offset: 10, route: "realtime")]).uses[0].correction == .zero)
    }

    @Test func alignedRoomsStandToEachOtherAsMeasured() {
        let profiles = [
            Self.profile("AA", offset: nil, room: ("r", 0)), Self.profile("BB", offset: nil, room: ("r", 12)),
        ]
        #expect(choice(["AA", "BB"], profiles).uses.map(\.correction) == [.zero, .milliseconds(-12)])
    }

    @Test func aLaterMeetingWithThePictureMovesAllAlignedRooms() {
        let profiles = [
            Self.profile("AA", offset: nil, room: ("r", 0)), Self.profile("BB", offset: 100, room: ("r", 12), at: 200),
        ]
        #expect(choice(["AA", "BB"], profiles).uses.map(\.correction) == [.milliseconds(-88), .milliseconds(-100)])
    }

    @Test func roomsAlignedWithoutADisplayStandToTheReferenceOfOne() {
        let profiles = [
            Self.profile("AA", offset: 100),
            Self.profile("AA", offset: nil, screen: "", mode: "", room: ("r", 0), at: 200),
            Self.profile("AA", offset: nil, screen: "", mode: "x", room: ("alone", 5), at: 300),
            Self.profile("BB", offset: nil, screen: "", mode: "", room: ("r", 12), at: 200),
        ]
        #expect(choice(["AA", "BB"], profiles).uses.map(\.correction) == [.milliseconds(-100), .milliseconds(-112)])
    }

    @Test(arguments: [["AA", "BB"], ["BB", "AA"]])
    func theNewestRunAlignsTheRoomsAlsoIfOneKeepsAnOlderOffset(_ order: [String]) throws {
        try store.store([Self.profile("AA", offset: 100)])
        try store.store([
            Self.profile("AA", offset: nil, screen: "", mode: "", room: ("b", 0), at: 200),
            Self.profile("BB", offset: nil, screen: "", mode: "", room: ("b", 12), at: 200),
        ])
        try store.store([
            Self.profile("AA", offset: nil, room: ("c", 0), at: 300),
            Self.profile("BB", offset: nil, room: ("c", 30), at: 300),
        ])
        let corrections = Dictionary(
            uniqueKeysWithValues: zip(order, choice(order, store.all().profiles).uses.map(\.correction)))
        #expect(corrections == ["AA": .milliseconds(-100), "BB": .milliseconds(-130)])
    }

    @Test func aRunOfOneKeepsHowTheRoomsStand() throws {
        try store.store([Self.profile("AA", offset: nil, room: ("r", 12))])
        try store.store([Self.profile("AA", offset: 50, at: 200)])
        let kept = store.all().profiles[0]
        #expect(kept.offset == 50 && kept.room?.behindFirst == 12)
        // A run that measures differences keeps the offset to the video.
        try store.store([Self.profile("AA", offset: nil, room: ("s", 7), at: 300)])
        #expect(store.all().profiles[0].offset == 50 && store.all().profiles[0].room?.behindFirst == 7)
    }

    @Test func theListOfSpeakersShowsWhatWasMeasured() throws {
        let id = try #require(SpeakerID("02746C000001"))
        let speaker = DiscoveredSpeaker(
            id: id, name: "Kitchen", traits: SpeakerTraits(), endpoints: [])
        let listing = SpeakerListing(
            entry: SpeakerEntry(kind: .single, name: "Kitchen", members: [speaker], hidden: []),
            decision: .decide(for: speaker), isPaired: false)
        let shown = LatencyProfile.shown(
            in: [listing], [Self.profile("02746C000001", offset: -81.25), Self.profile("AA", offset: 1)])
        #expect(
            shown[0].text().contains(
                "calibrated: buffered, sound -81.3 ms relative to picture, with TV (60-Hz full-screen)"))
        #expect(shown[0].json.compact.contains("\"offset_ms\":-81.250"))
    }

    // MARK: Ledger

    /// With NTP timing 85 ms are subtracted here, with PTP by the speaker.
    @Test(arguments: [
        (Route.realtimeNTP, 85.0, "the output is sent earlier"), (.buffered, 0, "compensates that itself"),
    ])
    func theLedgerShowsWhatASpeakerStatesAndWhatItDoesToThePicture(
        _ route: Route, _ milliseconds: Double, _ effect: String
    ) {
        let stated = StatedLatency(arrivalToRender: .milliseconds(100), output: .milliseconds(85)).subtracted(on: route)
        let latency = SpeakerTiming.latency(nil, known: stated, at: HostInstant(nanoseconds: 0))
        let ledger = LatencyInquiry.ledger(
            of: OutputIdentity(key: "AA", name: "Room", query: "Room", route: route.rawValue), stating: latency, [])
        let share = ledger.shares.first { $0.name == "speaker" }
        #expect(share?.milliseconds == milliseconds && share?.source == "reported")
        #expect(ledger.text.contains("reports 85.0 ms of output and 100.0 ms of buffer"))
        #expect(ledger.text.contains(effect))
    }

    @Test func theSharesSumToTheOffsetUsed() {
        let profile = Self.profile("AA", offset: 60)
        let ledger = LatencyLedger(
            speaker: "A", route: "buffered", stated: LatencyLedger.stated(.init(startLead: .zero), isCard: false),
            profile: profile)
        #expect(ledger.shares.map(\.name) == ["decode", "queue", "network", "speaker", "calibrated rest", "screen"])
        #expect(abs(ledger.offsetUsed - 60) < 1e-9)
        #expect(ledger.shares.allSatisfy { !$0.source.isEmpty })
        #expect(ledger.text.contains("offset used"))
    }

    @Test func aSpeakerThatWasNeverCalibratedSaysSo() {
        let ledger = LatencyLedger(speaker: "A", route: "card", stated: [], profile: nil)
        #expect(ledger.offsetUsed == 0)
        #expect(ledger.text.contains("not calibrated"))
    }
}
