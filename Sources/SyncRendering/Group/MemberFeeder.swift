internal import MediaCore
internal import Synchronization

/// A member's feeder and the thread that runs it: that of the group's renderer for an only member, otherwise a separate
/// thread, so that members do not block each other.
package final class MemberFeeder: Sendable {
    private enum Place {
        case nowhere
        case shared
        /// The thread is nil if a test runs the feeder.
        case own(WorkerThread?, stop: Stop)
        case ended
    }

    private final class Stop: Sendable { let isAsked = Atomic<Bool>(false) }

    let feed: OutputFeed
    private let work: GroupWork
    /// Held during a whole iteration, in which a device may open. Contended only on a change of thread and at the end.
    private let feeder: Lock<OutputFeeder>
    /// Which thread runs the feeder, guarded by its own lock.
    private let place = Lock(Place.nowhere)
    /// A copy of `place` for readers without the lock. Stored with release under it.
    private let shared = Atomic<Bool>(false)

    init(_ feed: OutputFeed, work: GroupWork) {
        self.feed = feed
        self.work = work
        feeder = Lock(OutputFeeder(feed: feed))
    }

    /// Whether the thread of the group's renderer runs the feeder. Any thread.
    var isShared: Bool { shared.load(ordering: .acquiring) }

    /// Performs all work that does not block.
    ///
    /// - Parameters:
    ///   - isOnlyOutput: Whether the renderer has no other output.
    ///   - limit: The maximum number of steps.
    /// - Returns: Whether audio advanced, and when work is due without a signal.
    @discardableResult
    func runIteration(
        isOnlyOutput: Bool = false, atMost limit: Int = .max
    ) -> (hasMoved: Bool, due: HostInstant?) {
        feeder.withLock { feeder in
            let before = feeder.steps
            feeder.isOnlyOutput = isOnlyOutput
            let due = feeder.performDueWork(atMost: limit)
            return (feeder.steps != before, due)
        }
    }

    // MARK: Selection of the thread

    /// Lets another thread run the feeder, woken by the given signal.
    func share(with signal: Signal) {
        place.withLock { place in
            switch place {
            case .shared, .ended: return
            case .nowhere: break
            case .own(_, let stop): requestStop(stop)
            }
            place = .shared
            feed.wake.pass(to: signal)
            shared.store(true, ordering: .releasing)
        }
    }

    /// Starts a thread for the feeder; if the system provides none, another thread runs it, woken by the given signal.
    func standAlone(orWith signal: Signal) {
        if !stand() { share(with: signal) }
    }

    /// Starts a thread for the feeder; returns false if none is available.
    private func stand() -> Bool {
        place.withLock { place in
            switch place {
            case .own, .ended: return true
            case .nowhere, .shared: break
            }
            let stop = Stop()
            do throws(ExhaustionError) {
                place = .own(try work.startFeeder(self) { self.run(until: stop) }, stop: stop)
            } catch {
                return false
            }
            shared.store(false, ordering: .releasing)
            feed.wake.pass(to: nil)
            return true
        }
    }

    /// Ends the feeder after its feed was stopped. Blocks until the output is closed.
    func end() {
        let thread = place.withLock { place -> WorkerThread? in
            defer { place = .ended }
            shared.store(false, ordering: .releasing)
            feed.wake.pass(to: nil)
            guard case .own(let thread, let stop) = place else { return nil }
            requestStop(stop)
            return thread
        }
        thread?.join()
        runIteration()
    }

    /// Requests the end of the feeder's thread.
    private func requestStop(_ stop: Stop) {
        stop.isAsked.store(true, ordering: .releasing)
        feed.wake.raise()
    }

    /// The loop of the feeder's thread.
    private func run(until stop: Stop) {
        while true {
            let (_, due) = runIteration()
            if stop.isAsked.load(ordering: .acquiring) { break }
            feed.wake.waitForWork(until: due, on: feed.timebase.clock)
        }
        // The last signal may have been meant for the successor.
        feed.wake.raise()
    }
}
