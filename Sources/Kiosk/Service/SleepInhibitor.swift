internal import CSystemd
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Prevents the computer from sleeping while a kiosk runs, and reports sleep that occurs nevertheless. All work runs on
/// the thread "kiosk awake"; any thread may call the members.
///
/// logind is asked for a lock against sleep and idleness, then, without the permission, against idleness only. If it
/// provides neither, the portal of the desktop is asked. A bus that is lost or missing is retried.
final class SleepInhibitor: Sendable {
    enum Event: Sendable, Equatable {
        /// The lock is held.
        case kept(Keeper)
        /// There is no lock, with the reason.
        case refused(String)
        case fallsAsleep
        case woke
    }

    /// The service that holds the lock.
    enum Keeper: Sendable, Equatable {
        /// logind: sleep and idleness, or idleness only.
        case system(what: String)
        case portal
    }

    private enum Measure {
        /// The timeout of a response from a bus.
        static let timeout = Duration.seconds(5)
        /// The delays between attempts to connect to a bus.
        static let pauses: [Duration] = [.seconds(1), .seconds(5), .seconds(30), .seconds(60)]
    }

    /// The addresses of the message buses; nil: the default address.
    struct Buses: Sendable {
        var system: String?
        var session: String?
    }

    private let tell: @Sendable (Event) -> Void
    private let why: String
    private let buses: Buses
    private let wake: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates an inhibitor; `start` starts its thread.
    ///
    /// - Parameters:
    ///   - why: The reason that the system shows for the lock.
    ///   - tell: Called on the inhibitor's thread; must not block.
    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    init(
        why: String, buses: Buses = Buses(), tell: @escaping @Sendable (Event) -> Void
    ) throws(ExhaustionError) {
        (self.why, self.buses, self.tell) = (why, buses, tell)
        wake = try PollableSignal()
    }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "kiosk awake", priority: .background) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Releases the lock and joins the thread, which may wait for a response.
    func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0 }?.join()
    }

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    private func run() {
        var round = 0
        var last: Event?
        while !isStopping {
            let event = holdLock { event in
                // A lock resets the delays.
                round = 0
                if event != last { tell(event) }
                last = event
            }
            if isStopping { return }
            if let event, event != last {
                tell(event)
                last = event
            }
            let pause = Measure.pauses[min(round, Measure.pauses.count - 1)]
            round += 1
            _ = wake.wait(until: .now.advanced(by: pause))
        }
    }

    /// Holds a lock until the bus is lost or the inhibitor is stopped. Returns the reason if there was none.
    private func holdLock(_ report: (Event) -> Void) -> Event? {
        let refusal: String
        do throws(Refusal) {
            return try keepBySystem(report)
        } catch {
            refusal = error.reason
        }
        do throws(Refusal) {
            return try keepByPortal(report)
        } catch {
            return .refused(refusal)
        }
    }

    private func keepBySystem(_ report: (Event) -> Void) throws(Refusal) -> Event? {
        let bus = try Bus(csystemd_system_bus, at: buses.system)
        var kept: (lock: Int32, what: String)?
        var error: Int32 = 0
        // polkit restricts the first lock; every user may take the second.
        for what in ["sleep:idle", "idle"] where kept == nil {
            let lock = csystemd_inhibit(bus.connection, what, "Talkie", why)
            if lock >= 0 { kept = (lock, what) } else { error = lock }
        }
        guard let kept else { throw Refusal(errno: -error) }
        defer { close(kept.lock) }
        let hearing = Hearing(tell)
        // The handler is called by `serve` only, and the connection is closed before `hearing` is released.
        _ = csystemd_watch_sleep(
            bus.connection,
            { context, begins in
                guard let context else { return }
                Unmanaged<Hearing>.fromOpaque(context).takeUnretainedValue().tell(begins != 0 ? .fallsAsleep : .woke)
            }, Unmanaged.passUnretained(hearing).toOpaque())
        report(.kept(.system(what: kept.what)))
        withExtendedLifetime(hearing) {
            serve(bus)
            bus.end()
        }
        return nil
    }

    private func keepByPortal(_ report: (Event) -> Void) throws(Refusal) -> Event? {
        let bus = try Bus(csystemd_session_bus, at: buses.session)
        let outcome = csystemd_inhibit_by_portal(bus.connection, why)
        guard outcome >= 0 else { throw Refusal(errno: -outcome) }
        report(.kept(.portal))
        serve(bus)
        return nil
    }

    /// Processes messages until the connection is lost or the inhibitor is stopped.
    private func serve(_ bus: Bus) {
        while csystemd_bus_serve(bus.connection) >= 0, !isStopping {
            _ = wake.wait(until: nil, orReadable: csystemd_bus_descriptor(bus.connection))
        }
    }

    private struct Refusal: Error {
        let reason: String
        init(errno number: Int32) { reason = SystemCause.text(number) }
    }

    private final class Hearing {
        let tell: (Event) -> Void
        init(_ tell: @escaping (Event) -> Void) { self.tell = tell }
    }

    private final class Bus {
        private(set) var connection: OpaquePointer?

        init(_ which: csystemd_which, at address: String?) throws(Refusal) {
            var error: Int32 = 0
            let (number, timeout) = (Int32(which.rawValue), UInt64(Measure.timeout.wholeNanoseconds / 1000))
            if let address {
                connection = address.withCString { csystemd_bus_open(number, $0, timeout, &error) }
            } else {
                connection = csystemd_bus_open(number, nil, timeout, &error)
            }
            if connection == nil { throw Refusal(errno: -error) }
        }

        deinit { end() }

        func end() {
            if let connection { csystemd_bus_close(connection) }
            connection = nil
        }
    }
}
