import Foundation
import Glibc

/// A PulseAudio server of our own with one null sink, and recordings of what that sink plays.
final class PulseServer {
    let folder: URL
    private let process: ChildProcess
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

    /// - Parameter sink: arguments of module-null-sink.
    init(sink: String = "rate=48000 channels=2 norewinds=1") throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "talkie-card-\(getpid())-\(UInt32.random(in: 0...999_999))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = try ChildProcess(
            "/usr/bin/pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-target=stderr",
                "-L", "module-null-sink sink_name=out \(sink)",
                "-L", "module-native-protocol-unix socket=\(folder.path)/socket auth-anonymous=1",
            ], environment: ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path])
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
        process.end()
        try? FileManager.default.removeItem(at: folder)
    }

    private var isAnswering: Bool {
        (try? ChildProcess("/usr/bin/pactl", ["-s", address, "info"]))?.wait() ?? false
    }

    /// Records from now until `finish`.
    func record() throws -> Recorder { try Recorder(server: address, file: folder.appendingPathComponent("heard.wav")) }

    final class Recorder {
        private let process: ChildProcess
        private let file: URL

        init(server: String, file: URL) throws {
            self.file = file
            var probe = URL(fileURLWithPath: #filePath)
            for _ in 0..<4 { probe.deleteLastPathComponent() }
            probe.appendPathComponent("Tools/meter/sound_probe.py")
            process = try ChildProcess(
                "/usr/bin/python3", [probe.path, server, "out", file.path], keepsOutput: true)
            // It says "ready" once it records.
            guard process.waitForOutput() else { throw CocoaError(.fileReadUnknown) }
        }

        func finish() throws -> Recording {
            process.end()
            return try Recording(file: file)
        }
    }
}
