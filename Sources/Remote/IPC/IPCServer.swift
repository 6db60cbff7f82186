package import MediaCore
package import Playback
package import Sockets

/// Controls a player over a Unix socket with mpv's JSON protocol (its manual, "JSON IPC").
///
/// One thread serves all clients. It waits in poll(2), without timeouts; nothing is observed while no client is
/// connected.
package final class IPCServer: Sendable {
    /// The maximum number of connected clients; further ones are disconnected.
    package static let maxClients = 16
    /// The interval at which connections are accepted again after the system had no descriptor.
    private static let starvationInterval = Duration.seconds(1)

    private let control: PlayerControl
    private let thread: PollingThread
    /// The outputs of the connected clients.
    private let outputs = Lock<[IPCOutput]>([])
    private let events = Lock(IPCEvents())
    /// The number of the observation of the player's events; nil: none.
    private let observer = Lock<Int?>(nil)

    /// Creates a server without a thread.
    private init(control: PlayerControl) throws(ExhaustionError) {
        self.control = control
        thread = try PollingThread(name: "ipc")
    }

    /// Starts a server.
    ///
    /// - Throws: If the system has no descriptor or thread.
    package static func start(on listener: LocalListener, control: PlayerControl) throws(ExhaustionError) -> IPCServer {
        let server = try IPCServer(control: control)
        try server.thread.start { server.run(listener) }
        return server
    }

    /// Sends `shutdown`, disconnects all clients, and removes the socket. Blocks until the thread has ended.
    package func close() { thread.stop() }

    private func broadcast(_ name: String, _ members: [(String, JSONValue)]) {
        for output in outputs.withLock({ $0 }) { output.send(event: name, members) }
    }

    // MARK: The thread

    private func run(_ listener: LocalListener) {
        var connections: [IPCConnection] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var number = 0
        var isObserved = false
        var pause: HostInstant?
        while !thread.isStopping {
            let readers = connections.filter(\.wantsInput)
            let writers = connections.filter(\.wantsOutput)
            let listening = pause == nil ? [listener.descriptor] : []
            let ready = Poller.wait(
                reading: [thread.wake.descriptor] + listening + readers.map(\.stream.descriptor),
                writing: writers.map(\.stream.descriptor), until: pause)
            if ready[0] { thread.wake.clear() }
            let first = 1 + listening.count
            for (index, connection) in readers.enumerated() where ready[first + index] {
                connection.receive(into: &buffer)
            }
            if pause == nil, ready[1] {
                // Limited: a program that connects all the time must not delay the others.
                for _ in 0..<Self.maxClients {
                    guard let stream = listener.accept() else { break }
                    guard connections.count < Self.maxClients else { continue }
                    number += 1
                    connections.append(connection(stream, number))
                }
                if listener.isStarved { pause = .now.advanced(by: Self.starvationInterval) }
            } else if let end = pause, end <= .now {
                pause = nil
            }
            for connection in connections { connection.proceed() }
            removeFinished(&connections)
            if isObserved == connections.isEmpty {
                isObserved.toggle()
                setObserved(isObserved)
            }
        }
        end(listener, connections)
    }

    private func end(_ listener: LocalListener, _ connections: [IPCConnection]) {
        listener.remove()
        endObservation()
        for event in events.withLock({ $0.eventsOfShutdown() }) { broadcast(event.name, event.members) }
        for connection in connections {
            connection.send()
            connection.close()
        }
        outputs.withLock { $0 = [] }
    }

    private func connection(_ stream: LocalStream, _ number: Int) -> IPCConnection {
        let output = IPCOutput { [wake = thread.wake] in wake.raise() }
        outputs.withLock { $0.append(output) }
        let session = IPCSession(name: "ipc-\(number)", control: control, output: output) { [self] in broadcast($0, $1)
        }
        return IPCConnection(stream, output, session)
    }

    private func removeFinished(_ connections: inout [IPCConnection]) {
        connections.removeAll { connection in
            guard connection.isFinished else { return false }
            connection.close()
            outputs.withLock { outputs in outputs.removeAll { $0 === connection.output } }
            return true
        }
    }

    // MARK: Events

    /// Observes the events of the player, or ends that.
    private func setObserved(_ isObserved: Bool) {
        // On the player's thread: otherwise an item could begin between the state and the observation.
        control.afterCommands { [self] in
            endObservation()
            guard isObserved, !thread.isStopping else { return }
            events.withLock { $0 = IPCEvents(after: control.state) }
            // ignored: fails when the player has ended, which has no events then, or without memory for a thread.
            let number = try? control.observeEvents { [self] in report($0) }
            observer.withLock { $0 = number }
        }
    }

    private func endObservation() {
        if let number = observer.withLock({ $0.take() }) { control.removeObserver(number) }
    }

    private func report(_ event: PlayerEvent) {
        // ignored: the property exists and is available.
        let isStopped = (try? control.value(of: "playlist-count").integer) == 0
        for event in events.withLock({ $0.events(for: event, isStopped: isStopped) }) {
            broadcast(event.name, event.members)
        }
    }
}
