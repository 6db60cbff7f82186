internal import MediaCore

/// The idle connections of one demuxer, for its further requests (RFC 9112, 9.3). Any thread.
///
/// All requests of a demuxer have the same `ServerTrust`.
final class ConnectionPool {
    private struct Idle {
        let connection: any WebConnection
        let address: WebAddress
        let since: HostInstant
    }
    private let idle = Lock<[Idle]>([])
    private let now: () -> HostInstant

    /// The maximum number of idle connections. The playlists of a film may be on different servers.
    static let maxConnections = 4
    /// The time after which an idle connection is not reused; the next use of the pool closes it. Routers drop idle
    /// connections without notice.
    static let maxIdleTime = Duration.seconds(30)

    init(now: @escaping () -> HostInstant = { .now }) { self.now = now }

    /// Adds a connection whose last response is complete; the oldest is closed if there are too many.
    func store(_ connection: any WebConnection, to address: WebAddress) {
        let closed = idle.withLock { idle in
            var closed = removeExpired(&idle)
            if idle.count == Self.maxConnections { closed.append(idle.removeFirst()) }
            idle.append(Idle(connection: connection, address: address, since: now()))
            return closed
        }
        // Closed outside the lock.
        _ = closed
    }

    /// Removes and returns the most recent connection to the server of an address, with its credentials; nil if there
    /// is none.
    func remove(for address: WebAddress) -> (any WebConnection)? {
        let (found, closed) = idle.withLock { idle in
            let closed = removeExpired(&idle)
            let index = idle.lastIndex { $0.address.hasSameServer(as: address) }
            return (index.map { idle.remove(at: $0).connection }, closed)
        }
        _ = closed
        return found
    }

    /// Closes all idle connections.
    func removeAll() {
        let closed = idle.withLock { idle in
            defer { idle.removeAll() }
            return idle
        }
        _ = closed
    }

    private func removeExpired(_ idle: inout [Idle]) -> [Idle] {
        let now = now()
        let expired = idle.filter { now - $0.since >= Self.maxIdleTime }
        idle.removeAll { now - $0.since >= Self.maxIdleTime }
        return expired
    }
}

extension WebAddress {
    /// Whether scheme, host, port and credentials are equal.
    fileprivate func hasSameServer(as other: WebAddress) -> Bool {
        isSecure == other.isSecure && host == other.host && port == other.port && credentials == other.credentials
    }
}
