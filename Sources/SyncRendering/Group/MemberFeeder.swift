internal import MediaCore
internal import Synchronization

/// A member's feeder, and who turns it: the thread of the renderer that feeds the group, while there is no other member,
/// or a thread of its own, so that no member waits for another.
package final class MemberFeeder: Sendable {
    private enum Place {
        case nowhere
        case shared
        /// Without a thread where a test turns it.
        case own(WorkerThread?, stop: Stop)
        case ended
    }

    private final class Stop: Sendable { let isAsked = Atomic<Bool>(false) }

    package let renderer: AudioRenderer
    private let work: GroupWork
    /// Held for a whole turn, in which a device may open: nobody waits for it but whoever takes the feeder over, or ends it.
    private let feeder: Lock<AudioFeeder>
    private let place = Lock(Place.nowhere)
    private let shared = Atomic<Bool>(false)

    init(_ renderer: AudioRenderer, work: GroupWork) {
        self.renderer = renderer
        self.work = work
        feeder = Lock(AudioFeeder(renderer: renderer))
    }

    /// The renderer that feeds the group turns it.
    package var isShared: Bool { shared.load(ordering: .acquiring) }

    /// Does what can be done without waiting.
    ///
    /// - Parameters:
    ///   - supply: where more sound is found once the member's own queue is empty.
    ///   - limit: stops after so many steps.
    /// - Returns: whether sound got on, and when something is due although nobody raises the signal.
    @discardableResult
    func turn(
        takingFrom supply: MemberSupply? = nil, atMost limit: Int = .max
    ) -> (hasMoved: Bool, due: HostInstant?) {
        feeder.withLock { feeder in
            let before = feeder.steps
            feeder.supply = supply
            let due = feeder.settle(atMost: limit)
            feeder.supply = nil
            return (feeder.steps != before, due)
        }
    }

    // MARK: Who turns it

    /// Somebody else's thread turns it from now on, woken by his signal.
    func share(with signal: Signal) {
        place.withLock { place in
            switch place {
            case .shared, .ended: return
            case .nowhere: break
            case .own(_, let stop): leave(stop)
            }
            place = .shared
            renderer.wake.pass(to: signal)
            shared.store(true, ordering: .releasing)
        }
    }

    /// A thread of its own turns it from now on; where the system gives none, somebody else's, woken by this signal.
    func standAlone(orWith signal: Signal) {
        if !stand() { share(with: signal) }
    }

    /// False when there is no thread.
    private func stand() -> Bool {
        place.withLock { place in
            switch place {
            case .own, .ended: return true
            case .nowhere, .shared: break
            }
            let stop = Stop()
            do throws(ExhaustionError) {
                place = .own(try work.turn(self) { self.run(until: stop) }, stop: stop)
            } catch {
                return false
            }
            shared.store(false, ordering: .releasing)
            renderer.wake.pass(to: nil)
            return true
        }
    }

    /// The renderer was invalidated: the output is closed when this returns.
    func end() {
        let thread = place.withLock { place -> WorkerThread? in
            defer { place = .ended }
            shared.store(false, ordering: .releasing)
            renderer.wake.pass(to: nil)
            guard case .own(let thread, let stop) = place else { return nil }
            leave(stop)
            return thread
        }
        thread?.join()
        turn()
    }

    private func leave(_ stop: Stop) {
        stop.isAsked.store(true, ordering: .releasing)
        renderer.wake.raise()
    }

    private func run(until stop: Stop) {
        while true {
            let (_, due) = turn()
            if stop.isAsked.load(ordering: .acquiring) { break }
            renderer.awaitWork(until: due)
        }
        // What it was woken for may be for whoever came after it.
        renderer.wake.raise()
    }
}
