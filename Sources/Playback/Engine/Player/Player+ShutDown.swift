internal import MediaCore

extension Player {
    /// The timeout of a shutdown: reads may block on a pipe without a writer or a lost network drive.
    package static let usualTimeout = Duration.seconds(5)

    /// Same as `shutDown` with a timeout, for a program that is about to exit; returns false if the player has not
    /// ended in time.
    package func shutDown(within timeout: Duration) -> Bool {
        let done = Signal()
        let shutDown: @Sendable () -> Void = {
            self.shutDown()
            done.raise()
        }
        // ignored: without a thread the calling one shuts down.
        guard let thread = try? WorkerThread.start(name: "shutdown", shutDown) else {
            shutDown()
            return true
        }
        guard done.wait(until: .now.advanced(by: timeout)) else { return false }
        thread.join()
        return true
    }
}
