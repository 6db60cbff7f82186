internal import AirPlayTransport
internal import MediaCore
internal import PTP
internal import Sockets

/// Speakers that play in sync: a group identifier, and a peer list that each member receives on every change.
///
/// Callable from any thread.
package final class PTPPeerGroup: Sendable {
    /// The group identifier, an upper-case UUID.
    package let identifier = UniqueName.uuid()

    /// The identifier remains valid while the session is deallocated, when `session` is already nil.
    private struct Member: Sendable {
        let id: ObjectIdentifier
        let address: NetworkAddress
        weak var session: AirPlaySession?
    }

    private let members = Lock<[Member]>([])
    private let pairs = Lock<[String: StreamCounters]>([:])

    package init() {}

    /// The addresses of all members, in the same order for each member.
    var addresses: [NetworkAddress] {
        let all = members.withLock { $0.map(\.address) }
        return Set(all).sorted()
    }

    /// Returns the initial counters of a stereo pair, whose members receive the same packets.
    func counters(ofPair pair: String) -> StreamCounters {
        pairs.withLock { pairs in
            let counters = pairs[pair] ?? .random()
            pairs[pair] = counters
            return counters
        }
    }

    /// Adds a session that is about to share our clock; the other members receive the new list.
    func add(_ session: AirPlaySession, at address: NetworkAddress) {
        let member = Member(id: ObjectIdentifier(session), address: address, session: session)
        change {
            $0.removeAll { $0.id == member.id }
            $0.append(member)
        }
    }

    /// Removes a session that ended, was lost or is deallocated; the other members receive the new list.
    func remove(_ session: AirPlaySession) {
        let id = ObjectIdentifier(session)
        change { $0.removeAll { $0.id == id } }
    }

    private func change(_ body: (inout [Member]) -> Void) {
        let before = addresses
        members.withLock { body(&$0) }
        guard addresses != before else { return }
        // Released outside the lock: the last reference removes its session.
        for session in members.withLock({ $0.compactMap(\.session) }) { session.sharePeersAgain() }
    }
}
