internal import MediaCore
internal import PTP
internal import Sockets

/// Speakers that play in sync: a group identifier, and a peer list that each member receives on every change.
///
/// Callable from any thread.
package final class PTPPeerGroup: Sendable {
    /// The group identifier, an upper-case UUID.
    package let identifier = UniqueName.uuid()

    private struct Member: Sendable {
        let address: IPv4Address
        weak var session: AirPlaySession?

        package init(address: IPv4Address, session: AirPlaySession? = nil) {
            self.address = address
            self.session = session
        }
    }

    private let members = Lock<[Member]>([])

    package init() {}

    /// The addresses of all members, in the same order for each member.
    var addresses: [IPv4Address] {
        let all = members.withLock { $0.map(\.address) }
        return Set(all).sorted { $0.rawValue < $1.rawValue }
    }

    /// Adds a session that is about to share our clock; the other members receive the new list.
    func add(_ session: AirPlaySession, at address: IPv4Address) {
        change {
            $0.removeAll { $0.session == nil || $0.session === session }
            $0.append(Member(address: address, session: session))
        }
    }

    /// Removes a session that ended or was lost; the other members receive the new list.
    func remove(_ session: AirPlaySession) {
        change { $0.removeAll { $0.session == nil || $0.session === session } }
    }

    private func change(_ body: (inout [Member]) -> Void) {
        let before = addresses
        members.withLock { body(&$0) }
        guard addresses != before else { return }
        for session in members.withLock({ $0.compactMap(\.session) }) { session.sharePeersAgain() }
    }
}
