internal import CShim
internal import Glibc

/// The parameters of a child process. It is started without a shell and inherits the given descriptors only. Its signal
/// mask is empty and all signals have default actions, independent of this process.
package struct ProgramStart: Sendable {
    /// The target of a standard descriptor.
    package enum Stream: Sendable {
        /// /dev/null.
        case nothing
        case descriptor(Int32)
    }

    /// The error of posix_spawn(3).
    package struct Refusal: Error, Sendable {
        /// An `errno` value.
        package let code: Int32
        package var cause: String { SystemCause.text(code) }
    }

    private let path: String
    private let arguments: [String]
    /// Standard input, output and error.
    package var input = Stream.nothing
    package var output = Stream.nothing
    package var complaints = Stream.nothing
    /// A descriptor that it inherits as number 3; nil: none.
    package var file: Int32?
    /// True if it inherits the environment of this process, false for an empty one.
    package var hasEnvironment = true
    /// Changes to the environment; nil removes a variable.
    package var variables: [String: String?] = [:]
    /// True if it becomes the leader of a process group, so that a signal to the group reaches its children.
    var leadsGroup = false

    /// - Parameters:
    ///   - path: an executable file; `PATH` is not searched.
    ///   - arguments: the arguments after the program's name.
    package init(_ path: String, _ arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    /// Starts the process.
    ///
    /// - Returns: the process identifier; the caller must call waitpid(2).
    package func start() throws(Refusal) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [input, output, complaints].enumerated() {
            switch stream {
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            case .nothing:
                let mode = number == 0 ? O_RDONLY : O_WRONLY
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", mode, 0)
            }
        }
        if let file { posix_spawn_file_actions_adddup2(&actions, file, 3) }
        cshim_spawn_closing_from(&actions, file == nil ? 3 : 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var environment = environment.map { strdup($0) } + [nil]
        defer { for variable in environment { free(variable) } }
        var child = pid_t()
        let code = posix_spawn(&child, path, &actions, &attributes, &argv, &environment)
        guard code == 0 else { throw Refusal(code: code) }
        return child
    }

    /// The environment in the format of `environ`.
    private var environment: [String] {
        var lines: [String] = []
        var entry = hasEnvironment ? environ : nil
        while let text = entry?.pointee {
            let line = String(cString: text)
            if variables[String(line.prefix { $0 != "=" })] == nil { lines.append(line) }
            entry? += 1
        }
        return lines + variables.sorted { $0.key < $1.key }.compactMap { name, value in value.map { "\(name)=\($0)" } }
    }
}
