internal import CShim
internal import Glibc
package import MediaCore
internal import Synchronization

/// Takes the signals that ask the program to end or to halt, on a thread of its own, as ordinary news.
///
/// The second SIGINT, SIGTERM or SIGHUP that asks for the end ends the program at once, whatever it waits for.
package final class SignalWatch: Sendable {
    package enum Request: Sendable, Hashable {
        /// End, and say so with this status.
        case end(status: Int32)
        /// Ctrl+Z: halt when ready.
        case halt
        /// Read again what was read at the start.
        case reload
    }

    private static let numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGTSTP]
    /// SIGHUP asks for something else than the end.
    private let reloads: Bool
    private let descriptor: Int32
    private let watched: [Int32]
    private let wake: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Begins to watch. Call before other threads are started: they inherit the blocked signals.
    ///
    /// - Parameters:
    ///   - reloads: SIGHUP is `reload`, and not an end.
    ///   - handler: called on the watch's thread; must return at once.
    /// - Throws: when the system gives no further thread or descriptor; signals do what they did before.
    package init(
        reloads: Bool = false, handler: @escaping @Sendable (Request) -> Void
    ) throws(ExhaustionError) {
        self.reloads = reloads
        wake = try PollableSignal()
        // nohup(1) and shells without job control have these ignored, and mean it.
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

    /// The same as `init`, for whoever ends with what it throws.
    package static func begin(
        reloads: Bool = false, handler: @escaping @Sendable (Request) -> Void
    ) throws(TalkieError) -> SignalWatch {
        do { return try SignalWatch(reloads: reloads, handler: handler) } catch { throw TalkieError(error) }
    }

    /// Ends the thread; signals do again what they did before.
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
                    cshim_terminal_restore()
                    _exit(status)
                }
                hasAsked = true
                handler(.end(status: status))
            }
        }
    }
}
