package import Glibc
package import MediaCore
internal import Sockets

/// Starts and supervises a program as systemd does for a service of `Type=notify` (systemd.service(5)), and logs events
/// with their time. For tests; any thread.
///
/// Not implemented: sandboxing, `NotifyAccess=` (any process that knows the socket can send), start rate limits.
package final class ServiceSupervisor: Sendable {
    /// Settings of a unit file.
    package struct Unit: Sendable {
        package var program: String
        package var arguments: [String] = []
        /// Added to the environment of this process.
        package var environment: [String: String] = [:]
        /// `WatchdogSec=`.
        package var watchdog: Duration?
        /// `Restart=on-failure`, otherwise `no`.
        package var restarts = true
        /// `RestartSec=`.
        package var restartDelay = Duration.milliseconds(100)
        /// Maximum number of starts; afterwards the service stays stopped.
        package var maxStarts = 5
        /// `TimeoutStopSec=`: from SIGTERM, or SIGABRT, to SIGKILL.
        package var stopTimeout = Duration.seconds(10)
        /// File to which standard output and error are appended; nil discards them.
        package var log: String?

        package init(_ program: String, _ arguments: [String] = []) {
            (self.program, self.arguments) = (program, arguments)
        }
    }

    package enum Event: Sendable, Equatable {
        case started(process: pid_t)
        /// The lines of one datagram.
        case notified([String])
        /// No keep-alive before the timeout: SIGABRT was sent.
        case watchdogMissed
        case exited(status: Int32)
        case killed(signal: Int32)
        /// The process did not exit before the timeout: SIGKILL was sent.
        case forced
    }

    package struct Entry: Sendable, Equatable {
        package let at: HostInstant
        package let event: Event
    }

    package struct NotStarted: Error {
        package let cause: String
    }

    private struct State {
        var entries: [Entry] = []
        /// 0 if no process runs.
        var process: pid_t = 0
        var isStopping = false
        var hasEnded = false
    }

    private let unit: Unit
    private let name = "@talkie-supervisor-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    private let ear: LocalDatagramSocket
    private let state = Lock(State())
    private let wake: PollableSignal
    private let thread = Lock<WorkerThread?>(nil)

    package init(_ unit: Unit) throws {
        self.unit = unit
        guard let address = LocalSocketAddress(name), let ear = LocalDatagramSocket(receivingAt: address) else {
            throw NotStarted(cause: "no socket for notifications")
        }
        self.ear = ear
        wake = try PollableSignal()
    }

    deinit { stop() }

    /// Starts the program, and restarts it after each failure until `stop`.
    package func start() throws {
        try thread.withLock { (thread) throws(ExhaustionError) in
            thread = try WorkerThread.start(name: "supervisor") { [unowned self] in run() }
        }
    }

    /// Sends SIGTERM and waits until the process has exited; it is not restarted.
    package func stop() {
        state.withLock { $0.isStopping = true }
        wake.raise()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Sends SIGHUP, which requests a reload of the configuration.
    package func reload() { send(SIGHUP) }

    package func send(_ signal: Int32) {
        let process = process
        if process > 0 { kill(process, signal) }
    }

    /// The process ID of the service; 0 if no process runs.
    package var process: pid_t { state.withLock { $0.process } }
    package var entries: [Entry] { state.withLock { $0.entries } }
    /// True if the service has stopped and is not restarted.
    package var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// All notification lines of all processes so far, in order.
    package var notifications: [String] {
        entries.flatMap { entry -> [String] in
            guard case .notified(let lines) = entry.event else { return [] }
            return lines
        }
    }

    /// Waits until the events so far satisfy a condition; returns false on timeout.
    package func wait(within timeout: Duration, until isEnough: ([Entry]) -> Bool) -> Bool {
        let deadline = HostInstant.now.advanced(by: timeout)
        while !isEnough(entries) {
            if HostInstant.now >= deadline { return false }
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        return true
    }

    // MARK: The thread

    /// Interval at which the process is checked for its exit.
    private static let glance = Duration.milliseconds(10)

    private func run() {
        defer { state.withLock { ($0.hasEnded, $0.process) = (true, 0) } }
        for number in 0..<unit.maxStarts {
            if number > 0, rest() { return }
            guard let process = try? spawn() else { return }
            state.withLock { $0.process = process }
            record(.started(process: process))
            if !watch(process) || !unit.restarts { return }
        }
    }

    /// Waits for the restart delay; returns true if `stop` was requested.
    private func rest() -> Bool {
        let until = HostInstant.now.advanced(by: unit.restartDelay)
        while HostInstant.now < until {
            if state.withLock({ $0.isStopping }) { return true }
            _ = wake.wait(until: min(until, .now.advanced(by: Self.glance)))
        }
        return state.withLock { $0.isStopping }
    }

    /// Waits until the process has exited; returns true if it failed.
    private func watch(_ process: pid_t) -> Bool {
        // READY=1 arms the watchdog.
        var end: HostInstant?
        var deadline: HostInstant?
        var hasMissed = false
        while true {
            _ = wake.wait(until: .now.advanced(by: Self.glance), orReadable: ear.descriptor)
            while let text = ear.receive() {
                let lines = text.split(separator: "\n").map(String.init)
                record(.notified(lines))
                if let watchdog = unit.watchdog,
                    lines.contains("WATCHDOG=1") || lines.contains("READY=1") && end == nil
                {
                    if end != nil || lines.contains("READY=1") { end = .now.advanced(by: watchdog) }
                }
            }
            var status: Int32 = 0
            if waitpid(process, &status, WNOHANG) == process {
                let signal = status & 0x7F
                record(signal == 0 ? .exited(status: status >> 8 & 0xFF) : .killed(signal: signal))
                state.withLock { $0.process = 0 }
                if state.withLock({ $0.isStopping }) { return false }
                // The clean exit signals of systemd.service(5).
                return hasMissed || signal == 0
                    ? hasMissed || status >> 8 != 0 : ![SIGHUP, SIGINT, SIGTERM, SIGPIPE].contains(signal)
            }
            if let limit = deadline, HostInstant.now >= limit {
                record(.forced)
                kill(process, SIGKILL)
                deadline = nil
                end = nil
            } else if deadline == nil, state.withLock({ $0.isStopping }), !hasForced(process) {
                kill(process, SIGTERM)
                deadline = .now.advanced(by: unit.stopTimeout)
            } else if let limit = end, HostInstant.now >= limit, !hasMissed {
                hasMissed = true
                record(.watchdogMissed)
                kill(process, SIGABRT)
                deadline = .now.advanced(by: unit.stopTimeout)
            }
        }
    }

    /// Returns true if the current process was already sent SIGKILL.
    private func hasForced(_ process: pid_t) -> Bool {
        let entries = entries
        guard let start = entries.lastIndex(where: { $0.event == .started(process: process) }) else { return false }
        return entries[start...].contains { $0.event == .forced }
    }

    private func record(_ event: Event) { state.withLock { $0.entries.append(Entry(at: .now, event: event)) } }

    private func spawn() throws -> pid_t {
        let making = unit.log == nil ? 0 : O_CREAT | O_APPEND
        let log = open(unit.log ?? "/dev/null", O_WRONLY | O_CLOEXEC | making, 0o600)
        guard log >= 0 else { throw NotStarted(cause: SystemCause.text(errno)) }
        defer { close(log) }
        var program = ProgramStart(unit.program, unit.arguments)
        (program.output, program.complaints) = (.descriptor(log), .descriptor(log))
        program.variables = unit.environment.mapValues { $0 }
        program.variables["NOTIFY_SOCKET"] = name
        program.variables["WATCHDOG_PID"] = .some(nil)
        program.variables["WATCHDOG_USEC"] = .some(unit.watchdog.map { "\($0.wholeNanoseconds / 1000)" })
        do { return try program.start() } catch { throw NotStarted(cause: error.cause) }
    }
}
