package import MediaCore
package import Playback
internal import Sockets
internal import Storage

/// Connects a kiosk to the MQTT broker of its fleet: publishes its state and receives commands.
///
/// Failures of the broker do not affect playback. They are reported once, and the connection is retried. Any thread;
/// the thread "fleet" communicates.
package final class FleetLink: Sendable {
    private struct State {
        var filter: FleetCommandFilter
        /// The state to send next; earlier unsent ones are dropped.
        var state: String?
        var answers: [String] = []
        /// The number of answers that were discarded and not reported.
        var lostAnswers = 0
        var lastState: String?
        var isStopping = false
        var isConnected = false
    }

    /// The delay between attempts; doubled after each failure.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    /// The timeout for the broker to accept the connection.
    private static let timeout = Duration.seconds(15)
    /// The duration of a connection after which the next attempt has the shortest delay again.
    private static let goodFor = Duration.seconds(30)
    /// The number of shorter connections in a row that indicates another kiosk of the same name.
    private static let maxShortConnections = 3
    /// The minimum interval between state messages.
    private static let minInterval = Duration.seconds(1)
    /// The maximum number of answers that wait for a connection; the oldest is discarded first.
    private static let maxAnswers = 4096
    /// The timeout of `stop`: a name lookup cannot be interrupted.
    private static let farewellTimeout = Duration.seconds(2)

    private let fleet: KioskConfiguration.Fleet
    private let password: String?
    private let library: MosquittoLibrary
    private let handle: @Sendable (FleetCommand, @escaping ControlReply) -> Void
    private let report: @Sendable (String) -> Void
    private let state: Lock<State>
    private let signal: PollableSignal
    private let hasEnded = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a link and reads the password; `start` connects.
    ///
    /// - Parameters:
    ///   - table: The commands that are received.
    ///   - handle: Called with each command on the fleet's thread. Must not block; may reply later.
    ///   - report: Called with sentences for the user, on the same thread.
    /// - Throws: `TalkieError` if libmosquitto or a file is missing.
    package init(
        _ fleet: KioskConfiguration.Fleet, table: ControlTable, report: @escaping @Sendable (String) -> Void = { _ in },
        handle: @escaping @Sendable (FleetCommand, @escaping ControlReply) -> Void
    ) throws(TalkieError) {
        guard let library = MosquittoLibrary.shared else {
            throw TalkieError(.unavailable, "A fleet needs libmosquitto; install the package libmosquitto1.")
        }
        password = if let file = fleet.passwordFile { try SecretFile.read(file) } else { nil }
        if let file = fleet.authorities, let objection = InputCheck.objection(to: file, what: .file) { throw objection }
        (self.library, self.fleet, self.handle, self.report) = (library, fleet, handle, report)
        state = Lock(State(filter: FleetCommandFilter(table)))
        do throws(ExhaustionError) { signal = try PollableSignal() } catch { throw TalkieError(error) }
    }

    /// Whether the broker has accepted the connection.
    package var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    package func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "fleet") { [self] in
            run()
            hasEnded.raise()
        }
        thread.withLock { $0 = worker }
    }

    /// Publishes the state as a retained message. Returns at once.
    package func publish(_ message: KioskStateMessage) {
        let text = message.json
        state.withLock { $0.state = text == $0.lastState ? nil : text }
        signal.raise()
    }

    /// Disconnects and ends the thread. Blocks for two seconds at most; a name lookup that takes longer ends in the
    /// background.
    package func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
        guard let worker = thread.withLock({ $0.take() }) else { return }
        if hasEnded.wait(until: .now.advanced(by: Self.farewellTimeout)) { worker.join() }
    }

    // MARK: Thread

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    private func run() {
        var pause = Self.firstPause
        var isReported = false
        // Consecutive connections that the broker accepted and soon closed.
        var shortConnections = 0
        // MQTT 5 first: its broker does not send packets that are too large.
        var isBounded = true
        while !isStopping {
            let began = HostInstant.now
            let why: String
            do throws(ValueError) {
                let connection = try FleetConnection(
                    library, fleet, password: password, isBounded: isBounded
                ) { [self] bytes, isRetained in handleMessage(bytes, isRetained) }
                do throws(ValueError) {
                    try talk(connection) {
                        if isReported { report("Reconnected to the fleet's broker \(fleet.host).") }
                        isReported = false
                    }
                } catch {
                    let isOlder = isBounded && connection.hasRefusedVersion
                    isBounded = !isOlder
                    if isOlder { continue }
                    throw error
                }
                connection.end()
                why = ""
            } catch {
                why = error.description
            }
            let wasConnected = state.withLock { state in
                defer { state.isConnected = false }
                return state.isConnected
            }
            if isStopping { return }
            if wasConnected { shortConnections = HostInstant.now - began < Self.goodFor ? shortConnections + 1 : 0 }
            if !isReported {
                isReported = true
                let (host, port) = (fleet.host, fleet.port)
                // A broker closes the connection of an earlier client of the same name; not all say so.
                let hint =
                    shortConnections < Self.maxShortConnections
                    ? "" : "; another kiosk may have the name '\(fleet.name)': give each its own in [fleet]"
                report(
                    wasConnected
                        ? "The connection to the fleet's broker \(host) was lost (\(why)\(hint)); the film continues, and the connection is retried."
                        : "The fleet's broker cannot be reached at \(host), port \(port) (\(why)); the connection is retried."
                )
            }
            if HostInstant.now - began >= Self.goodFor { pause = Self.firstPause }
            wait(until: HostInstant.now.advanced(by: pause))
            pause = min(Self.longestPause, pause * 2)
        }
    }

    private func wait(until instant: HostInstant) {
        while !isStopping, HostInstant.now < instant { _ = signal.wait(until: instant) }
    }

    /// Serves a connection until it ends or the kiosk stops.
    private func talk(_ connection: FleetConnection, whenConnected: () -> Void) throws(ValueError) {
        let began = HostInstant.now
        var isNew = true
        var nextState = began
        while !isStopping {
            let now = HostInstant.now
            try connection.runIteration(until: now.advanced(by: .seconds(1)), signal: signal)
            guard connection.isConnected else {
                if now - began > Self.timeout { throw ValueError("no response") }
                continue
            }
            if isNew {
                isNew = false
                state.withLock { state in
                    state.isConnected = true
                    // A restarted broker has lost the retained state.
                    state.state = state.state ?? state.lastState
                }
                whenConnected()
            }
            let mayTell = HostInstant.now >= nextState
            let (answers, lost, message) = state.withLock { state -> ([String], Int, String?) in
                defer { (state.answers, state.lostAnswers) = ([], 0) }
                guard mayTell, let message = state.state else { return (state.answers, state.lostAnswers, nil) }
                (state.state, state.lastState) = (nil, message)
                return (state.answers, state.lostAnswers, message)
            }
            if lost > 0 {
                report("\(lost) answers to commands of the fleet were discarded; send fewer commands at once.")
            }
            for answer in answers { try connection.publish(answer: answer) }
            if let message {
                try connection.publish(state: message)
                nextState = HostInstant.now.advanced(by: Self.minInterval)
            }
        }
    }

    private func handleMessage(_ bytes: UnsafeRawBufferPointer, _ isRetained: Bool) {
        switch state.withLock({ $0.filter.accept(bytes, isRetained: isRetained) }) {
        case .answer(let answer): send(answer)
        case .carryOut(let command):
            handle(command) { [weak self] result in
                let answer = FleetAnswer(id: command.id, result)
                if self?.state.withLock({ $0.filter.recordAnswer(answer) }) ?? false { self?.send(answer) }
            }
        }
    }

    private func send(_ answer: FleetAnswer) {
        state.withLock { state in
            if state.answers.count == Self.maxAnswers {
                state.answers.removeFirst()
                state.lostAnswers += 1
            }
            state.answers.append(answer.json)
        }
        signal.raise()
    }
}
