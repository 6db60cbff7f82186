internal import Glibc
internal import MediaCore

/// Films for tests, made by the `ffmpeg` program at the first request and kept for later ones, also of other processes
/// and runs.
package enum TestClips {
    /// A film could not be created; the message of the program.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    /// The folder of the clips: `TALKIE_TEST_CLIPS`, otherwise one among the temporary files.
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
        let video =
            "color=c=black:s=\(size):r=\(rate):d=\(seconds),drawbox=c=white:t=fill:enable='lt(mod(t+0.002,1),0.099)'"
        let audio =
            "aevalsrc='if(lt(mod(t,1),0.1),0.5*sin(2*PI*1000*t),0)':s=\(sampleRate):d=\(seconds),aformat=channel_layouts=\(channels)"
        return try make(
            name,
            ["-f", "lavfi", "-i", video] + arguments(input) + ["-f", "lavfi", "-i", audio] + arguments(codec))
    }

    /// Returns the path of the film that `ffmpeg` writes with these arguments; made once for each version of the
    /// program.
    ///
    /// - Parameter arguments: all but the output's path. Of a file that is named with its whole path, the contents
    ///   count.
    package static func make(_ name: String, _ arguments: [String]) throws -> String {
        try publish(name, [version] + arguments.map(key)) { try write($0, arguments) }
    }

    /// As `make`, copied to a path.
    package static func make(at path: String, _ arguments: [String]) throws {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        try write(bytes(of: make(name, arguments)), to: path)
    }

    /// As `make`, for a playlist or manifest: returns the path of the folder that holds it and its segments.
    package static func makeFolder(of name: String, _ arguments: [String]) throws -> String {
        // ffmpeg reads patterns such as %v in a path.
        try publish("files", [version, name] + arguments.map(key)) {
            mkdir($0, 0o755)
            try write("\($0)/\(name)", arguments)
        }
    }

    /// As `makeFolder`, its files copied into a folder.
    package static func make(_ name: String, in folder: String, _ arguments: [String]) throws {
        let made = try makeFolder(of: name, arguments)
        var files: [String] = []
        let isRead = FolderEntries.forEachName(in: made) { name in
            files.append(name)
            return true
        }
        guard isRead else { throw Failure(description: "cannot read \(made)") }
        for file in files { try write(bytes(of: "\(made)/\(file)"), to: "\(folder)/\(file)") }
    }

    /// Returns the path of a file of these bytes.
    package static func make(_ name: String, of bytes: [UInt8]) throws -> String {
        try publish(name, [fingerprint(bytes)]) { try write(bytes, to: $0) }
    }

    /// Writes the bytes of several files one after the other. Returns the path.
    package static func join(_ parts: [String], to name: String) throws -> String {
        try publish(name, parts) { try write(try parts.flatMap { try bytes(of: $0) }, to: $0) }
    }

    private static func write(_ path: String, _ arguments: [String]) throws {
        // Idle priority where a test of another process may be measuring (Tools/lanes).
        let command = getenv("TALKIE_IDLE_CLIPS") == nil ? ["ffmpeg"] : ["chrt", "--idle", "0", "ffmpeg"]
        try run(command[0], command.dropFirst() + ["-nostdin", "-v", "error", "-y"] + arguments + [path])
    }

    /// Returns the path of what `write` makes, in the folder of clips, and calls it where there is none of these parts
    /// yet.
    private static func publish(_ name: String, _ parts: [String], write: (String) throws -> Void) throws -> String {
        let path = "\(folder)/\(fingerprint(Array(parts.joined(separator: "\u{0}").utf8)))-\(name)"
        if access(path, R_OK) == 0 { return path }
        // Written under a name of its own and then moved: two tests, or two processes, may ask at once.
        let draft = "\(folder)/draft-\(getpid())-\(UInt64.random(in: 0 ... .max))-\(name)"
        do {
            try write(draft)
        } catch {
            unlink(draft)
            throw error
        }
        // A folder is not replaced by another one.
        guard rename(draft, path) == 0 || access(path, R_OK) == 0 else {
            throw Failure(description: "cannot move \(draft)")
        }
        return path
    }

    /// The first line of what `ffmpeg -version` prints: another version makes other films.
    private static let version: String = {
        guard let answer = popen("ffmpeg -version 2> /dev/null", "r") else { return "" }
        defer { pclose(answer) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), answer) != nil else { return "" }
        // It must not end by SIGPIPE.
        var rest = [UInt8](repeating: 0, count: 4096)
        while fread(&rest, 1, rest.count, answer) > 0 {}
        return String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }()

    /// The major version of `ffmpeg`; 0 if it states none.
    package static let majorVersion =
        Int(
            version.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0

    /// Options that set the order of fields for an encoder with `+ildct`. FFmpeg 5.1 ignores the frames' own order,
    /// which 7.1 reads; later versions have no `-top`.
    package static func fieldOrder(isTopFirst: Bool) -> [String] {
        majorVersion < 6 ? ["-top", isTopFirst ? "1" : "0"] : []
    }

    /// Returns the text for an argument in the name of a clip: a file's contents, as its path may be random.
    private static func key(_ argument: String) throws -> String {
        var status = stat()
        guard argument.hasPrefix("/"), stat(argument, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return argument
        }
        return fingerprint(try bytes(of: argument))
    }

    /// Returns the contents of a file.
    package static func bytes(of path: String) throws -> [UInt8] {
        guard let file = fopen(path.systemPath, "rb") else { throw Failure(description: "cannot read \(path)") }
        defer { fclose(file) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let got = fread(&buffer, 1, buffer.count, file), got > 0 { all += buffer.prefix(got) }
        return all
    }

    /// Writes a file, replacing an existing one.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path.systemPath, "wb") else { throw Failure(description: "cannot write \(path)") }
        defer { fclose(file) }
        if fwrite(bytes, 1, bytes.count, file) != bytes.count { throw Failure(description: "cannot write \(path)") }
    }

    /// Splits at spaces; sufficient for codec options.
    package static func arguments(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    /// FNV-1a with eight bytes at a time, as recordings are megabytes; the shift brings the upper bits down.
    private static func fingerprint(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(bytes.count)
        func add(_ word: UInt64) {
            hash = (hash ^ word) &* 0x100_0000_01b3
            hash ^= hash >> 32
        }
        bytes.withUnsafeBytes { bytes in
            let alignedCount = bytes.count & ~7
            for offset in stride(from: 0, to: alignedCount, by: 8) {
                add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            for offset in alignedCount..<bytes.count { add(UInt64(bytes[offset])) }
        }
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
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        let code = posix_spawnp(&pid, program, &actions, nil, &argv, environ)
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
