import Foundation
import Glibc

@testable import ProgramTestSupport

/// An unprivileged user with copies of the programs, whose files can be given capabilities. Needs root.
final class PlainUser {
    /// The reason why no unprivileged user can be used here; nil if one can.
    static let obstacle: String? = {
        guard geteuid() == 0 else { return "only root can become another user" }
        for tool in ["/usr/sbin/setcap", "/usr/bin/setpriv", "/usr/bin/unshare", "/usr/bin/python3"]
        where access(tool, X_OK) != 0 { return "\(tool) is not installed" }
        do {
            try PlainUser().grant("cap_net_bind_service=ep", to: "talkie-ports")
        } catch {
            return "\(error)"
        }
        return nil
    }()

    static var isWanted: Bool { obstacle == nil || ProcessInfo.processInfo.environment["CI"] == "true" }

    struct Failure: Error, CustomStringConvertible { let description: String }

    private let scratch: Scratch
    private let number: UInt32
    /// Folder of the copies, owned by root.
    let programs: URL
    /// Folder owned by the user.
    let home: URL
    /// A film that the user may read, regardless of the permissions of the checkout.
    var film: String { programs.appending(path: "film.mp4").path }

    /// - Parameter number: user ID; process limits count all processes of that ID.
    init(_ number: UInt32 = 65534) throws {
        self.number = number
        scratch = try Scratch()
        chmod(scratch.folder.path, 0o755)
        programs = scratch.folder.appending(path: "bin")
        home = scratch.folder.appending(path: "home")
        for folder in [programs, home] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            chmod(folder.path, 0o755)
        }
        chown(home.path, number, number)
        try FileManager.default.copyItem(atPath: Program.talkie, toPath: programs.appending(path: "talkie").path)
        try run(root: Program.root.appending(path: "Tools/ports").path, [programs.appending(path: "talkie-ports").path])
        try FileManager.default.copyItem(atPath: Program.media("flash-and-beep.mp4"), toPath: film)
        chmod(film, 0o644)
        for name in ["talkie", "talkie-ports"] { chmod(programs.appending(path: name).path, 0o755) }
    }

    func grant(_ capabilities: String, to name: String) throws {
        try run(root: "setcap", [capabilities, programs.appending(path: name).path])
    }

    func run(root tool: String, _ arguments: [String]) throws {
        let result = try Program.run("/usr/bin/env", [tool] + arguments, environment: ["PATH": Self.path])
        guard result.status == 0 else { throw Failure(description: "\(tool): \(result.errors)") }
    }

    private static var path: String {
        "\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"):/usr/sbin:/sbin"
    }

    /// Builds a library that logs the capabilities of the process that loads it, as HOME/canary.so and as an ALSA
    /// plugin.
    func buildCanary() throws {
        let source = """
            #include <fcntl.h>
            #include <unistd.h>
            __attribute__((constructor)) static void look(void) {
              char text[8192];
              int from = open("/proc/self/status", O_RDONLY);
              int to = open("\(home.path)/seen", O_WRONLY | O_CREAT | O_TRUNC, 0644);
              ssize_t count = read(from, text, sizeof text);
              if (count > 0) count = write(to, text, count);
              close(from), close(to);
            }
            """
        let file = try scratch.file("canary.c", Data(source.utf8))
        let library = home.appending(path: "canary.so").path
        try run(root: "clang", ["-shared", "-fPIC", "-o", library, file])
        try FileManager.default.copyItem(
            atPath: library, toPath: home.appending(path: "libasound_module_pcm_canary.so").path)
    }

    /// Runs one of the programs as this user.
    ///
    /// - Parameters:
    ///   - before: shell command that root runs first, in the same network.
    ///   - through: shell command of root that runs the program's command line, `"$@"`.
    func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], before: String = ":",
        through: String = "exec \"$@\"", inNetwork: Bool = false, during: (pid_t) -> Void = { _ in }
    ) throws -> Program.Result {
        let become = [
            "/usr/bin/setpriv", "--reuid", "\(number)", "--regid", "\(number)", "--clear-groups",
            programs.appending(path: name).path,
        ]
        let shell = ["/bin/sh", "-c", "\(inNetwork ? "ip link set lo up; " : "")\(before); \(through)", "sh"]
        var changes: [String: String?] = [
            "HOME": home.path, "PATH": Self.path, "SDL_VIDEODRIVER": "dummy", "DISPLAY": nil, "WAYLAND_DISPLAY": nil,
            "XDG_CACHE_HOME": nil, "XDG_RUNTIME_DIR": nil, "XDG_STATE_HOME": nil, "XDG_CONFIG_HOME": nil,
            "PULSE_SERVER": nil,
        ]
        for (name, value) in environment { changes[name] = value }
        return try Program.run(
            "/usr/bin/env", (inNetwork ? ["unshare", "--net"] : []) + shell + become + arguments,
            environment: changes, atMost: 20, during: during)
    }

    /// Runs `talkie speaker` with PTP in a separate network.
    ///
    /// - Parameter isExpected: true if the speaker should start; it is terminated when it has.
    func speak(
        isExpected: Bool = false, before: String = ":", through: String = "exec \"$@\""
    ) throws -> Program.Result {
        let record = home.appending(path: "heard.jsonl").path
        return try run(
            "talkie",
            ["speaker", "--clock", "ptp", "--address", "127.0.0.5", "--port", "0", "--no-mdns", "--record", record],
            before: before, through: through, inNetwork: true
        ) { process in
            guard isExpected else { return }
            // The record file exists: the speaker is listening or about to.
            let deadline = Date(timeIntervalSinceNow: 10)
            while !FileManager.default.fileExists(atPath: record), Date() < deadline { usleep(10_000) }
            kill(process, SIGTERM)
        }
    }
}
