internal import MediaCore
package import SyncRendering

/// A query of the sound server for its sinks, in the background from `init` on. Any thread.
package final class SinkQuery: Sendable {
    private static let timeout = Duration.milliseconds(500)

    private let deadline = HostInstant.now.advanced(by: SinkQuery.timeout)
    private let isAnswered = Signal()
    private let view = Lock<SoundServerView?>(nil)
    private let registration = Lock<SoundServer.Registration?>(nil)

    /// Starts the query. Does not block.
    package init() {
        guard let server = SoundServer.shared else {
            isAnswered.raise()
            return
        }
        let (view, isAnswered) = (view, isAnswered)
        let registration = server.observe { newest in
            view.withLock { $0 = newest }
            isAnswered.raise()
        }
        self.registration.withLock { $0 = registration }
    }

    deinit { if let registration = registration.withLock({ $0 }) { SoundServer.shared?.remove(registration) } }

    /// The sinks as destinations of `SoundCardProvider`, without those on the network. Waits for the server's answer
    /// until half a second after `init`; empty without one.
    package var destinations: [OutputDestination] {
        isAnswered.wait(until: deadline)
        return view.withLock { $0 }?.localSinks.map(SoundCardProvider.destination) ?? []
    }
}
