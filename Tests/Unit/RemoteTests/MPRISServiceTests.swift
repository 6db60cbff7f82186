import Foundation
import MediaCore
import Playback
import RemoteTestSupport
import TalkieTestKit
import Testing

@testable import Remote

/// The service on a bus in this process.
@Suite struct MPRISServiceTests {
    private struct Client: MPRISClient {
        let bus: FakeMessageBus

        func call(_ interface: String, _ member: String, _ arguments: [BusValue]) throws -> [BusValue] {
            try bus.reply(to: bus.send(interface, member, arguments))
        }

        func burst(_ calls: [(interface: String, member: String, arguments: [BusValue])]) throws -> Int {
            let numbers = calls.map { bus.send($0.interface, $0.member, $0.arguments) }
            return try numbers.map { try bus.reply(to: $0) }.count
        }

        func signals(until isLast: (BusSignal) -> Bool) throws -> [BusSignal] { try bus.signals(until: isLast) }
    }

    private func withService(of control: PlayerControl, _ body: (FakeMessageBus) throws -> Void) throws {
        let bus = FakeMessageBus()
        let service = MPRISService(
            control, identity: "Talkie", desktopEntry: "talkie",
            connect: { () throws(BusFailure) in try bus.connect() })
        #expect(service.startThread())
        defer {
            service.stop()
            control.close()
        }
        try bus.waitForName("org.mpris.MediaPlayer2.talkie")
        try body(bus)
    }

    private func withService(_ body: (TablePlayer, FakeMessageBus) throws -> Void) throws {
        let player = TablePlayer()
        try withService(of: player.control) { try body(player, $0) }
    }

    private func check(_ body: (MPRISContract<Client>) throws -> Void) throws {
        try withService { player, bus in try body(MPRISContract(player, Client(bus: bus))) }
    }

    @Test(
        arguments: [
            (nil, "talkie"), ("", "talkie"), ("ж", "talkie"), ("My Player.3", "MyPlayer3"), ("7up", "up"),
        ] as [(String?, String)]) func anApplicationNamesItsPlayerOnTheBus(name: String?, element: String)
    {
        #expect(MPRISService.element(name) == element)
        #expect(MPRISService.element(String(repeating: "a", count: 300)).count == 100)
    }

    @Test func propertiesDescribeThePlayer() throws { try check { try $0.propertiesDescribeThePlayer() } }
    @Test func whatIsUnknownIsLeftOut() throws { try check { try $0.whatIsUnknownIsLeftOut() } }
    @Test func callsBecomeCommands() throws { try check { try $0.callsBecomeCommands() } }
    @Test func settingAPropertyBecomesACommand() throws { try check { try $0.settingAPropertyBecomesACommand() } }
    @Test func badCallsAreRefused() throws { try check { try $0.badCallsAreRefused() } }
    @Test func changesAreSignalledOnce() throws { try check { try $0.changesAreSignalledOnce() } }
    @Test func thePlaylistIsSignalled() throws { try check { try $0.thePlaylistIsSignalled() } }
    @Test func anOfferedEpisodeIsTheNextFilm() throws { try check { try $0.anOfferedEpisodeIsTheNextFilm() } }
    @Test func stopReturnsToTheBeginning() throws { try check { try $0.stopReturnsToTheBeginningAndPlayContinues() } }
    @Test func aThousandCallsAreExecutedInOrder() throws { try check { try $0.aThousandCallsAreExecutedInOrder() } }

    @Test func aPlayerThatDoesNotAnswerHasABoundedNumberOfCalls() throws {
        try withService { player, bus in
            player.hold()
            let numbers = (0..<200).map { _ in bus.send("org.mpris.MediaPlayer2.Player", "PlayPause", []) }
            try bus.wait("held calls") { player.heldCount == MPRISService.maxPendingCalls }
            player.release()
            for number in numbers { _ = try bus.reply(to: number) }
            #expect(player.takeCommands().count == 200)
        }
    }

    /// A service of a player that plays the first of eight films, for calls to its list of tracks.
    private func withTracks(_ body: (IPCRig, [QueueItem], TrackListClient) throws -> Void) throws {
        let (rig, items) = (try IPCRig(), (1...8).map { QueueItem("film \($0)") })
        rig.player.open(items)
        try withService(of: rig.control) { bus in
            try bus.wait("playback") { rig.player.state.phase == .playing }
            try body(rig, items, TrackListClient(bus: bus))
        }
    }

    private struct TrackListClient {
        let bus: FakeMessageBus

        func path(_ item: QueueItem) -> BusValue { .path("/talkie/track/\(item.id.number)") }

        func send(_ member: String, _ arguments: BusValue...) -> Int {
            bus.send("org.mpris.MediaPlayer2.TrackList", member, arguments)
        }

        /// Waits until the service has handled all calls and completed commands so far.
        func settle() throws {
            // An iteration of the service handles completions before calls.
            for _ in 0..<2 {
                _ = try bus.reply(
                    to: bus.send("org.freedesktop.DBus.Introspectable", "Introspect", []))
            }
        }
    }

