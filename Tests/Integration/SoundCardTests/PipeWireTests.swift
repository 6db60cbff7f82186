import Testing

@testable import RouteTestSupport

/// Audio through ALSA's plugins into PipeWire's null sink, recorded by a client of PipeWire.
@Suite(
    .serialized, .timeLimit(.minutes(3)),
    .enabled(if: PipeWireServer.isWanted, "needs pipewire, pipewire-pulse, wireplumber and ALSA's pulse plugin"),
    .repeatedWhenTheMachineStalls)
struct PipeWireTests {
    /// 1024 frames, the minimum in virtual machines, are more than a starting stream queues.
    @Test(arguments: PipeWireServer.plugins, [256, 1024])
    func soundIsHeardOnPipeWireWhenTheTimebaseSays(plugin: String, quantum: Int) throws {
        let server = try PipeWireServer(quantum: quantum)
        defer { server.stop() }
        let title = "PipeWire through \(plugin), \(quantum) frames at once"
        // What PulseAudio's plugin reports is wrong by up to a quantum, and its smoothing adds to that.
        let bound = plugin == "pulse" ? 3 + 1.7 * Double(quantum) / 48 : 3
        let run = try SoundCardTests.play(title, device: plugin, 48000, into: try server.record(), bound: bound)
        #expect(abs(run.median) < (plugin == "pulse" ? bound : 1), "\(title): \(run)")
    }

    @Test func soundIsHeardOnASinkByItsName() throws {
        let server = try PipeWireServer(quantum: 256)
        defer { server.stop() }
        let recorder = try server.record(sink: "other")
        _ = try SoundCardTests.play("a sink of PipeWire", device: "sink:other", 48000, into: recorder, bound: 12)
    }

    /// With 1024 frames the plugin sometimes recreates the stream, on the sink that the session manager remembers.
    @Test(arguments: PipeWireServer.plugins)
    func aMoveIsFollowedWithinHalfASecond(plugin: String) throws {
        let quantum = 256
        let server = try PipeWireServer(quantum: quantum)
        defer { server.stop() }
        let title = "PipeWire through \(plugin), \(quantum) frames at once"
        let bound = plugin == "pulse" ? 3 + 1.7 * Double(quantum) / 48 : 3
        let took = try SoundCardTests.move(title, device: plugin, bound: bound, into: server.record(sink: "other")) {
            let stream = try server.control("list", "short", "sink-inputs").split(separator: "\t").first
            try server.control("move-sink-input", String(try #require(stream)), "other")
        }
        #expect(took < .milliseconds(500))
    }
}
