import MediaCore

/// Runs a group's work: on threads, or under the control of a test.
struct GroupWork: Sendable {
    /// Starts a thread that runs a feed's feeder; returns nil if a test drives the feeder.
    var startFeeder:
        @Sendable (OutputFeed, _ body: @escaping @Sendable () -> Void) throws(ExhaustionError) -> WorkerThread? = {
            (_, body) throws(ExhaustionError) in
            try WorkerThread.start(name: "audio feeder", priority: .elevated, body)
        }
    /// Runs work that may block; returns its thread, or nil if the work is complete.
    var run: @Sendable (_ name: String, @escaping @Sendable () -> Void) throws(ExhaustionError) -> WorkerThread? = {
        (name, body) throws(ExhaustionError) in
        try WorkerThread.start(name: name, body)
    }
    /// Waits between attempts to open a member, until the signal is raised or the duration has passed.
    var pause: @Sendable (Signal, Duration) -> Void = { signal, duration in
        signal.wait(until: .now.advanced(by: duration))
    }
    /// Whether a test performs the changes of members, with `OutputGroup.advanceChange`.
    var changesByHand = false

    /// Creates the default, which starts threads.
    init() {}

    /// Runs blocking work in parallel, each on a thread if the system provides one; returns the threads.
    func startAll(_ name: String, _ bodies: [@Sendable () -> Void]) -> [WorkerThread] {
        bodies.compactMap { body in
            do throws(ExhaustionError) { return try run(name, body) } catch {
                body()
                return nil
            }
        }
    }
}
