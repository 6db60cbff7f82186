internal import MediaCore
internal import Synchronization

// Changes of members during playback; docs/decisions/0007-changes-of-route.md gives the reasons for the procedure.
extension OutputGroup {
    /// Replaces the playing members, without a gap and without reading the media again. Any thread.
    ///
    /// Remaining members are not affected. New members are opened and filled while the old ones play. Then, at one
    /// media time, the new ones become audible and the old ones fall silent and are closed. While the timebase is
    /// stopped the switch occurs as soon as the new members are full. Before playback the call only records the
    /// members.
    ///
    /// Unavailable outputs are omitted; if all new ones are unavailable, nothing changes. A request supersedes an
    /// earlier one that is not committed yet.
    ///
    /// - Parameters:
    ///   - members: The new members without duplicates; an empty list is refused.
    ///   - done: Called once, on the group's change thread or the caller's; must not block.
    public func change(to members: [any AudioOutput], done: @escaping @Sendable (RouteChange) -> Void) {
        changes.ask(MemberChanges.Request(members: members, done: done))
        guard !work.changesByHand, changes.beginChanges() else { return }
        do throws(ExhaustionError) {
            _ = try work.run("route change") { [self] in
                while let pause = advanceChange() {
                    changes.signal.wait(until: .now.advanced(by: pause))
                    changes.signal.clear()
                }
            }
        } catch {
            let refusals = members.map {
                RouteChange.Refusal(output: $0.name, error: OutputError(error, output: $0.name))
            }
            changes.cancelPending()?.done(.refused(refusals))
        }
    }

    /// Same; waits for the result.
    public func change(to members: [any AudioOutput]) async -> RouteChange {
        await withCheckedContinuation { continuation in
            change(to: members) { continuation.resume(returning: $0) }
        }
    }

    /// The state of a change of members; nil while there is none. Any thread.
    package var changeProgress: RouteChange.Progress? { state.withLock { $0.progress } }

    /// The number of flushes: audio filled before a flush is void.
    var flushes: Int { state.withLock { $0.flushes } }

    /// Performs due work of a change; returns the time until the next call, or nil if there is no more work. One thread
    /// at a time: the group's change thread, or a test.
    func advanceChange() -> Duration? {
        guard let change = changes.current(for: self) else { return nil }
        let pause = change.step()
        state.withLock { $0.progress = change.progress }
        if pause == nil { changes.drop(change) }
        return pause ?? .zero
    }
}

/// The pending and the current change of a group's members. Any thread.
final class MemberChanges: Sendable {
    /// A requested set of members and its completion handler.
    struct Request: Sendable {
        var members: [any AudioOutput]
        var done: @Sendable (RouteChange) -> Void
    }

    /// Whether a change is pending or running, so that `wake` raises the signal. Stored by any thread.
    private let isBusy = Atomic<Bool>(false)

    /// Guarded by the lock `state`.
    private struct State {
        var waiting: Request?
        var current: MemberChange?
        /// Whether a thread performs the changes.
        var isTaken = false
    }

    /// Raised when a change may be able to continue.
    let signal = Signal()
    private let state = Lock(State())

    /// Wakes the thread of the current change. Any thread.
    func wake() { if isBusy.load(ordering: .relaxed) { signal.raise() } }

    /// Whether a request is pending.
    var hasWaiting: Bool { state.withLock { $0.waiting != nil } }

    /// Adds a request, superseding a pending one.
    func ask(_ request: Request) {
        let old = state.withLock { state -> Request? in
            defer { state.waiting = request }
            return state.waiting
        }
        isBusy.store(true, ordering: .relaxed)
        signal.raise()
        old?.done(.superseded)
    }

    /// Returns true if the caller has to perform the changes, until `current` is nil.
    func beginChanges() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// Removes and returns the pending request, because no thread is available for it.
    func cancelPending() -> Request? {
        state.withLock { state in
            defer { (state.waiting, state.isTaken) = (nil, false) }
            isBusy.store(false, ordering: .relaxed)
            return state.waiting
        }
    }

    /// Returns the current change, or starts the pending one; nil if there is none.
    func current(for group: OutputGroup) -> MemberChange? {
        state.withLock { state in
            if let current = state.current { return current }
            guard let request = state.waiting else {
                state.isTaken = false
                isBusy.store(false, ordering: .relaxed)
                return nil
            }
            state.waiting = nil
            let change = MemberChange(request, group: group)
            state.current = change
            return change
        }
    }

    /// Removes a change that has ended.
    func drop(_ change: MemberChange) { state.withLock { if $0.current === change { $0.current = nil } } }
}
