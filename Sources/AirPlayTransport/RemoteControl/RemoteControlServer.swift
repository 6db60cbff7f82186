package import AirPlayWire
internal import Discovery
internal import MediaCore
package import Sockets
internal import Synchronization

/// The DACP server of this process, to which speakers send the commands of their buttons and remote controls.
///
/// shairport-sync uses it also in AirPlay 2: it looks for the service `iTunes_Ctrl_ID` with the ID that it received in
/// `DACP-ID`, and connects to its port at the sender's address; see decision 0031.
///
/// It listens from the first registration until it is released. Only addresses of registered speakers may connect.
/// Callable from any thread.
package final class RemoteControlServer: Sendable {
    /// A speaker whose commands are accepted.
    private struct Registration {
        var address: NetworkAddress
        var handler: @Sendable (RemoteCommand) -> Void
    }

    /// The state that the thread shares with other threads.
    private final class Shared: Sendable {
        /// By token.
        let registrations = Lock<[UInt32: Registration]>([:])
        /// Set by `deinit`, read by the thread.
        let isStopping = Atomic<Bool>(false)
    }

    /// The parts that exist while the server listens.
    private struct Running {
        var port: UInt16
        var wakeup: PollableSignal
        var thread: WorkerThread
        /// The families of addresses in which the service is announced: receivers browse in their own.
        var announcements: [(isIPv4: Bool, service: ServiceAnnouncement?)] = []
    }

    private let identity: SenderIdentity
    private let isAnnounced: Bool
    private let shared = Shared()
    /// Nil before the first registration, and if the system has no socket or thread for it.
    private let running = Lock<Running?>(nil)

    /// Creates a server that does not listen yet.
    ///
    /// - Parameter isAnnounced: Whether the service is announced; false for tests.
    package init(identity: SenderIdentity, isAnnounced: Bool = true) {
        self.identity = identity
        self.isAnnounced = isAnnounced
    }

    deinit {
        guard let running = running.withLock({ $0 }) else { return }
        for announcement in running.announcements { announcement.service?.cancel() }
        for announcement in running.announcements { announcement.service?.stop() }
        shared.isStopping.store(true, ordering: .releasing)
        running.wakeup.raise()
        running.thread.join()
    }

    /// The TCP port; nil while the server does not listen.
    package var port: UInt16? { running.withLock { $0?.port } }

    /// Accepts the commands of a speaker. Without a socket or a thread for it the speaker has no commands.
    ///
    /// - Parameters:
    ///   - token: The number sent to the speaker in `Active-Remote`.
    ///   - address: The address of the speaker.
    ///   - local: This computer's address on the speaker's network.
    ///   - handler: Called on the server's thread; must not block.
    package func register(
        _ token: UInt32, of address: NetworkAddress, local: NetworkAddress,
        _ handler: @escaping @Sendable (RemoteCommand) -> Void
    ) {
        shared.registrations.withLock { $0[token] = Registration(address: address, handler: handler) }
        running.withLock { running in
            // ignored: the speaker plays without commands.
            if running == nil { running = try? start() }
            guard isAnnounced, let port = running?.port,
                running?.announcements.contains(where: { $0.isIPv4 == local.isIPv4 }) == false
            else { return }
            running?.announcements.append((local.isIPv4, announce(local, port)))
        }
    }

    /// Rejects commands with this token from now on.
    package func unregister(_ token: UInt32) { shared.registrations.withLock { $0[token] = nil } }

    /// Announces the service on all interfaces; receivers evaluate its name and its port only.
    private func announce(_ local: NetworkAddress, _ port: UInt16) -> ServiceAnnouncement? {
        let id = identity.remoteControlID
        return ServiceAnnouncement(
            ServiceName.Kind(rawValue: "_dacp._tcp"), name: "iTunes_Ctrl_\(id)",
            host: "talkie-remote-\(id.lowercased())\(local.isIPv4 ? "" : "-6")",
            address: NetworkAddress(bytes: local.bytes) ?? local, port: port,
            strings: ["txtvers=1", "Ver=131073", "DbId=\(id)"],
            // Without avahi-daemon there are no announced speakers either.
            failed: { _ in })
    }

    private func start() throws -> Running {
        let (shared, wakeup) = (shared, try PollableSignal())
        // Speakers may be on several networks.
        // ignored: without IPv6 in the kernel there is no `::`.
        let listener = try (try? TCPListener(address: .any)) ?? TCPListener(address: .anyIPv4)
        let thread = try WorkerThread.start(name: "airplay remote") {
            var connections = Connections(listener: listener, wakeup: wakeup, shared: shared)
            connections.run()
        }
        return Running(port: listener.port, wakeup: wakeup, thread: thread)
    }

    /// The open connections. Used by the server's thread.
    private struct Connections {
        /// Maximum number of open connections; a further one closes the oldest.
        private static let maxConnections = 8
        /// Time after which a connection without a request is closed.
        private static let timeout: Duration = .seconds(10)

        private struct Client {
            var socket: TCPSocket
            var conversation = RemoteControlConversation()
            var deadline: HostInstant
        }

        let listener: TCPListener
        let wakeup: PollableSignal
        let shared: Shared
        /// In order of arrival.
        private var clients: [Client] = []
        private var buffer = [UInt8](repeating: 0, count: 4 << 10)

        init(listener: TCPListener, wakeup: PollableSignal, shared: Shared) {
            (self.listener, self.wakeup, self.shared) = (listener, wakeup, shared)
        }

        mutating func run() {
            while !shared.isStopping.load(ordering: .acquiring) {
                let ready = Poller.wait(
                    reading: [wakeup.descriptor, listener.descriptor] + clients.map(\.socket.descriptor),
                    until: clients.map(\.deadline).min())
                wakeup.clear()
                for index in clients.indices.reversed() where ready[2 + index] { serve(index) }
                clients.removeAll { $0.deadline <= .now }
                if ready[1] { accept() }
            }
        }

        private mutating func accept() {
            guard let socket = listener.accept() else { return listener.restIfStarved(until: wakeup) }
            let isKnown = shared.registrations.withLock { all in all.values.contains { $0.address == socket.remote } }
            guard isKnown else { return }
            if clients.count >= Self.maxConnections { clients.removeFirst() }
            clients.append(Client(socket: socket, deadline: .now.advanced(by: Self.timeout)))
        }

        /// Reads from a client. Removes it if its connection has ended.
        private mutating func serve(_ index: Int) {
            let socket = clients[index].socket
            let registrations = shared.registrations.withLock { $0 }
            switch socket.receiveNow(into: &buffer, limit: buffer.count) {
            case .nothing: return
            case .ended: clients.remove(at: index)
            case .bytes(let count):
                let outcome = clients[index].conversation.receive(buffer[..<count]) {
                    registrations[$0]?.address == socket.remote
                }
                for (command, token) in outcome.commands { registrations[token]?.handler(command) }
                // A response fits into the socket's empty buffer.
                let isSent = outcome.responses.isEmpty || socket.sendCompletely(outcome.responses, until: .now)
                if outcome.isOver || !isSent { clients.remove(at: index) }
            }
        }
    }
}