    @Test func pipelinedCallsAffectTheTracksThatTheyName() throws {
        try withTracks { rig, items, client in
            let gate = Signal()
            defer { gate.raise() }
            rig.control.afterCommands { gate.wait() }
            let removals = items[3...5].map { client.send("RemoveTrack", client.path($0)) }
            let jump = client.send("GoTo", client.path(items[6]))
            try client.settle()
            gate.raise()
            for call in removals { _ = try client.bus.reply(to: call) }
            #expect(rig.player.state.listed[...] == items[..<3] + items[6...])
            _ = try client.bus.reply(to: jump)
            try client.bus.wait("the named film") { rig.player.state.current == items[6] }
            // A track that is no longer in the list: no effect.
            for member in ["RemoveTrack", "GoTo"] {
                _ = try client.bus.reply(to: client.send(member, client.path(items[3])))
            }
            #expect(rig.player.state.listed[...] == items[..<3] + items[6...])
            #expect(rig.player.state.current == items[6])
        }
    }

    @Test func anAddedTrackFollowsTheNamedOneAfterTheListHasChanged() throws {
        try withTracks { rig, items, client in
            let (loading, loaded, placing) = (Signal(), Signal(), Signal())
            defer {
                loading.raise()
                placing.raise()
            }
            func add(after item: QueueItem, becomesCurrent: Bool) -> Int {
                client.send("AddTrack", .text("file:///added"), client.path(item), .flag(becomesCurrent))
            }
            rig.control.afterCommands { loading.wait() }
            let addition = add(after: items[3], becomesCurrent: true)
            try client.settle()
            rig.control.afterCommands {
                loaded.raise()
                placing.wait()
            }
            let removal = client.send("RemoveTrack", client.path(items[1]))
            try client.settle()
            loading.raise()
            #expect(loaded.wait(until: .now.advanced(by: .seconds(60))))
            // The position of the new track is requested before the removal is executed.
            try client.settle()
            placing.raise()
            for call in [removal, addition] { _ = try client.bus.reply(to: call) }
            let listed = rig.player.state.listed
            #expect(listed.count == 8 && listed[..<3] == [items[0], items[2], items[3]] && listed[4...] == items[4...])
            // Like an entry of a playlist: no FIFO, no device.
            #expect(listed[3].isListed && !listed[2].isListed)
            try client.bus.wait("the added film") { rig.player.state.current == listed[3] }
            // After a track that is not in the list: at the end.
            _ = try client.bus.reply(to: add(after: items[1], becomesCurrent: false))
            #expect(rig.player.state.listed.dropLast() == listed[...])
        }
    }

    @Test func aSecondInstanceHasAnotherName() throws {
        let (player, bus) = (TablePlayer(), FakeMessageBus(owning: ["org.mpris.MediaPlayer2.talkie"]))
        let service = MPRISService(
            player.control, identity: "Talkie", desktopEntry: nil,
            connect: { () throws(BusFailure) in try bus.connect() })
        #expect(service.startThread())
        try bus.waitForName("org.mpris.MediaPlayer2.talkie.instance\(getpid())")
        service.stop()
        player.control.close()
    }

    @Test func aLostBusIsJoinedAgain() throws {
        try withService { player, bus in
            bus.end()
            bus.begin()
            try bus.waitForName("org.mpris.MediaPlayer2.talkie")
            player.set("pause", .flag(true))
            _ = try bus.signals { $0.member == "PropertiesChanged" }
        }
    }

    @Test func aBusThatIsAbsentAtTheStartIsJoinedLater() throws {
        let (player, bus, refused) = (TablePlayer(), FakeMessageBus(), Signal())
        bus.end()
        let service = MPRISService(
            player.control, identity: "Talkie", desktopEntry: nil,
            connect: { () throws(BusFailure) in
                defer { refused.raise() }
                return try bus.connect()
            })
        #expect(service.startThread())
        refused.wait()
        bus.begin()
        try bus.waitForName("org.mpris.MediaPlayer2.talkie")
        service.stop()
        player.control.close()
    }

    @Test func onlyTheEndOfThePlayerEndsTheService() {
        #expect(MPRISService.failure(of: PlayerControl.ended).code == ESHUTDOWN)
        #expect(MPRISService.failure(of: ControlError(.unavailable, "no more threads")).code == EAGAIN)
    }

    @Test func theTypesAreThoseOfTheDesktopFile() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            .appending(path: "Tools/package/talkie.desktop")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let types = try #require(lines.first { $0.hasPrefix("MimeType=") }).dropFirst(9).split(separator: ";")
        #expect(MPRISObject.types == types.map(String.init))
    }

    @Test func aCoverIsInAPrivateFileThatDisappears() throws {
        let folder = TemporaryFolder()
        let cover = MPRISArtworkFile(folder: folder.path)
        let first = try #require(cover.replace(by: [0xFF, 0xD8, 0xFF]))
        #expect(first.hasPrefix("file://"))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == 1)
        let path = folder.path + "/" + names[0]
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let second = cover.replace(by: [1])
        #expect(second != nil && second != first)
        #expect(cover.replace(by: Array(repeating: 0, count: 9 << 20)) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
