import CardOutput
import Glibc
import MediaCore
import SyncRendering
import Testing

@testable import RouteTestSupport

extension SoundCardTests {
    /// A stream that a real sound server moves from one sink to another without notifying ALSA.
    @Suite(
        .serialized, .timeLimit(.minutes(1)),
        .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct SinkTests {
        /// Waits until a card's stream is on a sink; returns the duration, or nil after two seconds.
        private func wait(for name: String, _ card: SoundCard, _ wakeSignal: Signal) -> Duration? {
            let start = HostInstant.now
            while HostInstant.now < start.advanced(by: .seconds(2)) {
                if card.sink.sink?.name == name { return HostInstant.now - start }
                wakeSignal.wait(until: start.advanced(by: .seconds(2)))
                wakeSignal.clear()
            }
            return nil
        }

        /// Plays a settled card; the signal is raised when its sink changes.
        private func play(on device: String) throws -> (player: CardPlayer, wakeSignal: Signal) {
            let (player, wakeSignal) = (try CardPlayer(device: device), Signal())
            player.card.setSinkHandler { wakeSignal.raise() }
            player.start()
            #expect(player.waitUntilSettled())
            player.setRate(1, time: .zero, at: .now.advanced(by: .milliseconds(100)))
            return (player, wakeSignal)
        }

        @Test func theCardKnowsItsSinkAndHearsOfAMoveAtOnce() throws {
            let server = try PulseServer()
            defer { server.stop() }
            _ = try server.addSink("other")
            // As on every desktop: a recreated stream uses the sink that the previous one was moved to.
            try server.control("load-module", "module-stream-restore")
            // The server's default sink, which ALSA does not report.
            #expect(try SoundCardProbe.sink(of: "pulse").sink?.name == "out")
            let (player, wakeSignal) = try play(on: "pulse")
            defer { player.stop() }
            try #require(wait(for: "out", player.card, wakeSignal) != nil)
            let stream = try #require(try server.control("list", "short", "sink-inputs").split(separator: "\t").first)
            try server.control("move-sink-input", String(stream), "other")
            let took = try #require(wait(for: "other", player.card, wakeSignal))
            print("a move is known after \(took)")
            #expect(took < .milliseconds(500))
            // A seek recreates the stream, which is not a move.
            player.seek(to: 96_000)
            player.setRate(
                1, time: MediaTime(value: 96_000, timescale: 48_000), at: .now.advanced(by: .milliseconds(100)))
            HostInstant.now.advanced(by: .milliseconds(500)).sleep()
            #expect(player.card.sink.sink?.name == "other")
            let moves = player.taken().count { if case .outputMoved = $0 { true } else { false } }
            #expect(moves == 1)
        }

        @Test func twoCardsPlayOnTheirSinksAtTheSameInstants() throws {
            let server = try PulseServer()
            defer { server.stop() }
            _ = try server.addSink("other")
            let names = ["other", "out"]
            let recorders = try names.map { try server.record(sink: $0) }
            let players = try names.map { try CardPlayer(device: "sink:\($0)") }
            for player in players {
                player.start()
                #expect(player.waitUntilSettled())
            }
            let lead = players.map(\.card.latency.startLead).max() ?? .zero
            let start = HostInstant.now.advanced(by: lead)
            for player in players { player.setRate(1, time: .zero, at: start) }
            start.advanced(by: .seconds(5)).sleep()
            #expect(players.map { $0.card.sink.sink?.name } == names)
            for player in players { player.stop() }
            let line = TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1)
            for (name, recorder) in zip(names, recorders) {
                let all = PulsedTone.lateness(try recorder.finish(), line)
                SoundCardTests.report("one of two cards, on '\(name)'", all, try OutputCapture(file: recorder.file))
                let steady = all.filter { $0.seconds >= 2 }.map(\.late).sorted()
                try #require(steady.count > 20)
                #expect(abs(steady[steady.count / 2]) < 1)
            }
        }

        @Test func aMoveIsFollowedWithinHalfASecond() throws {
            let server = try PulseServer()
            defer { server.stop() }
            // Its resampler adds a delay.
            try server.control(
                "load-module", "module-null-sink", "sink_name=other", "rate=44100", "channels=2", "norewinds=1")
            let took = try SoundCardTests.move("PulseAudio", device: "sink:out", into: server.record(sink: "other")) {
                let stream = try server.control("list", "short", "sink-inputs").split(separator: "\t").first
                try server.control("move-sink-input", String(try #require(stream)), "other")
            }
            #expect(took < .milliseconds(500))
        }

        /// As when a headset changes its codec: the stream stays on its sink, which leads into a network then.
        @Test func aSinkThatReportsAnotherLatencyIsFollowed() throws {
            let server = try PulseServer()
            defer { server.stop() }
            try server.control(
                "load-module", "module-remap-sink", "sink_name=headset", "master=out", "remix=no")
            let forwarded = try server.control("list", "short", "sink-inputs").split(separator: "\t").first
            try server.control(
                "load-module", "module-tunnel-sink", "server=\(server.address)", "sink=out", "sink_name=far",
                "latency_msec=200")
            let took = try SoundCardTests.move(
                "a sink with another latency", device: "sink:headset", bound: 10, into: server.record()
            ) {
                try server.control("move-sink-input", String(try #require(forwarded)), "far")
                let deadline = HostInstant.now.advanced(by: .seconds(2))
                func latency() throws -> Int? {
                    try server.control("list", "sinks").firstMatch(of: /Name: headset[\s\S]*?Latency: ([0-9]+) usec/)
                        .flatMap { Int($0.1) }
                }
                while try latency() ?? 0 < 100_000, .now < deadline {
                    HostInstant.now.advanced(by: .milliseconds(20)).sleep()
                }
                #expect(try latency() ?? 0 > 100_000)
            }
            // What the tunnel reports is wrong by about 5 ms, and by 40 ms until it has heard of its remote sink again.
            #expect(took < .seconds(4))
        }

        @Test func aSinkThatReturnsGetsItsStreamBack() throws {
            let server = try PulseServer()
            defer { server.stop() }
            let module = try server.addSink("other")
            let (player, wakeSignal) = try play(on: "sink:other")
            defer { player.stop() }
            try #require(wait(for: "other", player.card, wakeSignal) != nil)
            try server.control("unload-module", module)
            try #require(wait(for: "out", player.card, wakeSignal) != nil)
            _ = try server.addSink("other")
            #expect(wait(for: "other", player.card, wakeSignal) != nil)
            // What the desktop's user moves stays.
            let stream = try #require(try server.control("list", "short", "sink-inputs").split(separator: "\t").first)
            try server.control("move-sink-input", String(stream), "out")
            try #require(wait(for: "out", player.card, wakeSignal) != nil)
            try server.control("set-sink-volume", "other", "50%")
            HostInstant.now.advanced(by: .milliseconds(300)).sleep()
            #expect(player.card.sink.sink?.name == "out")
        }

        @Test func sinksAreListedAndAServerThatDoesNotAnswerDelaysNothing() throws {
            let server = try PulseServer()
            defer { server.stop() }
            _ = try server.addSink("other")
            #expect(SinkQuery().destinations.map(\.id) == ["sink:out", "sink:other"])
            server.freeze()
            let start = HostInstant.now
            #expect(SinkQuery().destinations.isEmpty)
            #expect(HostInstant.now - start < .seconds(1))
        }

        @Test func aSinkThatIsMissingIsRefused() throws {
            let server = try PulseServer()
            defer { server.stop() }
            let error = #expect(throws: OutputError.self) { try SoundCardProbe.sink(of: "sink:missing") }
            #expect(error?.message.contains("has no sink") == true)
        }

        @Test func withoutAServerTheSinkIsUnknown() throws {
            // ALSA's null device.
            let knowledge = try SoundCardProbe.sink(of: "null")
            #expect(knowledge.sink == nil)
        }
    }
}
