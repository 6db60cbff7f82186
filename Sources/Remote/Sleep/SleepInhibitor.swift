internal import Glibc
public import MediaCore
public import Playback
internal import Synchronization

/// Prevents the computer from sleeping while it is needed, and reports sleep that occurs nevertheless. All work runs on
/// the thread "awake"; any thread may call the members.
///
/// logind is asked for a lock against sleep and idleness, then, without the permission, against idleness only. If it
/// provides neither, the portal of the desktop is asked. A bus that is lost or missing is retried.
public final class SleepInhibitor: Sendable {
    /// What is reported to the owner.
    package enum Event: Sendable, Equatable {
        /// The lock is held.
        case kept(Keeper)
        /// There is no lock, with the reason.
        case refused(String)
        case fallsAsleep
        case woke
    }

    /// The service that holds the lock.
    package enum Keeper: Sendable, Equatable {
        /// logind: sleep and idleness, or idleness only.
        case system(what: String)
        case portal
    }

    /// What is inhibited.
    package enum Scope: Sendable {
        /// What the system does when no one uses it: blank the screen, suspend.
        case idleness
        /// That, and suspension on request.
        case sleep
    }

    private enum Measure {
        /// The timeout of a response from a bus.
        static let timeout = Duration.seconds(5)
        /// The delays between attempts to connect to a bus.
        static let pauses: [Duration] = [.seconds(1), .seconds(5), .seconds(30), .seconds(60)]
    }

    /// The addresses of the message buses; nil: the default address.
    package struct Buses: Sendable {
        var system: String?
        var session: String?

        package init(system: String? = nil, session: String? = nil) {
            (self.system, self.session) = (system, session)
        }
    }

    private let onEvent: @Sendable (Event) -> Void
    private let why: String
    private let scope: Scope
    private let buses: Buses
    private let isNeeded: Atomic<Bool>
    /// Whether logind has announced a sleep, and its end was not reported. While it is, the connection is kept.
    private let isAsleep = Atomic(false)
    private let thread: PollingThread
    /// Follows the player of a library's inhibitor.
    private let following = Lock<Task<Void, Never>?>(nil)

    /// Creates an inhibitor of a library's player; `start` starts it. While the player plays, the computer neither
    /// blanks its screen nor suspends for lack of input. If it sleeps nevertheless, that is an interruption
    /// (`PlaybackInterruption.Cause.sleep`), after which the film stays paused.
    ///
    /// - Parameter reason: The reason that the system shows for the lock.
    /// - Throws: `ExhaustionError` if the system provides no descriptor or thread; nothing runs then.
    public convenience init(_ player: Player, reason: String) throws(ExhaustionError) {
        try self.init(player, reason: reason, buses: Buses())
    }

    /// Same on other message buses.
    package convenience init(_ player: Player, reason: String, buses: Buses) throws(ExhaustionError) {
        try self.init(
            why: reason, scope: .idleness, isNeeded: player.state.needsAwake, buses: buses,
            onEvent: Self.interruptions(of: player))
        try WorkerThread.checkForTask()
        let states = player.states
        let task = Task.detached { [weak self] in
            for await state in states {
                guard let self else { return }
                setNeeded(state.needsAwake)
            }
            // The player has ended, perhaps while it played.
            self?.setNeeded(false)
        }
        following.withLock { $0 = task }
    }

    /// Returns a handler that reports sleep to a player as an interruption.
    package static func interruptions(of player: Player) -> @Sendable (Event) -> Void {
        { [weak player] event in
            switch event {
            case .fallsAsleep: player?.beginInterruption(.sleep)
            // The user may have left, and audio may be heard elsewhere than before.
            case .woke: player?.endInterruption(.sleep, mayResume: false)
            case .kept, .refused: break
            }
        }
    }

    /// Creates an inhibitor; `start` starts its thread.
    ///
    /// - Parameters:
    ///   - why: The reason that the system shows for the lock.
    ///   - isNeeded: Whether a lock is held from the start on.
    ///   - onEvent: Called on the inhibitor's thread; must not block.
    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    package init(
        why: String, scope: Scope, isNeeded: Bool = true, buses: Buses = Buses(),
        onEvent: @escaping @Sendable (Event) -> Void
    ) throws(ExhaustionError) {
        (self.why, self.scope, self.buses, self.onEvent) = (why, scope, buses, onEvent)
        self.isNeeded = Atomic(isNeeded)
        thread = try PollingThread(name: "awake", priority: .background)
    }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    public func start() throws(ExhaustionError) {
        try thread.start { [self] in run() }
    }

