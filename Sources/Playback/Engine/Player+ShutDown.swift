internal import MediaCore

extension Player {
    /// How long a film may hold on to what it reads: a pipe that nobody writes to, a network drive that is gone.
    package static let usualPatience = Duration.seconds(5)

    /// The same as `shutDown`, for a program that ends anyway: false where the player does not come back in time.
    package func shutDown(within patience: Duration) -> Bool {
        let done = Signal()
        let shutDown: @Sendable () -> Void = {
            self.shutDown()
            done.raise()
        }
        // ignored: without a thread this one shuts down itself.
        guard let thread = try? WorkerThread.start(name: "shutdown", shutDown) else {
            shutDown()
            return true
        }
        guard done.wait(until: .now.advanced(by: patience)) else { return false }
        thread.join()
        return true
    }
}
