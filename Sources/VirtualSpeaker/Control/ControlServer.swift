internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Listens for senders, gives each a thread, and lets one of them have the speaker.
final class ControlServer: Sendable {
    /// Connections at a time; more are closed at once.
    static let connectionLimit = 16

    private struct State {
        var connections: [ControlConnection] = []
        var finished: [WorkerThread] = []
        var owner: ControlConnection?
    }

    private let core: SpeakerCore
    private let listener: TCPListener
    private let wakeup: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let state = Lock(State())
    private let thread = Lock<WorkerThread?>(nil)

    var port: UInt16 { listener.port }

    init(core: SpeakerCore) throws(SpeakerError) {
        self.core = core
        listener = try SpeakerError.listening(address: core.configuration.address, port: core.configuration.port)
        wakeup = PollableSignal()
        let worker = WorkerThread.start(name: "speaker-accept") { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Ends every session and waits for all threads.
    func stop() {
        stopping.store(true, ordering: .releasing)
        wakeup.raise()
        thread.withLock { $0 }?.join()
        let connections = state.withLock { $0.connections }
        for connection in connections { connection.end("the speaker was switched off") }
        for connection in connections { connection.join() }
        for worker in state.withLock({ $0.finished }) { worker.join() }
    }

    private func run() {
        while !stopping.load(ordering: .acquiring), !core.isDead {
            _ = Poller.wait(
                reading: [wakeup.descriptor, listener.descriptor], until: .now.advanced(by: .milliseconds(500)))
            if let thaw = core.freeze?.ends { _ = Poller.wait(reading: [wakeup.descriptor], until: thaw) }
            while let stream = listener.accept() { admit(stream) }
            let finished = state.withLock { state in
                let finished = state.finished
                state.finished = []
                return finished
            }
            for worker in finished { worker.join() }
        }
    }

    private func admit(_ stream: TCPSocket) {
        guard !core.isDead, state.withLock({ $0.connections.count }) < Self.connectionLimit,
            let connection = try? ControlConnection(stream: stream, core: core, server: self)
        else { return }
        state.withLock { $0.connections.append(connection) }
        connection.start()
    }

    /// Gives the speaker to a connection. The session of another one has ended when this returns true.
    func acquire(_ connection: ControlConnection) -> Bool {
        let previous: ControlConnection?? = state.withLock { state in
            guard let owner = state.owner, owner !== connection else {
                state.owner = connection
                return .some(nil)
            }
            if core.configuration.quirks.refusesTakeover { return nil }
            state.owner = connection
            return .some(owner)
        }
        guard let previous else { return false }
        if let previous {
            core.record.note(.takenOver)
            previous.end("another sender took over")
            previous.join()
        }
        return true
    }

    func finished(_ connection: ControlConnection, thread: WorkerThread?) {
        state.withLock { state in
            state.connections.removeAll { $0 === connection }
            if state.owner === connection { state.owner = nil }
            if let thread { state.finished.append(thread) }
        }
    }
}
