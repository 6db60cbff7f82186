import CardOutput
import Foundation
import MediaCore
import SyncRendering
import Testing

@testable import RouteTestSupport

extension SoundCardTests {
    /// Changes of the card by the system: playback continues in step on the device that the system selected.
    @Suite(
        .serialized, .timeLimit(.minutes(2)),
        .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct LostCardTests {
        /// Plays on a card from film time 0; returns the timebase segment.
        private func start(_ player: CardPlayer) -> TimebaseSegment {
            player.start()
            #expect(player.waitUntilSettled())
            let start = HostInstant.now.advanced(by: player.card.latency.startLead)
            player.setRate(1, time: .zero, at: start)
            return TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1)
        }

        private func rest(_ duration: Duration) { HostInstant.now.advanced(by: duration).sleep() }

        /// Returns the number of pulses in an interval of a recording, the median of their lateness in milliseconds,
        /// and the first one.
        private func heard(
            _ recording: OutputCapture, _ line: TimebaseSegment, from: HostInstant, for length: Duration
        ) -> (count: Int, median: Double, first: Double?) {
            let begin = (from - line.hostAnchor).inSeconds
            let all = PulsedTone.lateness(recording, line)
                .filter { $0.seconds > begin && $0.seconds < begin + length.inSeconds }
            let late = all.map(\.late).sorted()
            return (late.count, late.isEmpty ? .nan : late[late.count / 2], all.first.map { $0.seconds - begin })
        }

        private func routes(_ player: CardPlayer) -> [String] {
            player.taken().compactMap { event in
                switch event {
                case .outputLost: "lost"
                case .outputRestored: "restored"
                case .outputMoved: "moved"
                default: nil
                }
            }
        }

        /// A reported delay that changes by some milliseconds takes effect after four seconds; one of tens of
        /// milliseconds sooner.
        private static let settling = Duration.milliseconds(4500)

        @Test func whenTheServersDefaultMovesTheSoundIsThereAndInStep() throws {
            let server = try PulseServer()
            defer { server.stop() }
            _ = try server.addSink("second")
            let (old, new) = (try server.record(), try server.record(sink: "second"))
            let player = try CardPlayer(device: "pulse")
            let line = start(player)
            rest(.seconds(2))
            let moved = HostInstant.now
            try server.control("set-default-sink", "second")
            rest(Self.settling + .seconds(2))
            player.stop()
            let (before, after) = (try old.finish(), try new.finish())
            let there = heard(after, line, from: moved, for: .seconds(10))
            let settled = heard(after, line, from: moved.advanced(by: Self.settling), for: .seconds(2))
            print(
                "default moved: first pulse there \(there.first ?? .nan) s after the command, "
                    + "\(there.median) ms late, at the end \(settled.median) ms")
            #expect(there.count > 55)
            #expect(try #require(there.first) < 0.35)
            #expect(heard(before, line, from: moved.advanced(by: .milliseconds(400)), for: .seconds(10)).count == 0)
            #expect(settled.count >= 18)
            #expect(Bounds.isNear(settled.median, claim: 2))
            #expect(!routes(player).contains("lost"))
        }

        @Test func whenASinkIsTakenAwayTheSoundIsOnTheOtherAndInStep() throws {
            let server = try PulseServer(sink: nil)
            defer { server.stop() }
            let module = try server.addSink("out")
            _ = try server.addSink("second")
            try server.control("set-default-sink", "out")
            let recorder = try server.record(sink: "second")
            let player = try CardPlayer(device: "pulse")
            let line = start(player)
            rest(.seconds(2))
            let pulled = HostInstant.now
            try server.control("unload-module", module)
            rest(Self.settling + .seconds(2))
            player.stop()
            let recording = try recorder.finish()
            #expect(heard(recording, line, from: line.hostAnchor, for: .milliseconds(1900)).count == 0)
            let there = heard(recording, line, from: pulled, for: .seconds(10))
            let settled = heard(recording, line, from: pulled.advanced(by: Self.settling), for: .seconds(2))
            print(
                "sink unloaded: first pulse on the other \(there.first ?? .nan) s after the command, "
                    + "\(there.median) ms late, at the end \(settled.median) ms; \(routes(player))")
            #expect(try #require(there.first) < 1)
            #expect(settled.count >= 18)
            #expect(Bounds.isNear(settled.median, claim: 2))
        }

        /// The requested card is lost with its server. A substitute plays until it returns.
        @Test func aCardWhoseServerEndsGivesWayToAnotherUntilItIsBack() throws {
            let (first, second) = (try PulseServer(), try PulseServer())
            defer { second.stop() }
            let names = try Devices(["first": first.address, "second": second.address])
            defer { names.remove() }
            let recorder = try second.record()
            let player = try CardPlayer(device: "first", substitutes: { ["nonsense", "second"] })
            let line = start(player)
            rest(.seconds(2))
            let ended = HostInstant.now
            first.stop()
            rest(.milliseconds(3500))
            #expect(player.card.playingDevice == "second")
            let again = try PulseServer(at: first.folder)
            defer { again.stop() }
            let home = try again.record()
            let back = HostInstant.now
            rest(.milliseconds(5500))
            #expect(player.card.isPlayingOwnDevice)
            player.stop()
            let (away, own) = (try recorder.finish(), try home.finish())
            let there = heard(away, line, from: ended, for: .milliseconds(3400))
            let here = heard(own, line, from: back, for: .milliseconds(5400))
            let reported = routes(player)
            print(
                "server ended: first pulse on the other \(there.first ?? .nan) s later, \(there.median) ms late; "
                    + "back \(here.first ?? .nan) s after it was there, \(here.median) ms late; \(reported)")
            #expect(there.count >= 20 && Bounds.isNear(there.median, claim: 2))
            #expect(here.count >= 20 && Bounds.isNear(here.median, claim: 2))
            #expect(reported == ["moved", "moved"])
        }

        @Test func whatTheNameDefaultMeansFromNowOnIsFollowed() throws {
            let (first, second) = (try PulseServer(), try PulseServer())
            defer {
                first.stop()
                second.stop()
            }
            let names = try Devices(["desk": first.address])
            defer { names.remove() }
            let recorder = try second.record()
            let player = try CardPlayer(device: "desk")
            let line = start(player)
            rest(.milliseconds(1200))
            let changed = HostInstant.now
            try names.write(["desk": second.address])
            rest(.milliseconds(5000))
            player.stop()
            let recording = try recorder.finish()
            let there = heard(recording, line, from: changed, for: .seconds(6))
            let reported = routes(player)
            print(
                "configuration changed: heard there \(there.first ?? .nan) s later, \(there.median) ms late; \(reported)"
            )
            #expect(try #require(there.first) < 3)
            #expect(there.count >= 15 && Bounds.isNear(there.median, claim: 2))
            #expect(reported == ["moved"])
        }
    }
}

/// ALSA device names in a private configuration, each a PulseAudio server by its address.
private final class Devices {
    private let file: URL
    private let before = ProcessInfo.processInfo.environment["ALSA_CONFIG_PATH"]

    init(_ servers: [String: String]) throws {
        file = FileManager.default.temporaryDirectory.appendingPathComponent("asound-\(UUID().uuidString).conf")
        try write(servers)
        setenv("ALSA_CONFIG_PATH", file.path, 1)
    }

    func write(_ servers: [String: String]) throws {
        let text = servers.map { "pcm.\($0.key) { type pulse server \"\($0.value)\" }\n" }.joined()
        try ("</usr/share/alsa/alsa.conf>\n" + text).write(to: file, atomically: true, encoding: .utf8)
    }

    func remove() {
        if let before { setenv("ALSA_CONFIG_PATH", before, 1) } else { unsetenv("ALSA_CONFIG_PATH") }
        try? FileManager.default.removeItem(at: file)
    }
}
