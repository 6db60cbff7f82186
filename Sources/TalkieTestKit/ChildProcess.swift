package import Glibc

/// A child process of a test. Foundation's `Process` waits on a run loop, which stalls with several children.
///
/// Used by one thread.
package final class ChildProcess {
    /// The process identifier.
    package let pid: pid_t
    /// The read end of a pipe from its standard output; −1 if the output is discarded.
    package let output: Int32
    private var hasEnded = false

    /// The process could not be started.
    package struct NotStarted: Error {
        /// The error number of posix_spawn.
        package var code: Int32
    }

    /// Starts a program. Its standard error is discarded.
    ///
    /// - Parameters:
    ///   - environment: Variables that replace inherited ones.
    ///   - keepsOutput: Whether `output` reads its standard output.
    /// - Throws: `NotStarted`.
    package init(_ path: String, _ arguments: [String], environment: [String: String] = [:], keepsOutput: Bool = false)
        throws
    {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Threads of a task pool block signals, and a child inherits the mask: SIGTERM must reach it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var ends: [Int32] = [-1, -1]
        if keepsOutput {
            pipe(&ends)
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            posix_spawn_file_actions_addclose(&actions, ends[0])
        } else {
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var inherited: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { inherited[pair[0]] = pair[1] }
            entry += 1
        }
        inherited.merge(environment) { $1 }
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        var envp = inherited.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        if ends[1] >= 0 { close(ends[1]) }
        guard code == 0 else { throw NotStarted(code: code) }
        self.pid = pid
        output = ends[0]
    }

    deinit { end() }

    /// Blocks until the process ends. Returns true if it exited with status 0; later calls always return true.
    @discardableResult
    package func wait() -> Bool {
        guard !hasEnded else { return true }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        hasEnded = true
        if output >= 0 { close(output) }
        return status == 0
    }

    /// Sends SIGTERM, also to a stopped process, and blocks until it has ended.
    package func end() {
        guard !hasEnded else { return }
        kill(pid, SIGTERM)
        kill(pid, SIGCONT)
        wait()
    }

    /// Returns the remaining output; blocks until its end.
    package func readAll() -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output, &piece, piece.count)
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the next line of its output, without the line's end; what there is when it ends before.
    package func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Blocks until the process writes a byte, which is consumed. Returns false if it ended instead.
    package func waitForOutput() -> Bool {
        var byte: UInt8 = 0
        return read(output, &byte, 1) == 1
    }
}
