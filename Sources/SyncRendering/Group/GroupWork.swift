package import MediaCore

/// Where a group's work is done: on threads of its own, or by the hand of a test.
package struct GroupWork: Sendable {
    /// Gives a member's feeder a thread that does this; nil when a test turns the feeder itself.
    package var turn: @Sendable (MemberFeeder, _ body: @escaping @Sendable () -> Void) -> WorkerThread? = {
        WorkerThread.start(name: "audio feeder", priority: .elevated, $1)
    }
    /// Does something that may take a while; nil when it is done already.
    package var run: @Sendable (_ name: String, @escaping @Sendable () -> Void) -> WorkerThread? = {
        WorkerThread.start(name: $0, $1)
    }
    /// Whether a test carries out the changes of members itself, with `OutputGroup.advanceChange`.
    package var changesByHand = false

    package init() {}
}
