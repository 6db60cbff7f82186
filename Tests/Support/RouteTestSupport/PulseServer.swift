import Foundation
import Glibc
import TalkieTestKit

/// A private PulseAudio server with one null sink, and recordings of that sink.
final class PulseServer {
    let folder: URL
    private let process: ChildProcess
    private var isStopped = false
    var address: String { "unix:\(folder.path)/socket" }

    /// True if PulseAudio, its tools and ALSA's pulse plugin are installed.
    static var isAvailable: Bool {
        let found = ["pulseaudio", "python3", "pactl"].allSatisfy { tool in
            ["/usr/bin/", "/usr/local/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + tool) }
        }
        return found
            && FileManager.default.fileExists(
                atPath: "/usr/lib/x86_64-linux-gnu/alsa-lib/libasound_module_pcm_pulse.so")
    }

    /// True if the tests run. With `CI=true` they run and fail without a server; elsewhere they are skipped.
    static var isWanted: Bool { isAvailable || ProcessInfo.processInfo.environment["CI"] == "true" }

    /// Starts the server and sets `PULSE_SERVER`.
    ///
    /// - Parameters:
    ///   - sink: arguments of module-null-sink; nil starts a server without a sink.
    ///   - place: folder of an earlier server, so that the new one has the same address.
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

    /// Terminates the server, as when a system's sound service is stopped.
    func stop() {
        // Only once: a later server may use the same folder and variable.
        guard !isStopped else { return }
        isStopped = true
        process.end()
        unsetenv("PULSE_SERVER")
        try? FileManager.default.removeItem(at: folder)
    }

    /// Stops the process: connections are accepted, but not answered.
    func freeze() { kill(process.pid, SIGSTOP) }

    private var isAnswering: Bool {
        (try? ChildProcess("/usr/bin/pactl", ["-s", address, "info"]))?.wait() ?? false
    }

    /// Records the sink until `finish`.
    func record(sink: String = "out") throws -> Recorder {
        try Recorder(server: address, sink: sink, file: folder.appendingPathComponent("heard-\(sink).wav"))
    }

    /// Sends a pactl command to the server, as a desktop does, and returns its output.
    @discardableResult
    func control(_ words: String...) throws -> String { try Self.control(["-s", address] + words) }

    static func control(_ words: [String]) throws -> String {
        let command = try ChildProcess("/usr/bin/pactl", words, keepsOutput: true)
        let answer = command.readAll()
        guard command.wait() else { throw CocoaError(.executableLoad) }
        return answer.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Adds a null sink and returns its module index, which unloads it.
    func addSink(_ name: String) throws -> String {
        try control("load-module", "module-null-sink", "sink_name=\(name)", "rate=48000", "channels=2", "norewinds=1")
    }

    /// Returns the path of a script of the meter.
    static func meter(_ script: String) -> String {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root.appendingPathComponent("Tools/meter/\(script)").path
    }

    final class Recorder {
        private let process: ChildProcess
        let file: URL

        init(probe: String = "sound_probe.py", server: String, sink: String, file: URL) throws {
            self.file = file
            process = try ChildProcess(
                "/usr/bin/python3", [PulseServer.meter(probe), server, sink, file.path], keepsOutput: true)
            // The probe prints "ready" once it records.
            guard process.waitForOutput() else { throw CocoaError(.fileReadUnknown) }
        }

        func finish() throws -> OutputCapture {
            // The process has already exited if its sink was removed.
            process.end()
            return try OutputCapture(file: file)
        }
    }
}
