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
}