    /// Requests a lock, or releases it. Returns at once.
    package func setNeeded(_ isNeeded: Bool) {
        if self.isNeeded.exchange(isNeeded, ordering: .acquiringAndReleasing) != isNeeded { thread.wake.raise() }
    }

    /// Releases the lock and joins the thread, which may wait for a response.
    public func stop() {
        following.withLock { $0.take() }?.cancel()
        thread.stop()
    }

    private var shouldHold: Bool {
        !thread.isStopping && (isNeeded.load(ordering: .acquiring) || isAsleep.load(ordering: .acquiring))
    }

    /// Reports the beginning or the end of a sleep; each once.
    private func reportSleep(_ begins: Bool) {
        guard isAsleep.exchange(begins, ordering: .acquiringAndReleasing) != begins else { return }
        onEvent(begins ? .fallsAsleep : .woke)
    }

    private func run() {
        var round = 0
        var last: Event?
        while !thread.isStopping {
            guard shouldHold else {
                _ = thread.wake.wait(until: nil)
                continue
            }
            let refusal = holdLock { event in
                // A lock resets the delays.
                round = 0
                if event != last { onEvent(event) }
                last = event
            }
            guard shouldHold else { continue }
            if let refusal, refusal != last {
                onEvent(refusal)
                last = refusal
            }
            let pause = Measure.pauses[min(round, Measure.pauses.count - 1)]
            round += 1
            _ = thread.wake.wait(until: .now.advanced(by: pause))
        }
    }

    /// Holds a lock until the bus is lost or the lock is not needed. Returns the reason if there was none.
    private func holdLock(_ report: (Event) -> Void) -> Event? {
        let refusal: String
        do throws(BusFailure) {
            try inhibitBySystem(report)
            return nil
        } catch {
            refusal = SystemCause.text(error.code)
        }
        // Each may wait for seconds.
        guard shouldHold else { return nil }
        do throws(BusFailure) {
            try inhibitByPortal(report)
            return nil
        } catch {
            return .refused(refusal)
        }
    }

    private func inhibitBySystem(_ report: (Event) -> Void) throws(BusFailure) {
        let (service, path, manager) =
            ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
        let bus = try SystemMessageBus(.system, at: buses.system, timeout: Measure.timeout)
        defer { bus.close() }
        // The signal was lost with the previous connection.
        reportSleep(false)
        var kept: (lock: Int32, what: String)?
        var failure = BusFailure(code: EBADMSG)
        // polkit restricts the lock against sleep; every user may take the one against idleness.
        for what in scope == .sleep ? ["sleep:idle", "idle"] : ["idle"] where kept == nil {
            do throws(BusFailure) {
                // org.freedesktop.login1(5)
                let results = try bus.call(
                    BusMethod(service: service, path: path, interface: manager, member: "Inhibit"),
                    [what, "Talkie", why, "block"].map { .text($0) },
                    expecting: "h")
                if case .descriptor(let lock)? = results.first { kept = (lock, what) }
            } catch { failure = error }
        }
        guard let kept else { throw failure }
        defer { close(kept.lock) }
        bus.onMessage = { [weak self] message in
            guard message.member == "PrepareForSleep", let begins = message.arguments?.first?.flag else { return }
            self?.reportSleep(begins)
        }
        // ignored: without the signal the lock is still held.
        try? bus.addMatch(sender: service, path: path, interface: manager, member: "PrepareForSleep")
        report(.kept(.system(what: kept.what)))
        serve(bus)
    }

    private func inhibitByPortal(_ report: (Event) -> Void) throws(BusFailure) {
        let bus = try SystemMessageBus(.session, at: buses.session, timeout: Measure.timeout)
        defer { bus.close() }
        reportSleep(false)
        // org.freedesktop.portal.Inhibit: 4 is suspension, 8 is idleness. Valid until the connection is closed.
        let flags: UInt32 = scope == .sleep ? 4 | 8 : 8
        _ = try bus.call(
            BusMethod(
                service: "org.freedesktop.portal.Desktop", path: "/org/freedesktop/portal/desktop",
                interface: "org.freedesktop.portal.Inhibit", member: "Inhibit"),
            [.text(""), .uint32(flags), .dictionary([("reason", .text(why))])], expecting: "o")
        report(.kept(.portal))
        serve(bus)
    }

    /// Processes messages until the connection is lost or the lock is not needed.
    private func serve(_ bus: SystemMessageBus) {
        while shouldHold {
            do throws(BusFailure) {
                if try !bus.process() { bus.wait(for: thread.wake, until: nil, reads: true) }
            } catch { return }
        }
    }
}

extension PlayerState {
    /// Whether the computer is to stay awake: a film plays, or is about to.
    package var needsAwake: Bool { [.opening, .playing, .buffering].contains(phase) }
}
