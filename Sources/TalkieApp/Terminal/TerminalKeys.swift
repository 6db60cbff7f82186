internal import CShim
internal import Glibc
import MediaCore
internal import Synchronization

/// Reads single keys from the terminal without echo, on a separate thread.
///
/// The terminal's settings are restored at `stop`, at exit(3), and when a fault ends the process. Only one instance may
/// exist at a time.
final class TerminalKeys: Sendable {
    private let descriptor: Int32
    private let handler: @Sendable (String) -> Void
    private let wake: PollableSignal
    /// Set by `stop`, read by the thread.
    private let stopping = Atomic<Bool>(false)
    /// The running thread; nil before `start` and after `stop`.
    private let thread = Lock<WorkerThread?>(nil)

    /// How long an incomplete sequence is awaited before ESC counts as a key: enough for slow links, but not
    /// noticeable.
    private static let sequenceTimeout = Duration.milliseconds(50)
    /// Poll interval of a background process.
    private static let backgroundTimeout = Duration.seconds(1)

    /// Prepares reading.
    ///
    /// - Parameter handler: Called on the thread with mpv's name of each key; must not block.
    /// - Throws: `ExhaustionError` without a descriptor.
    init(descriptor: Int32 = 0, handler: @escaping @Sendable (String) -> Void) throws(ExhaustionError) {
        wake = try PollableSignal()
        self.descriptor = descriptor
        self.handler = handler
    }

    /// Starts reading. Returns false unless standard input is a terminal and this process is in the foreground.
    ///
    /// - Throws: `ExhaustionError` without a thread; the terminal is unchanged.
    @discardableResult
    func start() throws(ExhaustionError) -> Bool {
        guard isatty(descriptor) == 1, isInFront, cshim_terminal_open(descriptor) == 0 else { return false }
        do throws(ExhaustionError) {
            let worker = try WorkerThread.start(name: "terminal keys") { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            cshim_terminal_restore()
            throw error
        }
        return true
    }

    /// Joins the thread and restores the terminal.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        wake.raise()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
        cshim_terminal_restore()
    }

    /// Restores the terminal while the process is stopped.
    func suspend() { cshim_terminal_restore() }

    /// Sets up the terminal again after a stop, if the process is in the foreground.
    func resume() {
        guard thread.withLock({ $0 != nil }) else { return }
        cshim_terminal_keywise()
        wake.raise()
    }

    private var isInFront: Bool { tcgetpgrp(descriptor) == getpgrp() }

    private func run() {
        var parser = TerminalKeyParser()
        var bytes = [UInt8](repeating: 0, count: 256)
        var wasBehind = false
        while !stopping.load(ordering: .relaxed) {
            // Reading in the background would stop the process (SIGTTIN).
            guard isInFront else {
                wasBehind = true
                _ = wake.wait(until: .now.advanced(by: Self.backgroundTimeout))
                continue
            }
            if wasBehind {
                // A shell's `fg` sends no signal to a process that runs in the background.
                wasBehind = false
                cshim_terminal_keywise()
            }
            let deadline = parser.isWaiting ? HostInstant.now.advanced(by: Self.sequenceTimeout) : nil
            let woken = wake.wait(until: deadline, orReadable: descriptor)
            if woken.isEmpty { parser.flush().forEach(handler) }
            guard woken.contains(.readable), isInFront else { continue }
            let count = read(descriptor, &bytes, bytes.count)
            if count > 0 {
                parser.feed(bytes[..<count]).forEach(handler)
            } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
                // The terminal is gone; SIGHUP follows.
                return
            }
        }
    }
}
