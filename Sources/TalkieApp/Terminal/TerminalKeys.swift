internal import CShim
internal import Glibc
package import MediaCore
internal import Synchronization

/// Reads keys from the terminal, one by one and without echo, on a thread of its own, and gives the terminal back as
/// it was found: at `stop`, at exit(3), and when a fault kills the program.
///
/// There is one terminal and so one of these at a time.
package final class TerminalKeys: Sendable {
    private let descriptor: Int32
    private let handler: @Sendable (String) -> Void
    private let wake: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// How long the rest of a sequence may take before an ESC was the key of that name: slow links included, and still
    /// too short to be felt.
    private static let sequencePatience = Duration.milliseconds(50)
    /// How often a program in the background looks whether it is in front again.
    private static let backgroundPatience = Duration.seconds(1)

    /// - Parameter handler: called on the keys' thread with mpv's name of each key; must return at once.
    /// - Throws: when the system gives no further descriptor.
    package init(descriptor: Int32 = 0, handler: @escaping @Sendable (String) -> Void) throws(ExhaustionError) {
        wake = try PollableSignal()
        self.descriptor = descriptor
        self.handler = handler
    }

    /// Begins, if standard input is a terminal and this program is the one in front of it; false otherwise.
    ///
    /// - Throws: when the system gives no thread; the terminal is as it was.
    @discardableResult
    package func start() throws(ExhaustionError) -> Bool {
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

    /// Ends the thread and gives the terminal back.
    package func stop() {
        stopping.store(true, ordering: .relaxed)
        wake.raise()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
        cshim_terminal_restore()
    }

    /// Gives the terminal back while the program is halted.
    package func suspend() { cshim_terminal_restore() }

    /// Takes the terminal again after a halt, when the program is in front.
    package func resume() {
        guard thread.withLock({ $0 != nil }) else { return }
        cshim_terminal_keywise()
        wake.raise()
    }

    private var isInFront: Bool { tcgetpgrp(descriptor) == getpgrp() }

    private func run() {
        var parser = TerminalKeyParser()
        var bytes = [UInt8](repeating: 0, count: 256)
        while !stopping.load(ordering: .relaxed) {
            // Reading from the background would halt the program (SIGTTIN).
            guard isInFront else {
                _ = wake.wait(until: .now.advanced(by: Self.backgroundPatience))
                continue
            }
            let deadline = parser.isWaiting ? HostInstant.now.advanced(by: Self.sequencePatience) : nil
            let woken = wake.wait(until: deadline, orReadable: descriptor)
            if woken.isEmpty { parser.flush().forEach(handler) }
            guard woken.contains(.readable), isInFront else { continue }
            let count = read(descriptor, &bytes, bytes.count)
            if count > 0 {
                parser.feed(bytes[..<count]).forEach(handler)
            } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
                // The terminal is gone; SIGHUP says the rest.
                return
            }
        }
    }
}
