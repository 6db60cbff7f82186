package import MediaCore
package import SyncRendering

/// An output provider that is unknown to the sources, as a third party would write it. Callable from any thread.
package final class ToyProvider: PairingProvider {
    package let name = "toy"
    private let rooms: [String: any AudioOutput]
    private let obstacle: String?
    /// The pairing that rooms require, with the PIN or password that they accept.
    private let pairing: (kind: OutputDestination.Pairing, code: String)?
    /// Whether outputs can be found by name before they appear.
    private let findsAbsent: Bool
    /// The visible rooms; `appear` adds others.
    private let present: Lock<[String]>
    private let changed = Signal()
    /// The rooms of requested outputs, in order.
    package let wanted = Lock<[String]>([])
    /// The requested pairings.
    package let requests = Lock<[PairingAction]>([])
    /// Messages about unreadable files.
    package let unread = Lock<[String]>([])

    /// Creates a provider.
    ///
    /// - Parameter present: The rooms that are visible from the start; nil: all.
    package init(
        _ rooms: [String: any AudioOutput], present: [String]? = nil, obstacle: String? = nil,
        pairing: (kind: OutputDestination.Pairing, code: String)? = nil, findsAbsent: Bool = true
    ) {
        self.pairing = pairing
        self.findsAbsent = findsAbsent
        self.rooms = rooms
        self.obstacle = obstacle
        self.present = Lock(present ?? rooms.keys.sorted())
    }

    /// Makes a room visible.
    package func appear(_ room: String) {
        present.withLock { $0.append(room) }
        changed.raise()
    }

    /// Returns the destination of a room.
    package func destination(_ room: String) -> OutputDestination {
        OutputDestination(
            provider: name, id: "toy:\(room)", name: room, kind: OutputDestination.Kind(rawValue: "toy"),
            obstacle: obstacle,
            pairing: pairing?.kind)
    }

    package func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        interruption.onRaise { [changed] in changed.raise() }
        while interruption.status == nil {
            report(OutputOffer(destinations: present.withLock { $0 }.map(destination)))
            changed.wait()
            changed.clear()
        }
    }

    package func match(_ name: String) -> NameMatch { name.hasPrefix("toy:") || rooms[name] != nil ? .certain : .none }

    package func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputDestination] {
        var destinations: [OutputDestination] = []
        for name in names {
            let room = name.hasPrefix("toy:") ? String(name.dropFirst(4)) : name
            guard rooms[room] != nil, findsAbsent || present.withLock({ $0.contains(room) }) else {
                throw TalkieError(.unavailable, "no toy is in '\(room)'")
            }
            destinations.append(destination(room))
        }
        return destinations
    }

    package func outputs(at destination: OutputDestination) throws(TalkieError) -> [any AudioOutput] {
        wanted.withLock { $0.append(destination.name) }
        guard let output = rooms[destination.name] else { throw TalkieError(.unavailable, "no toy is there") }
        return [output]
    }

    package func identity(of output: any AudioOutput) -> OutputIdentity? {
        guard let room = rooms.first(where: { $0.value === output })?.key else { return nil }
        return OutputIdentity(key: "toy-\(room)", name: room, query: "toy:\(room)", route: "toy")
    }

    package func pair(
        _ name: String, _ action: PairingAction, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        requests.withLock { $0.append(action) }
        if let pairing {
            let code: String? =
                switch action {
                case .password(let password): password
                case .pin(let pin): pin ?? ask?("PIN: ")
                case .forget: nil
                }
            guard code == pairing.code else {
                throw TalkieError(.notPermitted, "it was rejected", remedy: Remedy(.correctPassword, advice: "again"))
            }
        }
        return PairingOutcome(message: "\(name.dropFirst(4)) is paired")
    }

    package var notes: [String] { unread.withLock { $0 } }
}
