internal import CShim
internal import Glibc
package import MediaCore
internal import Synchronization

/// Receives termination and stop signals on a separate thread and reports them as events.
///
/// The second SIGINT, SIGTERM or SIGHUP that requests the end terminates the process at once, after `beforeExit`.
package final class SignalWatch: Sendable {
    /// A request by a signal.
    package enum Request: Sendable, Hashable {
        /// End with this exit status.
        case end(status: Int32)
        /// Ctrl+Z: stop the process when ready.
        case halt
        /// SIGHUP: read the configuration again.
        case reload
    }

    private static let numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGTSTP]
    /// Whether SIGHUP requests a reload.
    private let reloads: Bool
    private let descriptor: Int32
    private let watched: [Int32]
    private let wake: PollableSignal
    private let beforeExit: @Sendable () -> Void
    /// Set by `stop`, read by the thread.
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Starts the thread and blocks the signals. Call it before other threads are started: they inherit the signal
    /// mask.
    ///
    /// - Parameters:
    ///   - reloads: Whether SIGHUP is `reload` instead of an end.
    ///   - beforeExit: Called on the thread before the second request terminates the process; must return soon.
    ///   - handler: Called on the thread; must not block.
    /// - Throws: `ExhaustionError` without a thread or descriptor; the signals keep their default effect.
    init(
        reloads: Bool = false, beforeExit: @escaping @Sendable () -> Void = {},
        handler: @escaping @Sendable (Request) -> Void
    ) throws(ExhaustionError) {
        (self.reloads, self.beforeExit) = (reloads, beforeExit)
        wake = try PollableSignal()
        // nohup(1) and shells without job control ignore these signals on purpose.
        watched = Self.numbers.filter { number in
            var action = sigaction()
            guard number == SIGHUP && !reloads || number == SIGTSTP, sigaction(number, nil, &action) == 0 else {
                return true
            }
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                != unsafeBitCast(SIG_IGN, to: Int.self)
        }
        descriptor = cshim_signal_descriptor(watched, Int32(watched.count))
        guard descriptor >= 0 else {
            let cause = errno
            cshim_signals_unblock(watched, Int32(watched.count))
            throw .descriptor(cause)
        }
        do throws(ExhaustionError) {
            let worker = try WorkerThread.start(name: "signals") { [self] in run(handler) }
            thread.withLock { $0 = worker }
        } catch {
            close(descriptor)
            cshim_signals_unblock(watched, Int32(watched.count))
            throw error
        }
    }

    /// Creates a watch as `init` does, but throws a `TalkieError`.
    package static func begin(
        reloads: Bool = false, beforeExit: @escaping @Sendable () -> Void = {},
        handler: @escaping @Sendable (Request) -> Void
    ) throws(TalkieError) -> SignalWatch {
        do {
            return try SignalWatch(reloads: reloads, beforeExit: beforeExit, handler: handler)
        } catch { throw TalkieError(error) }
    }

    /// Ends the thread and restores the default effect of the signals.
    package func stop() {
        stopping.store(true, ordering: .relaxed)
        wake.raise()
        let isFirst = thread.withLock { thread -> Bool in
            defer { thread = nil }
            thread?.join()
            return thread != nil
        }
        guard isFirst else { return }
        close(descriptor)
        cshim_signals_unblock(watched, Int32(watched.count))
    }

    private func run(_ handler: (Request) -> Void) {
        var hasAsked = false
        while !stopping.load(ordering: .relaxed) {
            guard wake.wait(until: nil, orReadable: descriptor).contains(.readable) else { continue }
            let number = cshim_signal_read(descriptor)
            switch number {
            case 0: break
            case SIGTSTP: handler(.halt)
            case SIGHUP where reloads: handler(.reload)
            default:
                let status = 128 + number
                if hasAsked {
                    beforeExit()
                    cshim_terminal_restore()
                    _exit(status)
                }
                hasAsked = true
                handler(.end(status: status))
            }
        }
    }
}
