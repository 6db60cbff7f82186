import Foundation
import MediaCore
import Playback
import RemoteTestSupport
import TalkieTestKit
import Testing

@testable import Remote

/// The service on a real message bus, with a client of its own and with `playerctl`.
@Suite(
    .serialized, .enabled(if: PrivateMessageBus.isWanted, "no dbus-daemon or python3-dbusmock here"),
    .timeLimit(.minutes(2)))
struct MPRISBusTests {
    private static let name = "org.mpris.MediaPlayer2.talkie"

    /// A client with a connection of its own.
    private struct Client: MPRISClient {
        let bus: SystemMessageBus
        private let received = Lock<[BusSignal]>([])
        private let signal: PollableSignal

        init(_ address: String) throws {
            signal = try PollableSignal()
            bus = try SystemMessageBus(.session, at: address, timeout: .seconds(60))
            bus.onMessage = { [received] message in
                let signal = BusSignal(
                    path: MPRISObject.path, interface: message.interface, member: message.member,
                    message.arguments ?? [])
                received.withLock { $0.append(signal) }
            }
            try bus.addMatch(sender: MPRISBusTests.name, path: MPRISObject.path)
        }

        /// The signature of a method's results.
        private static func results(_ interface: String, _ member: String) -> String {
            MPRISInterface.all.first { $0.name == interface }?.methods.first { $0.name == member }?
                .results.map(\.type).joined() ?? ""
        }

        private static func method(_ interface: String, _ member: String) -> BusMethod {
            BusMethod(
                service: MPRISBusTests.name, path: MPRISObject.path, interface: interface, member: member)
        }

        func call(_ interface: String, _ member: String, _ arguments: [BusValue]) throws -> [BusValue] {
            do throws(BusFailure) {
                return try bus.call(
                    Self.method(interface, member), arguments,
                    expecting: Self.results(interface, member))
            } catch { throw BusError(error.name ?? "errno \(error.code)", "") }
        }

        func burst(_ calls: [(interface: String, member: String, arguments: [BusValue])]) throws -> Int {
            for item in calls.dropLast() {
                try bus.post(Self.method(item.interface, item.member), item.arguments)
            }
            // Calls are executed in order.
            if let last = calls.last { _ = try call(last.interface, last.member, last.arguments) }
            return calls.count
        }

        func signals(until isLast: (BusSignal) -> Bool) throws -> [BusSignal] {
            let deadline = HostInstant.now.advanced(by: .seconds(60))
            while true {
                let found = received.withLock { received -> [BusSignal]? in
                    guard let last = received.firstIndex(where: isLast) else { return nil }
                    defer { received.removeFirst(last + 1) }
                    return Array(received[...last])
                }
                if let found { return found }
                guard .now < deadline else { throw BusError("timeout", "no signal") }
                if try !bus.process() { bus.wait(for: signal, until: deadline, reads: true) }
            }
        }
    }

    private func service(_ player: TablePlayer, _ address: String) -> MPRISService {
        MPRISService(
            player.control, identity: "Talkie", desktopEntry: "talkie",
            connect: { () throws(BusFailure) in try SystemMessageBus(.session, at: address) })
    }

    private func withService(_ body: (TablePlayer, PrivateMessageBus) throws -> Void) throws {
        let (player, bus) = (TablePlayer(), try PrivateMessageBus())
        let service = service(player, bus.address)
        #expect(service.startThread())
        defer {
            service.stop()
            player.control.close()
        }
        try #require(bus.eventually { try bus.names().contains("'\(Self.name)'") })
        try body(player, bus)
    }

    private func check(_ body: (MPRISContract<Client>) throws -> Void) throws {
        try withService { player, bus in try body(MPRISContract(player, try Client(bus.address))) }
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

    @Test func longListsOfTracksAreRefused() throws {
        try check { contract in
            #expect(throws: BusError.self) {
                try contract.client.call(
                    "org.mpris.MediaPlayer2.TrackList", "GetTracksMetadata",
                    [.array(of: "o", Array(repeating: .path("/talkie/track/13"), count: 5000))])
            }
        }
    }

    @Test func aSecondInstanceHasAnotherName() throws {
        try withService { _, bus in
            let second = TablePlayer()
            let service = service(second, bus.address)
            #expect(service.startThread())
            defer {
                service.stop()
                second.control.close()
            }
            #expect(bus.eventually { try bus.names().contains("'\(Self.name).instance\(getpid())'") })
        }
    }

    @Test func aBusThatEndsAndReturnsIsJoinedAgain() throws {
        try withService { _, bus in
            bus.end()
            try bus.begin()
            #expect(bus.eventually { try bus.names().contains("'\(Self.name)'") })
        }
    }

    @Test(.enabled(if: PrivateMessageBus.hasPlayerctl, "no playerctl here"))
    func playerctlControlsThePlayer() throws {
        try withService { player, bus in
            #expect(try bus.playerctl("status") == "Playing")
            #expect(
                try bus.playerctl("metadata", "--format", "{{artist}} {{title}} {{mpris:length}}")
                    == "Ada Zwei 60000000")
            // During playback playerctl adds the time since its start.
            player.set("pause", .flag(true))
            #expect(try bus.playerctl("position") == "10.000000")
            for (words, command) in [
                (["play-pause"], "cycle pause"), (["pause"], "set pause yes"), (["play"], "set pause no"),
                (["next"], "playlist-next"), (["previous"], "playlist-prev"), (["volume", "0.25"], "set volume 25"),
                (["position", "20"], "seek 20 absolute"), (["position", "5-"], "seek -5 relative+exact"),
                (["shuffle", "on"], "set shuffle yes"), (["loop", "track"], "set loop-file inf"),
                (["open", "https://example.org/a.mp4"], "loadfile https://example.org/a.mp4"),
            ] {
                _ = try bus.playerctl(words)
                // Clients set properties without waiting for the reply.
                #expect(bus.eventually { player.takeCommands() == [command] }, "\(words)")
            }
        }
    }
}
