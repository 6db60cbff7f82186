internal import Glibc
internal import MediaCore
public import Playback
internal import Synchronization

/// Lets other programs of the desktop control a player, and shows them what plays, through MPRIS 2: media keys, panels,
/// `playerctl`.
///
/// It is connected to the session bus while it runs, and connects again after the bus was lost or did not answer.
/// Signals are emitted for changes only. Covers are shown with `PlayerOptions.loadsArtwork`. Without a session bus it
/// does nothing. Any thread may call the members.
public final class MPRISService: Sendable {
    /// The beginning of the name on the bus (MPRIS 2.2, "Bus Name Policy").
    private static let prefix = "org.mpris.MediaPlayer2."
    /// The maximum number of calls that wait for the player; the bus holds further ones.
    static let maxPendingCalls = 32
    /// The delays between attempts to connect to a lost or silent bus.
    private static let pauses: [Duration] = [.seconds(1), .seconds(5), .seconds(30), .seconds(60)]

    /// The result of a command, for the service's thread.
    private struct Completion {
        let job: Int
        let result: Result<JSONValue, ControlError>
    }

    /// What other threads have left for the service's thread.
    private struct Events {
        var completions: [Completion] = []
        var hasChanged = false
        /// Whether the position has changed by a seek or a repetition.
        var hasSought = false
        /// Whether a track has begun.
        var hasBegun = false
        /// A new cover, or its removal; nil: unchanged.
        var artwork: [UInt8]??
    }

    private let control: PlayerControl
    private let ownsControl: Bool
    /// The name on the bus. Further players have `.instance` and their process ID after it.
    private let name: String
    private let identity: String
    private let desktopEntry: String?
    private let connect: @Sendable () throws(BusFailure) -> any MessageBus
    private let wake = Lock<PollableSignal?>(nil)
    private let events = Lock(Events())
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a service of a library's player; `start` starts it. A player has at most one.
    ///
    /// - Parameters:
    ///   - identity: The name of the application for the user.
    ///   - desktopEntry: The name of the application's desktop file without `.desktop`; nil: none.
    ///   - busName: What follows `org.mpris.MediaPlayer2.` in the name on the bus: letters, digits, `_`, `-`, at most
    ///     100 and no digit first; other characters are removed. Nil or empty: `talkie`.
    public convenience init(
        _ player: Player, identity: String, desktopEntry: String? = nil, busName: String? = nil
    ) {
        self.init(
            PlayerControl(player), ownsControl: true, identity: identity, desktopEntry: desktopEntry,
            busName: Self.element(busName), connect: Self.sessionBus)
    }

    /// Returns an element of a bus name (D-Bus specification, "Bus names").
    static func element(_ name: String?) -> String {
        let allowed = (name ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
        let element = allowed.drop { $0.isNumber }.prefix(100)
        return element.isEmpty ? "talkie" : String(element)
    }

    /// Creates a service of a program.
    ///
    /// - Parameters:
    ///   - control: Executes the commands, with the program's own `quit`, `raise` and `fullscreen`.
    ///   - connect: Connects to the bus. Called on the service's thread.
    package convenience init(
        _ control: PlayerControl, identity: String, desktopEntry: String?,
        connect: @escaping @Sendable () throws(BusFailure) -> any MessageBus = MPRISService.sessionBus
    ) {
        self.init(
            control, ownsControl: false, identity: identity, desktopEntry: desktopEntry, busName: Self.element(nil),
            connect: connect)
    }

    private init(
        _ control: PlayerControl, ownsControl: Bool, identity: String, desktopEntry: String?, busName: String,
        connect: @escaping @Sendable () throws(BusFailure) -> any MessageBus
    ) {
        (self.control, self.ownsControl, self.identity) = (control, ownsControl, identity)
        (self.desktopEntry, self.connect) = (desktopEntry, connect)
        name = Self.prefix + busName
    }

    /// Connects to the session bus of the environment.
    package static func sessionBus() throws(BusFailure) -> any MessageBus { try SystemMessageBus(.session) }

    /// Starts the service.
    ///
    /// - Returns: false if there is no session bus, or the system provides no thread; nothing runs then.
    @discardableResult
    public func start() -> Bool { SystemMessageBus.isPresent(.session) && startThread() }

    /// Same without a check for a session bus.
    package func startThread() -> Bool {
        do throws(ExhaustionError) {
            let signal = try PollableSignal()
            wake.withLock { $0 = signal }
            let worker = try WorkerThread.start(name: "mpris", priority: .background) { [self] in run(signal) }
            thread.withLock { $0 = worker }
            return true
        } catch { return false }
    }

    /// Disconnects, removes the cover's file, and joins the thread, which may wait for the bus.
    public func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.withLock { $0 }?.raise()
        thread.withLock { $0.take() }?.join()
        if ownsControl { control.close() }
    }

    private func post(_ change: (inout Events) -> Void) {
        events.withLock(change)
        wake.withLock { $0 }?.raise()
    }

    // MARK: Thread

    private var isEnding: Bool { isStopping.load(ordering: .acquiring) }

    private func run(_ signal: PollableSignal) {
        var session = Session(
            object: MPRISObject(control, identity: identity, desktopEntry: desktopEntry), artwork: MPRISArtworkFile())
        var attempt = 0
        while !isEnding {
            do throws(BusFailure) {
                let bus = try connect()
                try serve(bus, signal, &session) { attempt = 0 }
            } catch {
                // Without libsystemd, or after the end of the player, there is nothing to wait for.
                if error.code == ENOSYS || error.code == ESHUTDOWN { return }
            }
            let deadline = HostInstant.now.advanced(by: Self.pauses[min(attempt, Self.pauses.count - 1)])
            attempt += 1
            while !isEnding, .now < deadline { _ = signal.wait(until: deadline) }
        }
    }

