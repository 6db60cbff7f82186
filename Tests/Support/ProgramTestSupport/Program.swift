import Foundation
import Glibc

/// Runs the program under test and tools as a user does.
enum Program {
    struct Result {
        /// The exit status; 128 + n after signal n.
        var status: Int32
        var output: String
        var errors: String
        /// Lines of standard error.
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    struct NotStarted: Error { var code: Int32 }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    /// Built next to the test bundle.
    static let talkie = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "talkie")
        .path

    static func media(_ name: String) -> String { root.appending(path: "media").appending(path: name).path }

    /// Runs a program to its end. On timeout it is killed, and the status is 137.
    ///
    /// - Parameter during: called while the program runs, with its process ID.
    static func run(
        _ path: String, _ arguments: [String], environment changes: [String: String?] = [:], atMost seconds: Int = 60,
        during: (pid_t) -> Void = { _ in }
    ) throws -> Result {
        let folder = try Scratch()
        let (out, err) = (folder.path("out"), folder.path("err"))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, err, O_WRONLY | O_CREAT, 0o600)
        // Threads of Swift's task pool block signals, and a child process would inherit the mask.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        var environment = ProcessInfo.processInfo.environment
        if path == talkie { environment["SWIFT_BACKTRACE"] = crashReport }
        for (name, value) in changes { environment[name] = value }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var entries: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in words + entries { free(pointer) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, path, &actions, &attributes, &words, &entries)
        guard code == 0 else { throw NotStarted(code: code) }
        during(pid)
        let status = wait(for: pid, atMost: seconds)
        let result = Result(
            status: status, output: (try? String(contentsOfFile: out, encoding: .utf8)) ?? "",
            errors: (try? String(contentsOfFile: err, encoding: .utf8)) ?? "")
        if crashes.contains(status - 128) {
            print("error: \(path) crashed with signal \(status - 128): \(frames(in: result.errors))")
        }
        return result
    }

    /// A crash that cannot be repeated is described once, where it occurs (Swift's docs/Backtracing.rst).
    private static let crashReport =
        "enable=yes,interactive=no,color=no,threads=crashed,registers=none,images=none,timeout=20s"
    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    /// The innermost functions of a crash report, in one line.
    private static func frames(in errors: String) -> String {
        let frames = errors.split(separator: "\n").map { $0.drop { $0 == " " } }.filter {
            $0.first?.isNumber == true && $0.contains(" in ")
        }
        return frames.isEmpty ? "no report" : frames.prefix(12).joined(separator: " | ")
    }

    /// Counts the heaps of glibc that threads have beside the main one. Each may keep the memory of a past peak.
    static func heaps(of pid: pid_t) throws -> Int {
        // HEAP_MAX_SIZE, malloc/arena.c of glibc 2.36.
        let size = 64 << 20
        let maps = try String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8)
        let areas = maps.matches(of: /([0-9a-f]+)-([0-9a-f]+) (\S{4}) 0+ 00:00 0\s*\n/).map { area in
            (start: Int(area.1, radix: 16)!, end: Int(area.2, radix: 16)!, rights: area.3)
        }
        // The rest of a heap is reserved.
        return zip(areas, areas.dropFirst()).count { heap, rest in
            heap.start % size == 0 && heap.rights == "rw-p" && rest.start == heap.end && rest.rights == "---p"
                && rest.end == heap.start + size
        }
    }

    private static func wait(for pid: pid_t, atMost seconds: Int) -> Int32 {
        var status: Int32 = 0
        let deadline = Date(timeIntervalSinceNow: Double(seconds))
        while waitpid(pid, &status, WNOHANG) == 0 {
            if Date() > deadline {
                kill(pid, SIGKILL)
                waitpid(pid, &status, 0)
                break
            }
            usleep(10_000)
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}

/// A temporary folder that is removed with this object.
final class Scratch {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "talkie-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Writes a file and returns its path.
    func file(_ name: String, _ bytes: Data) throws -> String {
        try bytes.write(to: folder.appending(path: name))
        return path(name)
    }
}
