internal import Glibc

/// Test films, created by the `ffmpeg` program on first use and cached.
package enum TestClips {
    /// A film could not be created; the message of the program.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    /// The folder of the clips: `TALKIE_TEST_CLIPS`, or a folder in /tmp.
    package static let folder: String = {
        let chosen = getenv("TALKIE_TEST_CLIPS").map { String(cString: $0) }
        let path = chosen ?? "/tmp/talkie-test-clips-\(getuid())"
        mkdir(path, 0o755)
        return path
    }()

    /// Returns the path of a clip with flashes and beeps, created on first use.
    ///
    /// The video is black and white for a tenth of a second at every whole second; the audio is silent and beeps
    /// (1 kHz) for the same tenth. Media time n therefore has flash and beep for whole n.
    ///
    /// - Parameters:
    ///   - name: The file name; its extension selects the container.
    ///   - codec: Arguments for codecs and container.
    ///   - input: Arguments before the audio input, such as `-itsoffset`.
    ///   - rate: Video frames per second.
    package static func flashAndBeep(
        _ name: String, _ codec: String, before input: String = "", rate: String = "25", seconds: Int = 4,
        sampleRate: Int = 48000, channels: String = "mono", size: String = "192x108"
    ) throws -> String {
        let picture =
            "color=c=black:s=\(size):r=\(rate):d=\(seconds),drawbox=c=white:t=fill:enable='lt(mod(t+0.002,1),0.099)'"
        let sound =
            "aevalsrc='if(lt(mod(t,1),0.1),0.5*sin(2*PI*1000*t),0)':s=\(sampleRate):d=\(seconds),aformat=channel_layouts=\(channels)"
        return try make(
            name,
            ["-f", "lavfi", "-i", picture] + words(input) + ["-f", "lavfi", "-i", sound] + words(codec))
    }

    /// Runs `ffmpeg` with these arguments to write `name` unless cached. Returns the path.
    package static func make(_ name: String, _ arguments: [String]) throws -> String {
        let path = "\(folder)/\(fingerprint(arguments))-\(name)"
        if access(path, R_OK) == 0 { return path }
        // Written under a temporary name and renamed: two tests can request it at the same time.
        let draft = "\(folder)/draft-\(getpid())-\(UInt64.random(in: 0 ... .max))-\(name)"
        try run("ffmpeg", ["-nostdin", "-v", "error", "-y"] + arguments + [draft])
        guard rename(draft, path) == 0 else { throw Failure(description: "cannot move \(draft)") }
        return path
    }

    /// Concatenates files. Returns the path.
    package static func join(_ parts: [String], to name: String) throws -> String {
        let path = "\(folder)/\(fingerprint(parts))-\(name)"
        if access(path, R_OK) == 0 { return path }
        let draft = "\(folder)/draft-\(getpid())-\(UInt64.random(in: 0 ... .max))-\(name)"
        try write(try parts.flatMap { try bytes(of: $0) }, to: draft)
        guard rename(draft, path) == 0 else { throw Failure(description: "cannot move \(draft)") }
        return path
    }

    /// Returns the contents of a file.
    package static func bytes(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw Failure(description: "cannot read \(path)") }
        defer { fclose(file) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let got = fread(&buffer, 1, buffer.count, file), got > 0 { all += buffer.prefix(got) }
        return all
    }

    /// Writes a file, replacing an existing one.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "wb") else { throw Failure(description: "cannot write \(path)") }
        defer { fclose(file) }
        if fwrite(bytes, 1, bytes.count, file) != bytes.count { throw Failure(description: "cannot write \(path)") }
    }

    /// Splits at spaces; sufficient for codec options.
    package static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    private static func fingerprint(_ arguments: [String]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in arguments.joined(separator: "\u{0}").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 36)
    }

    /// Runs a program from PATH and blocks until it ends.
    ///
    /// - Throws: `Failure` with its standard error.
    package static func run(_ program: String, _ arguments: [String]) throws {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { throw Failure(description: "no pipe") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 2)
        posix_spawn_file_actions_addclose(&actions, pipes[0])
        var pid = pid_t()
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = posix_spawnp(&pid, program, &actions, nil, &words, environ)
        posix_spawn_file_actions_destroy(&actions)
        close(pipes[1])
        defer { close(pipes[0]) }
        guard code == 0 else { throw Failure(description: "\(program) does not start; install it") }
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let got = read(pipes[0], &buffer, buffer.count)
            if got <= 0 { break }
            said += buffer.prefix(got)
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        if status != 0 {
            throw Failure(
                description: "\(program) \(arguments.joined(separator: " ")): \(String(decoding: said, as: UTF8.self))")
        }
    }
}
