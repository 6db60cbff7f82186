internal import MediaCore
internal import PTP
internal import Sockets

/// Speakers that play one sound together: one group name, and a list of addresses that each of them is told whenever
/// one comes or goes. Any thread.
package final class PTPPeerGroup: Sendable {
    /// An upper-case UUID.
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

    /// Everybody's address, in the same order for everybody.
    var addresses: [IPv4Address] {
        let all = members.withLock { $0.map(\.address) }
        return Set(all).sorted { $0.rawValue < $1.rawValue }
    }

    /// A session is about to share our clock; the others hear of it.
    func add(_ session: AirPlaySession, at address: IPv4Address) {
        change {
            $0.removeAll { $0.session == nil || $0.session === session }
            $0.append(Member(address: address, session: session))
        }
    }

    /// A session has ended or was lost; the others hear of it.
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
