package import MediaCore

/// Where a group's work is done: on threads of its own, or by the hand of a test.
package struct GroupWork: Sendable {
    /// Gives a member's feeder a thread that does this; nil when a test turns the feeder itself.
    package var turn:
        @Sendable (MemberFeeder, _ body: @escaping @Sendable () -> Void) throws(ExhaustionError) -> WorkerThread? = {
            (_, body) throws(ExhaustionError) in
            try WorkerThread.start(name: "audio feeder", priority: .elevated, body)
        }
    /// Does something that may take a while; nil when it is done already.
    package var run:
        @Sendable (_ name: String, @escaping @Sendable () -> Void) throws(ExhaustionError) -> WorkerThread? = {
            (name, body) throws(ExhaustionError) in
            try WorkerThread.start(name: name, body)
        }
    /// Whether a test carries out the changes of members itself, with `OutputGroup.advanceChange`.
    package var changesByHand = false

    package init() {}

    /// Does things that may take a while, each on a thread of its own where the system gives one, and waits for all.
    func runAll(_ name: String, _ bodies: [@Sendable () -> Void]) {
        let threads = bodies.map { body -> WorkerThread? in
            do throws(ExhaustionError) { return try run(name, body) } catch {
                body()
                return nil
            }
        }
        for thread in threads { thread?.join() }
    }
}
