import Foundation
import Glibc
import TalkieTestKit

/// A PulseAudio server of our own with one null sink, and recordings of what that sink plays.
final class PulseServer {
    let folder: URL
    private let process: ChildProcess
    private var isStopped = false
    var address: String { "unix:\(folder.path)/socket" }

    /// True where everything that these tests need is installed.
    static var isAvailable: Bool {
        let found = ["pulseaudio", "python3", "pactl"].allSatisfy { tool in
            ["/usr/bin/", "/usr/local/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + tool) }
        }
        return found
            && FileManager.default.fileExists(
                atPath: "/usr/lib/x86_64-linux-gnu/alsa-lib/libasound_module_pcm_pulse.so")
    }

    /// On the build machines a missing server is a failure, elsewhere the tests are left out.
    static var isWanted: Bool { isAvailable || ProcessInfo.processInfo.environment["CI"] == "true" }

    /// - Parameters:
    ///   - sink: arguments of module-null-sink; nil is a server without any.
    ///   - place: where an earlier one has been, so that it is found by the same address.
    init(sink: String? = "rate=48000 channels=2 norewinds=1", at place: URL? = nil) throws {
        folder =
            place
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "talkie-card-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = try ChildProcess(
            "/usr/bin/pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-target=stderr",
                "-L", "module-native-protocol-unix socket=\(folder.path)/socket auth-anonymous=1",
            ] + (sink.map { ["-L", "module-null-sink sink_name=out \($0)"] } ?? []),
            environment: ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path])
        setenv("PULSE_SERVER", address, 1)
        let deadline = Date().addingTimeInterval(10)
        while !isAnswering {
            guard Date() < deadline else { throw CocoaError(.executableLoad) }
            usleep(20_000)
        }
    }

    deinit { stop() }

    /// Ends the server, as when a machine's sound service is stopped.
    func stop() {
        // Once: another one may be where this one was.
        guard !isStopped else { return }
        isStopped = true
        process.end()
        unsetenv("PULSE_SERVER")
        try? FileManager.default.removeItem(at: folder)
    }

    private var isAnswering: Bool {
        (try? ChildProcess("/usr/bin/pactl", ["-s", address, "info"]))?.wait() ?? false
    }

    /// Records what a sink plays from now until `finish`.
    func record(sink: String = "out") throws -> Recorder {
        try Recorder(server: address, sink: sink, file: folder.appendingPathComponent("heard-\(sink).wav"))
    }

    /// One word of command to the server, as a person's desktop gives it; what it answers.
    @discardableResult
    func control(_ words: String...) throws -> String {
        let command = try ChildProcess("/usr/bin/pactl", ["-s", address] + words, keepsOutput: true)
        let answer = command.readAll()
        guard command.wait() else { throw CocoaError(.executableLoad) }
        return answer.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Another null sink; the number of its module, by which it is unloaded.
    func addSink(_ name: String) throws -> String {
        try control("load-module", "module-null-sink", "sink_name=\(name)", "rate=48000", "channels=2", "norewinds=1")
    }

    final class Recorder {
        private let process: ChildProcess
        private let file: URL

        init(server: String, sink: String, file: URL) throws {
            self.file = file
            var probe = URL(fileURLWithPath: #filePath)
            for _ in 0..<4 { probe.deleteLastPathComponent() }
            probe.appendPathComponent("Tools/meter/sound_probe.py")
            process = try ChildProcess(
                "/usr/bin/python3", [probe.path, server, sink, file.path], keepsOutput: true)
            // It says "ready" once it records.
            guard process.waitForOutput() else { throw CocoaError(.fileReadUnknown) }
        }

        func finish() throws -> Recording {
            // It ended by itself where its sink was taken away.
            process.end()
            return try Recording(file: file)
        }
    }
}
