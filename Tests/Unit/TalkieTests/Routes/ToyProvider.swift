import MediaCore
import SyncRendering

/// A kind of speaker that nothing in Sources knows: what a stranger writes to add one.
final class ToyProvider: PairingProvider {
    let name = "toy"
    private let rooms: [String: any AudioOutput]
    private let obstacle: String?
    /// Rooms that are there from the beginning; `appear` brings the others.
    private let present: Lock<[String]>
    private let changed = Signal()
    let title = Lock("")
    /// The rooms whose outputs somebody wanted, in this order.
    let wanted = Lock<[String]>([])
    /// What somebody who pairs wanted.
    let wishes = Lock<[PairingWish]>([])
    /// Sentences about files that could not be read.
    let unread = Lock<[String]>([])

    init(_ rooms: [String: any AudioOutput], present: [String]? = nil, obstacle: String? = nil) {
        self.rooms = rooms
        self.obstacle = obstacle
        self.present = Lock(present ?? rooms.keys.sorted())
    }

    func appear(_ room: String) {
        present.withLock { $0.append(room) }
        changed.raise()
    }

    func place(_ room: String) -> OutputPlace {
        OutputPlace(
            provider: name, id: "toy:\(room)", name: room, kind: OutputPlace.Kind(rawValue: "toy"), obstacle: obstacle)
    }

    func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        interruption.onRaise { [changed] in changed.raise() }
        while interruption.status == nil {
            report(OutputOffer(places: present.withLock { $0 }.map(place)))
            changed.wait()
            changed.clear()
        }
    }

    func answers(to name: String) -> Bool { name.hasPrefix("toy:") }

    func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputPlace] {
        var places: [OutputPlace] = []
        for name in names {
            let room = String(name.dropFirst(4))
            guard rooms[room] != nil else { throw TalkieError(.unavailable, "no toy is in '\(room)'") }
            places.append(place(room))
        }
        return places
    }

    func outputs(at place: OutputPlace) throws(TalkieError) -> [any AudioOutput] {
        wanted.withLock { $0.append(place.name) }
        guard let output = rooms[place.name] else { throw TalkieError(.unavailable, "no toy is there") }
        return [output]
    }

    func identity(of output: any AudioOutput) -> OutputIdentity? {
        guard let room = rooms.first(where: { $0.value === output })?.key else { return nil }
        return OutputIdentity(key: "toy-\(room)", name: room, query: "toy:\(room)", route: "toy")
    }

    func pair(
        _ name: String, _ wish: PairingWish, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        wishes.withLock { $0.append(wish) }
        return PairingOutcome(message: "\(name.dropFirst(4)) is paired")
    }

    var notes: [String] { unread.withLock { $0 } }

    func setTitle(_ title: String) { self.title.withLock { $0 = title } }
}
