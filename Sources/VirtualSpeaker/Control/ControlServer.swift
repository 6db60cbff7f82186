internal import MediaCore
internal import PTP
internal import Sockets

/// Accepts connections of senders, starts a thread for each, and assigns the speaker to one of them.
final class ControlServer: Sendable {
    /// Maximum number of open connections; a further one displaces another.
    static let connectionLimit = 16
    /// Maximum number of connections accepted before threads that have ended are joined.
    private static let arrivalsPerRound = 16

    private struct State {
        /// In order of arrival.
        var connections: [ControlConnection] = []
        /// Displaced connections that have not ended yet; at most `connectionLimit`.
        var leaving: [ControlConnection] = []
        var finished: [WorkerThread] = []
        var owner: ControlConnection?
    }

    private let core: SpeakerCore
    private let listener: TCPListener
    private let thread: PollingThread
    /// Used by the accept thread and the threads of all connections.
    private let state = Lock(State())

    var port: UInt16 { listener.port }

    init(core: SpeakerCore) throws(SpeakerError) {
        self.core = core
        listener = try SpeakerError.listening(address: core.configuration.address, port: core.configuration.port)
        thread = try SpeakerError.pollingThread("speaker-accept")
        try SpeakerError.start(thread) { [self] in run() }
    }

    /// Ends every session and blocks until all threads have ended.
    func stop() {
        thread.stop()
        let connections = state.withLock { $0.connections + $0.leaving }
        for connection in connections { connection.end("the speaker was switched off") }
        for connection in connections { connection.join() }
        for worker in state.withLock({ $0.finished }) { worker.join() }
    }

    private func run() {
        while !thread.isStopping, !core.isDead {
            _ = Poller.wait(
                reading: [thread.wake.descriptor, listener.descriptor], until: .now.advanced(by: .milliseconds(500)))
            if let thaw = core.freeze?.ends { _ = Poller.wait(reading: [thread.wake.descriptor], until: thaw) }
            for _ in 0..<Self.arrivalsPerRound {
                guard let stream = listener.accept() else { break }
                admit(stream)
            }
            listener.restIfStarved(until: thread.wake)
            let finished = state.withLock { state in
                let finished = state.finished
                state.finished = []
                return finished
            }
            for worker in finished { worker.join() }
        }
    }

    private func admit(_ stream: TCPSocket) {
        // ignored: the sender sees the connection close and retries.
        guard !core.isDead, let connection = try? ControlConnection(stream: stream, core: core, server: self) else {
            return
        }
        let (isIn, vacated) = state.withLock { state in
            var vacated: ControlConnection?
            if state.connections.count >= Self.connectionLimit {
                // A connection inside `acquire` still reports `paired`; it must not be displaced.
                let slots = state.connections.map {
                    ConnectionSlots.Slot(source: $0.source, standing: $0 === state.owner ? .begun : $0.standing)
                }
                guard state.leaving.count < Self.connectionLimit, let slot = ConnectionSlots.vacated(slots) else {
                    return (false, nil as ControlConnection?)
                }
                let leaver = state.connections.remove(at: slot)
                state.leaving.append(leaver)
                vacated = leaver
            }
            state.connections.append(connection)
            return (true, vacated)
        }
        vacated?.close()
        guard isIn else { return }
        do throws(SpeakerError) { try connection.start() } catch {
            core.record.record(.disconnected(from: stream.remote.description, reason: error.message))
            finished(connection, thread: nil)
        }
    }

    /// Assigns the speaker to a connection; returns false if a quirk protects its owner.
    ///
    /// Blocks until the previous owner's session has ended. Called on the connection's thread.
    func acquire(_ connection: ControlConnection) -> Bool {
        let previous: ControlConnection?? = state.withLock { state in
            // Another connection waits for its end: if it waited in turn, the waits could form a cycle.
            if connection.isEnding { return nil }
            guard let owner = state.owner, owner !== connection else {
                state.owner = connection
                return .some(nil)
            }
            if core.configuration.quirks.refusesTakeover { return nil }
            state.owner = connection
            owner.end("another sender took over")
            return .some(owner)
        }
        guard let previous else { return false }
        if let previous {
            core.record.record(.takenOver)
            previous.join()
        }
        return true
    }

    func finished(_ connection: ControlConnection, thread: WorkerThread?) {
        state.withLock { state in
            state.connections.removeAll { $0 === connection }
            state.leaving.removeAll { $0 === connection }
            if state.owner === connection { state.owner = nil }
            if let thread { state.finished.append(thread) }
        }
    }
}
