package import MediaCore
internal import Sockets
internal import Storage

/// A kiosk's place in a fleet: it tells the broker how it is, and carries out what comes from there. A broker that vanishes or talks nonsense
/// changes nothing about the film; it is tried again, and told of once. Threads: any; one of its own does the talking.
package final class FleetLink: Sendable {
    /// Answers a command, once; any thread.
    package typealias Reply = @Sendable (_ isDone: Bool, _ words: String?) -> Void

    private struct State {
        var desk = FleetDesk()
        /// Not sent yet; the newest state is enough.
        var state: String?
        var answers: [String] = []
        var lastState: String?
        var isStopping = false
        var isConnected = false
    }

    /// Between two attempts; doubled while they fail.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    /// A broker that does not take us within this time is not there.
    private static let patience = Duration.seconds(15)
    /// A connection that held so long was a good one: the next loss begins with a short pause again.
    private static let goodFor = Duration.seconds(30)
    /// States are sent no more often.
    private static let leastInterval = Duration.seconds(1)
    /// Answers that wait for a connection, the oldest let go first.
    private static let mostAnswers = 64
    /// How long `stop` waits: a name that is being looked up cannot be interrupted.
    private static let mostFarewell = Duration.seconds(2)

    private let fleet: KioskConfiguration.Fleet
    private let password: String?
    private let library: MosquittoLibrary
    private let handle: @Sendable (FleetCommand, @escaping Reply) -> Void
    private let tell: @Sendable (String) -> Void
    private let state = Lock(State())
    private let signal: PollableSignal
    private let hasEnded = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// Reads the password; nothing is connected before `start`.
    ///
    /// - Parameters:
    ///   - handle: carries out a command, on the fleet's thread; must return at once, and may reply later.
    ///   - tell: what a person should know, on the same thread.
    /// - Throws: the library or the password file is not there.
    package init(
        _ fleet: KioskConfiguration.Fleet, tell: @escaping @Sendable (String) -> Void = { _ in },
        handle: @escaping @Sendable (FleetCommand, @escaping Reply) -> Void
    ) throws(TalkieError) {
        guard let library = MosquittoLibrary.shared else {
            throw TalkieError(.unavailable, "A fleet needs libmosquitto; install the package libmosquitto1.")
        }
        password = if let file = fleet.passwordFile { try SecretFile.read(file) } else { nil }
        if let file = fleet.authorities, let objection = InputCheck.objection(to: file, what: .file) { throw objection }
        (self.library, self.fleet, self.handle, self.tell) = (library, fleet, handle, tell)
        do throws(ExhaustionError) { signal = try PollableSignal() } catch { throw TalkieError(error) }
    }

    /// Whether the broker hears us at present.
    package var isConnected: Bool { state.withLock { $0.isConnected } }

    package func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "fleet") { [self] in
            run()
            hasEnded.raise()
        }
        thread.withLock { $0 = worker }
    }

    /// Tells the fleet how the kiosk is; kept by the broker until the next. Returns at once.
    package func publish(_ message: KioskStateMessage) {
        let text = message.json
        state.withLock { $0.state = text == $0.lastState ? nil : text }
        signal.raise()
    }

    /// Says goodbye and ends the thread. Waits two seconds at most; what is still looked up by then ends by itself.
    package func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        guard let worker else { return }
        if hasEnded.wait(until: .now.advanced(by: Self.mostFarewell)) { worker.join() }
    }

    // MARK: The thread

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    private func run() {
        var pause = Self.firstPause
        var isTold = false
        // MQTT 5 first, because the broker then keeps to itself what is too large.
        var isBounded = true
        while !isStopping {
            let began = HostInstant.now
            let why: String
            do throws(ValueError) {
                let connection = try FleetConnection(
                    library, fleet, password: password, isBounded: isBounded
                ) { [self] bytes, isRetained in take(bytes, isRetained) }
                do throws(ValueError) {
                    try talk(connection) {
                        if isTold { tell("The fleet's broker \(fleet.host) is there again.") }
                        isTold = false
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
            if !isTold {
                isTold = true
                let (host, port) = (fleet.host, fleet.port)
                tell(
                    wasConnected
                        ? "The fleet's broker \(host) is gone (\(why)); the film goes on, and it is tried again."
                        : "The fleet's broker cannot be reached at \(host), port \(port) (\(why)); it is tried again.")
            }
            if HostInstant.now - began >= Self.goodFor { pause = Self.firstPause }
            wait(until: HostInstant.now.advanced(by: pause))
            pause = min(Self.longestPause, pause * 2)
        }
    }

    private func wait(until moment: HostInstant) {
        while !isStopping, HostInstant.now < moment { _ = signal.wait(until: moment) }
    }

    /// Until it is over or the kiosk ends.
    private func talk(_ connection: FleetConnection, whenConnected: () -> Void) throws(ValueError) {
        let began = HostInstant.now
        var isNew = true
        var nextState = began
        while !isStopping {
            let now = HostInstant.now
            try connection.turn(until: now.advanced(by: .seconds(1)), signal: signal)
            guard connection.isConnected else {
                if now - began > Self.patience { throw ValueError("it does not answer") }
                continue
            }
            if isNew {
                isNew = false
                state.withLock { state in
                    state.isConnected = true
                    // A broker that was started anew knows nothing of us.
                    state.state = state.state ?? state.lastState
                }
                whenConnected()
            }
            let mayTell = HostInstant.now >= nextState
            let (answers, message) = state.withLock { state -> ([String], String?) in
                defer { state.answers.removeAll() }
                guard mayTell, let message = state.state else { return (state.answers, nil) }
                (state.state, state.lastState) = (nil, message)
                return (state.answers, message)
            }
            for answer in answers { try connection.publish(answer: answer) }
            if let message {
                try connection.publish(state: message)
                nextState = HostInstant.now.advanced(by: Self.leastInterval)
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ isRetained: Bool) {
        switch state.withLock({ $0.desk.take(bytes, isRetained: isRetained) }) {
        case .answer(let answer): send(answer)
        case .carryOut(let command):
            handle(command) { [weak self] isDone, words in
                let answer = FleetAnswer(id: command.id, isDone: isDone, words: words)
                if self?.state.withLock({ $0.desk.note(answer) }) ?? false { self?.send(answer) }
            }
        }
    }

    private func send(_ answer: FleetAnswer) {
        state.withLock { state in
            if state.answers.count == Self.mostAnswers { state.answers.removeFirst() }
            state.answers.append(answer.json)
        }
        signal.raise()
    }
}
