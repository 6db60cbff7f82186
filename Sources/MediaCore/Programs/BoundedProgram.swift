internal import CShim
internal import Glibc

/// Runs a program without a shell and captures its output, with limits on bytes and time.
package enum BoundedProgram {
    /// The result of a program that has exited.
    package struct Outcome: Sendable {
        package var output: [UInt8]
        /// The end of its standard error, at most 64 KiB.
        package var complaint: String
        /// Exit status; nil if a signal terminated it, or if it is unknown because this process ignores SIGCHLD.
        package var status: Int32?
    }

    /// The reason why there is no outcome. The program is no longer running.
    package enum Failure: Error, Sendable {
        case cancelled
        /// The timeout expired.
        case tooSlow
        /// The output exceeds its limit.
        case tooLong
        /// It could not be started; the text of errno.
        case notStarted(String)

        /// The predicate of a sentence about the program.
        package var predicate: String {
            switch self {
            case .cancelled: "cancelled"
            case .tooSlow: "timed out"
            case .tooLong: "too much output"
            case .notStarted(let cause): "cannot be started (\(cause))"
            }
        }
    }

    private static let longestComplaint = 64 << 10
    /// Interval of the checks for cancellation and timeout, in milliseconds.
    private static let glance: Int32 = 50

    /// Returns the path of an executable in the absolute folders of `PATH`; nil if there is none.
    package static func find(_ name: String, in path: String? = getenv("PATH").map { String(cString: $0) }) -> String? {
        for folder in (path ?? "").split(separator: ":") where folder.hasPrefix("/") {
            let file = "\(folder)/\(name)"
            var status = stat()
            if stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(file, X_OK) == 0 { return file }
        }
        return nil
    }

    /// Runs a program and waits until it exits. Blocks the calling thread. On an error its process group is killed and
    /// reaped.
    ///
    /// - Parameters:
    ///   - input: contents of its standard input; empty means `/dev/null`.
    ///   - file: a descriptor that it can open as `/proc/self/fd/3`; nil: none.
    ///   - maxBytes: maximum number of bytes of its standard output.
    ///   - timeout: timeout for the whole run.
    ///   - isCancelled: polled 20 times per second, on the calling thread.
    package static func run(
        _ path: String, _ arguments: [String], input: [UInt8] = [], file: Int32? = nil, maxBytes: Int,
        timeout: Duration,
        isCancelled: () -> Bool
    ) throws(Failure) -> Outcome {
        let source = try inputFile(input)
        defer { if let source { close(source) } }
        var (out, complaints): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard cshim_pipe(&out) == 0 else { throw .notStarted(SystemCause.text(errno)) }
        defer { close(out[0]) }
        guard cshim_pipe(&complaints) == 0 else {
            let cause = SystemCause.text(errno)
            close(out[1])
            throw .notStarted(cause)
        }
        defer { close(complaints[0]) }
        let child: pid_t
        do {
            defer {
                close(out[1])
                close(complaints[1])
            }
            child = try start(path, arguments, input: source, file: file, output: out[1], complaints: complaints[1])
        }
        var hasEnded = false
        defer {
            if !hasEnded {
                // The process group, which includes processes that it started.
                kill(-child, SIGKILL)
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
            }
        }
        let deadline = HostInstant.now.advanced(by: timeout)
        var (output, complaint) = ([UInt8](), [UInt8]())
        var open = [
            pollfd(fd: out[0], events: Int16(POLLIN), revents: 0),
            pollfd(fd: complaints[0], events: Int16(POLLIN), revents: 0),
        ]
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while open.contains(where: { $0.fd >= 0 }) {
            if isCancelled() { throw .cancelled }
            if HostInstant.now >= deadline { throw .tooSlow }
            guard poll(&open, nfds_t(open.count), glance) > 0 else { continue }
            for index in open.indices where open[index].fd >= 0 && open[index].revents != 0 {
                let got = read(open[index].fd, &piece, piece.count)
                if got < 0, errno == EINTR || errno == EAGAIN { continue }
                if got <= 0 {
                    open[index].fd = -1
                } else if index == 0 {
                    guard output.count + got <= maxBytes else { throw .tooLong }
                    output += piece[..<got]
                } else {
                    complaint += piece[..<got]
                    if complaint.count > longestComplaint { complaint.removeFirst(complaint.count - longestComplaint) }
                }
            }
        }
        var status: Int32 = 0
        var ended: pid_t = 0
        while true {
            ended = waitpid(child, &status, WNOHANG)
            if ended == child || (ended < 0 && errno != EINTR) { break }
            if isCancelled() { throw .cancelled }
            if HostInstant.now >= deadline { throw .tooSlow }
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        hasEnded = true
        return Outcome(
            output: output, complaint: String(decoding: complaint, as: UTF8.self),
            status: ended == child && status & 0x7F == 0 ? (status >> 8) & 0xFF : nil)
    }

    /// Returns a descriptor of an unnamed file in memory that contains `bytes`; nil without bytes. A pipe would block
    /// on a program that does not read.
    private static func inputFile(_ bytes: [UInt8]) throws(Failure) -> Int32? {
        guard !bytes.isEmpty else { return nil }
        let descriptor = memoryFile("input", bytes)
        guard descriptor >= 0 else { throw .notStarted(SystemCause.text(errno)) }
        return descriptor
    }

    /// Returns a descriptor, closed on exec, of an unnamed file in memory, which ends with its descriptors; -1 with
    /// errno set on failure.
    package static func memoryFile(_ name: String, _ bytes: [UInt8]) -> Int32 {
        let descriptor = cshim_memory_file(name)
        guard descriptor >= 0 else { return -1 }
        if let code = CompleteWrite.write(bytes, to: descriptor) {
            close(descriptor)
            errno = code
            return -1
        }
        lseek(descriptor, 0, SEEK_SET)
        return descriptor
    }

    private static func start(
        _ path: String, _ arguments: [String], input: Int32?, file: Int32?, output out: Int32, complaints: Int32
    ) throws(Failure) -> pid_t {
        var program = ProgramStart(path, arguments)
        if let input { program.input = .descriptor(input) }
        program.output = .descriptor(out)
        program.complaints = .descriptor(complaints)
        program.file = file
        program.leadsGroup = true
        do throws(ProgramStart.Refusal) { return try program.start() } catch { throw .notStarted(error.cause) }
    }
}
