internal import MediaCore
internal import Synchronization

// Members that change in mid-film; docs/decisions/0007-changes-of-route.md tells why in this way.
extension OutputGroup {
    /// Makes these outputs the ones that play, without a gap and without reading the film anew.
    ///
    /// Members that stay are not touched. Those that are new are opened and brought up to the film while the old ones
    /// play on; then, at one film moment, the new ones are heard and those that left fall silent, and are given back.
    /// While the film stands still the change happens as soon as the new ones have their sound. Before anything plays
    /// it is a matter of noting it.
    ///
    /// What cannot be had is left out; when that is everybody who is new, nothing changes. A wish that comes while
    /// another one is not decided yet takes its place. Any thread.
    ///
    /// - Parameters:
    ///   - members: none twice; an empty list is refused.
    ///   - done: called once, on the group's own thread or the caller's; must return at once.
    public func change(to members: [any AudioOutput], done: @escaping @Sendable (RouteChange) -> Void) {
        changes.ask(MemberChanges.Wish(members: members, done: done))
        guard !work.changesByHand, changes.takeOver() else { return }
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
            changes.giveUp()?.done(.refused(refusals))
        }
    }

    /// The same, waiting for what becomes of it.
    public func change(to members: [any AudioOutput]) async -> RouteChange {
        await withCheckedContinuation { continuation in
            change(to: members) { continuation.resume(returning: $0) }
        }
    }

    /// How far a change of members is; nil while none is under way. Any thread.
    public var changeProgress: RouteChange.Progress? { state.withLock { $0.progress } }

    /// Does what is due for a change; when to look again, or nil when there is nothing more to do. One thread at a
    /// time: the group's own, or a test in its place.
    package func advanceChange() -> Duration? {
        guard let change = changes.current(for: self) else { return nil }
        let pause = change.step()
        state.withLock { $0.progress = change.progress }
        if pause == nil { changes.drop(change) }
        return pause ?? .zero
    }
}

/// The wishes for a group's members, and the one that is being carried out.
final class MemberChanges: Sendable {
    struct Wish: Sendable {
        var members: [any AudioOutput]
        var done: @Sendable (RouteChange) -> Void
    }

    /// A change is under way: moves are worth telling.
    private let isBusy = Atomic<Bool>(false)

    private struct State {
        var waiting: Wish?
        var current: MemberChange?
        /// A thread carries them out.
        var isTaken = false
    }

    /// Raised when something moved that a change may wait for.
    let signal = Signal()
    private let state = Lock(State())

    /// Something moved that a change may wait for. Any thread.
    func noteMove() { if isBusy.load(ordering: .relaxed) { signal.raise() } }

    var hasWaiting: Bool { state.withLock { $0.waiting != nil } }

    /// Takes the place of a wish that nobody has begun with.
    func ask(_ wish: Wish) {
        let old = state.withLock { state -> Wish? in
            defer { state.waiting = wish }
            return state.waiting
        }
        isBusy.store(true, ordering: .relaxed)
        signal.raise()
        old?.done(.superseded)
    }

    /// True for the one who is to carry them out from now on, until `current` is nil.
    func takeOver() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// There is no thread that would carry out a wish which nobody has begun with: it is taken back.
    func giveUp() -> Wish? {
        state.withLock { state in
            defer { (state.waiting, state.isTaken) = (nil, false) }
            isBusy.store(false, ordering: .relaxed)
            return state.waiting
        }
    }

    func current(for group: OutputGroup) -> MemberChange? {
        state.withLock { state in
            if let current = state.current { return current }
            guard let wish = state.waiting else {
                state.isTaken = false
                isBusy.store(false, ordering: .relaxed)
                return nil
            }
            state.waiting = nil
            let change = MemberChange(wish, group: group)
            state.current = change
            return change
        }
    }

    func drop(_ change: MemberChange) { state.withLock { if $0.current === change { $0.current = nil } } }
}
