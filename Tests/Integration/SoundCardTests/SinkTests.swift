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

        @Test func theCardKnowsItsSinkAndHearsOfAMoveAtOnce() throws {
            let server = try PulseServer()
            defer { server.stop() }
            _ = try server.addSink("other")
            // As on every desktop: a recreated stream uses the sink that the previous one was moved to.
            try server.control("load-module", "module-stream-restore")
            // The server's default sink, which ALSA does not report.
            #expect(try SoundCardProbe.sink(of: "pulse").sink?.name == "out")
            let player = try CardPlayer(device: "pulse")
            let wakeSignal = Signal()
            player.card.setSinkHandler { wakeSignal.raise() }
            player.start()
            defer { player.stop() }
            #expect(player.waitUntilSettled())
            player.setRate(1, time: .zero, at: .now.advanced(by: .milliseconds(100)))
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

        @Test func withoutAServerTheSinkIsUnknown() throws {
            // ALSA's null device.
            let knowledge = try SoundCardProbe.sink(of: "null")
            #expect(knowledge.sink == nil)
        }
    }
}