    /// Serves a bus until the service is stopped.
    ///
    /// - Throws: `BusFailure` if the connection was lost or there is no thread; ESHUTDOWN if the player has ended.
    private func serve(
        _ bus: any MessageBus, _ signal: PollableSignal, _ session: inout Session, isConnected: () -> Void
    ) throws(BusFailure) {
        let observers = try observe()
        defer {
            for observer in observers { control.removeObserver(observer) }
            session.jobs = [:]
            bus.onMessage = nil
            bus.close()
        }
        // Before the name, by which clients find the object.
        try bus.addObject(MPRISObject.path)
        let received = Received()
        bus.onMessage = { received.calls.append($0) }
        session.object.begin()
        try requestName(bus)
        isConnected()
        while !isEnding {
            update(bus, &session)
            let reads = session.jobs.count < Self.maxPendingCalls
            let hasMore = reads ? try bus.process() : false
            for call in received.calls { handle(call, bus, &session) }
            received.calls = []
            if !hasMore { bus.wait(for: signal, until: nil, reads: reads) }
        }
    }

    private func requestName(_ bus: any MessageBus) throws(BusFailure) {
        if try bus.requestName(name) { return }
        guard try bus.requestName("\(name).instance\(getpid())") else { throw BusFailure(code: EEXIST) }
    }

    private func observe() throws(BusFailure) -> [Int] {
        var numbers: [Int] = []
        do throws(ControlError) {
            for name in MPRISState.names where control.table.properties[name] != nil {
                numbers.append(try control.observe(name) { [self] _ in post { $0.hasChanged = true } })
            }
            numbers.append(try control.observeArtwork { [self] image in post { $0.artwork = .some(image) } })
            numbers.append(
                try control.observeEvents { [self] event in
                    switch event {
                    case .sought, .looped: post { $0.hasSought = true }
                    case .began: post { $0.hasBegun = true }
                    default: break
                    }
                })
        } catch {
            for number in numbers { control.removeObserver(number) }
            throw Self.failure(of: error)
        }
        return numbers
    }

    /// Returns the failure of a connection whose observations were refused.
    static func failure(of error: ControlError) -> BusFailure {
        // Without a thread for the observers, a later connection can succeed.
        BusFailure(code: error == PlayerControl.ended ? ESHUTDOWN : EAGAIN)
    }

    /// The received calls of one iteration. Used by the service's thread only.
    private final class Received { var calls: [BusMessage] = [] }

    /// What the service's thread owns.
    private struct Session {
        /// A call that waits for its commands.
        struct Job {
            let call: Int
            var action: MPRISObject.Action
        }

        var object: MPRISObject
        let artwork: MPRISArtworkFile
        var jobs: [Int: Job] = [:]
        private var lastJob = 0

        init(object: MPRISObject, artwork: MPRISArtworkFile) { (self.object, self.artwork) = (object, artwork) }

        mutating func add(_ action: MPRISObject.Action, for call: Int) -> Int {
            lastJob += 1
            jobs[lastJob] = Job(call: call, action: action)
            return lastJob
        }
    }

    /// Handles what other threads have left.
    private func update(_ bus: any MessageBus, _ session: inout Session) {
        let events = self.events.withLock { events in
            defer { events = Events() }
            return events
        }
        for completion in events.completions { proceed(completion, bus, &session) }
        if let image = events.artwork { session.object.artwork = session.artwork.replace(by: image) }
        guard
            events.hasChanged || events.hasSought || events.hasBegun || events.artwork != nil
                || !events.completions.isEmpty
        else { return }
        for signal in session.object.changes() { bus.emit(signal) }
        if events.hasSought || (events.hasBegun && session.object.isStartedWithin) {
            bus.emit(session.object.seeked())
        }
    }

    private func handle(_ call: BusMessage, _ bus: any MessageBus, _ session: inout Session) {
        do throws(BusError) {
            let action = try session.object.action(for: call)
            guard let first = action.commands.first else {
                bus.reply(to: call.number, .success(action.results))
                return
            }
            perform(first, as: session.add(action, for: call.number))
        } catch { bus.reply(to: call.number, .failure(error)) }
    }

    private func perform(_ command: ControlRequest, as job: Int) {
        control.perform(command) { [self] result in
            post { $0.completions.append(Completion(job: job, result: result)) }
        }
    }

    private func proceed(_ completion: Completion, _ bus: any MessageBus, _ session: inout Session) {
        guard var job = session.jobs.removeValue(forKey: completion.job) else { return }
        var result = JSONValue.null
        do throws(ControlError) { result = try completion.result.get() } catch {
            guard error.code == .unavailable, job.action.ignoresUnavailable else {
                bus.reply(to: job.call, .failure(error.busError))
                return
            }
        }
        job.action.commands.removeFirst()
        if job.action.commands.isEmpty, let sequel = job.action.sequel.take() {
            job.action.commands = session.object.proceed(sequel, result)
        }
        guard let next = job.action.commands.first else {
            bus.reply(to: job.call, .success(job.action.results))
            return
        }
        session.jobs[completion.job] = job
        perform(next, as: completion.job)
    }
}

extension ControlError {
    /// The error of a call that required the command.
    var busError: BusError {
        switch code {
        case .wrongType, .outOfRange: .invalidArguments(message)
        case .notWritable: .readOnly(message)
        default: .failed(message)
        }
    }
}
