internal import MediaCore
internal import Synchronization

/// Which thread runs the feeder of an output.
enum FeederPlace {
    final class Stop: Sendable { let isAsked = Atomic<Bool>(false) }

    case nowhere
    /// That of the renderer.
    case shared
    /// The thread is nil if a test runs the feeder.
    case own(WorkerThread?, stop: Stop)
    case ended
}

/// The thread of an output's feeder: that of the renderer for an only output, otherwise a separate one, so that outputs
/// do not block each other.
extension OutputFeed {
    /// Whether the thread of the renderer runs the feeder. Any thread.
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
            let before = feeder?.steps
            feeder?.isOnlyOutput = isOnlyOutput
            let due = feeder?.performDueWork(atMost: limit)
            return (feeder?.steps != before, due ?? nil)
        }
    }

    /// Lets another thread run the feeder, woken by the given signal.
    func share(with signal: Signal) {
        place.withLock { place in
            switch place {
            case .shared, .ended: return
            case .nowhere: break
            case .own(_, let stop): requestStop(stop)
            }
            place = .shared
            wake.pass(to: signal)
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
            let stop = FeederPlace.Stop()
            do throws(ExhaustionError) {
                place = .own(try work.startFeeder(self) { self.run(until: stop) }, stop: stop)
            } catch {
                return false
            }
            shared.store(false, ordering: .releasing)
            wake.pass(to: nil)
            return true
        }
    }

    /// Ends the feeder after `FeedState.stop`.
    func endFeeder() {
        let thread = place.withLock { place -> WorkerThread? in
            defer { place = .ended }
            shared.store(false, ordering: .releasing)
            wake.pass(to: nil)
            guard case .own(let thread, let stop) = place else { return nil }
            requestStop(stop)
            return thread
        }
        thread?.join()
        runIteration()
        // The feeder refers to its feed.
        feeder.withLock { $0 = nil }
    }

    /// Requests the end of the feeder's thread.
    private func requestStop(_ stop: FeederPlace.Stop) {
        stop.isAsked.store(true, ordering: .releasing)
        wake.raise()
    }

    /// The loop of the feeder's thread.
    private func run(until stop: FeederPlace.Stop) {
        while true {
            let (_, due) = runIteration()
            if stop.isAsked.load(ordering: .acquiring) { break }
            wake.waitForWork(until: due, on: timebase.clock)
        }
        // The last signal may have been meant for the successor.
        wake.raise()
    }
}
