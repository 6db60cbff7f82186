import Foundation
import Glibc

/// The program in a pseudoterminal that is its controlling terminal.
final class TerminalProcess {
    enum Ending: Equatable {
        case status(Int32)
        case signal(Int32)
        case stopped
        /// Still running after the timeout.
        case never
    }

    /// Timeout for each operation, in seconds; long, because the machine may be busy.
    private static let timeout = 60.0
    private let process: pid_t
    private let person: Int32
    /// Held open, so that the terminal outlives the program and can be inspected.
    private let program: Int32
    private(set) var output = ""
    private var ending: Ending?

    /// - Parameter path: The program; `talkie` by default.
    init(_ arguments: [String], of path: String = Program.talkie, environment: [String: String] = [:]) {
        person = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (locked, number): (Int32, Int32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN, ioctl_tty(2).
        precondition(
            person >= 0 && ioctl(person, 0x4004_5431, &locked) == 0 && ioctl(person, 0x8004_5430, &number) == 0)
        let terminal = "/dev/pts/\(number)"
        program = open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC)
        var size = winsize(ws_row: 24, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0)
        precondition(ioctl(program, UInt(TIOCSWINSZ), &size) == 0)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a session leader opens becomes its controlling terminal.
        posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Test threads block signals, and a child process would inherit the mask.
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        // POSIX_SPAWN_SETSIGDEF, _SETSIGMASK and _SETSID, spawn.h of glibc 2.26.
        posix_spawnattr_setflags(&attributes, 0x04 | 0x08 | 0x80)

        var variables = ProcessInfo.processInfo.environment
        // No window, and no interactive backtraces.
        variables["SDL_VIDEODRIVER"] = "dummy"
        variables["SWIFT_BACKTRACE"] = "enable=no"
        variables["TERM"] = "xterm"
        variables.merge(environment) { $1 }
        var process = pid_t()
        let code = Self.withStrings([path] + arguments) { words in
            Self.withStrings(variables.map { "\($0)=\($1)" }) { environment in
                posix_spawn(&process, path, &actions, &attributes, words, environment)
            }
        }
        precondition(code == 0, "\(path) cannot be started: error \(code)")
        self.process = process
    }

    deinit {
        if ending == nil || ending == .never {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        close(person)
        close(program)
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = strings.map { string in string.withCString { strdup($0) } }
        defer { pointers.forEach { free($0) } }
        pointers.append(nil)
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    // MARK: Interaction

    /// Reads until the output contains a text; returns false on timeout or if the program has ended without it.
    func see(_ text: String) -> Bool {
        let end = Date().addingTimeInterval(Self.timeout)
        while !output.contains(text) {
            guard Date() < end else { return false }
            if !readSome(), hasEnded() {
                while readSome() {}
                return output.contains(text)
            }
        }
        return true
    }

    /// Discards the output read so far.
    func discardOutput() { output = "" }

    func type(_ keys: String) {
        let bytes = Array(keys.utf8)
        write(person, bytes, bytes.count)
    }

    func send(_ signal: Int32) { kill(process, signal) }

    /// Returns the processor time of the program's thread with a name in seconds; nil if there is none.
    func processorTime(of thread: String) -> Double? {
        let folder = "/proc/\(process)/task"
        // ignored: a thread may end meanwhile.
        func text(_ id: String, _ file: String) -> String? {
            try? String(contentsOfFile: "\(folder)/\(id)/\(file)", encoding: .utf8)
        }
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let id = threads.first(where: { text($0, "comm") == thread + "\n" }) else { return nil }
        // proc(5), schedstat: nanoseconds on the processor.
        return text(id, "schedstat")?.split(separator: " ").first.flatMap { Double($0) }.map { $0 / 1e9 }
    }

    /// True if the terminal is in canonical mode with echo, as shells leave it.
    var isAsShellsLeaveIt: Bool {
        var settings = termios()
        tcgetattr(program, &settings)
        let wanted = tcflag_t(ICANON | ECHO)
        return settings.c_lflag & wanted == wanted
    }

    /// Waits until the program ends or stops.
    func wait() -> Ending {
        let end = Date().addingTimeInterval(Self.timeout)
        while !hasEnded() {
            guard Date() < end else {
                ending = .never
                break
            }
            _ = readSome()
        }
        while readSome() {}
        defer { if ending == .stopped { ending = nil } }
        return ending ?? .never
    }

    private func hasEnded() -> Bool {
        var status: Int32 = 0
        guard ending == nil, waitpid(process, &status, WNOHANG | WUNTRACED) == process else { return ending != nil }
        // wait(2): the low byte is the kind of end, the next one its status.
        switch status & 0x7F {
        case 0: ending = .status(status >> 8 & 0xFF)
        case 0x7F: ending = .stopped
        case let signal: ending = .signal(signal)
        }
        return true
    }

    /// Reads available output, waiting at most 20 ms; returns false if there was none.
    private func readSome() -> Bool {
        var poll = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, 20) == 1, poll.revents & Int16(POLLIN) != 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(person, &bytes, bytes.count)
        guard count > 0 else { return false }
        output += String(decoding: bytes[..<count], as: UTF8.self)
        return true
    }
}
