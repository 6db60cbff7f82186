import Foundation
import Glibc
import TalkieTestKit

/// A private PipeWire with its session manager, its server for PulseAudio's clients and a null sink.
final class PipeWireServer {
    private let folder: URL
    private let process: ChildProcess
    /// The names of the environment that this server's clients need.
    private var names: [String] = []
    private var isStopped = false

    /// The ALSA plugins that lead to PipeWire here: PulseAudio's, and its own where it is installed.
    static var plugins: [String] {
        ["pulse", "pipewire"].filter {
            let folder = "/usr/lib/x86_64-linux-gnu/alsa-lib"
            return FileManager.default.fileExists(atPath: "\(folder)/libasound_module_pcm_\($0).so")
        }
    }

    /// True if the tests run. With `CI=true` they run and fail without PipeWire; elsewhere they are skipped.
    static var isWanted: Bool {
        let tools = ["pipewire", "pipewire-pulse", "wireplumber", "dbus-daemon", "pactl", "python3"]
        let isAvailable = tools.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }
        return isAvailable && !plugins.isEmpty || ProcessInfo.processInfo.environment["CI"] == "true"
    }

    /// Starts the server and sets the environment of its clients.
    ///
    /// - Parameter quantum: The number of frames that the graph fetches at once.
    init(quantum: Int) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("talkie-pipewire-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = try ChildProcess(
            "/usr/bin/python3",
            [PulseServer.meter("sound_server.py"), "pipewire-pulse", folder.path, String(quantum)], keepsOutput: true)
        while case let line = process.readLine(), line != "ready" {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CocoaError(.executableLoad) }
            setenv(parts[0], parts[1], 1)
            names.append(parts[0])
        }
    }

    deinit { stop() }

    /// Terminates the server.
    func stop() {
        // Only once: a later server sets the same names.
        guard !isStopped else { return }
        isStopped = true
        for name in names { unsetenv(name) }
        process.end()
        // ignored: a folder that stays is the system's to remove.
        try? FileManager.default.removeItem(at: folder)
    }

    /// Records a sink until `finish`: the default one, `meter`, or `other`.
    func record(sink: String = "meter") throws -> PulseServer.Recorder {
        let home = folder.appendingPathComponent("home").path
        return try PulseServer.Recorder(
            probe: "pipewire_probe.py", server: home, sink: sink,
            file: folder.appendingPathComponent("heard-\(sink).wav"))
    }

    /// Sends a pactl command to the server, as a desktop does, and returns its output.
    @discardableResult
    func control(_ words: String...) throws -> String { try PulseServer.control(words) }
}
