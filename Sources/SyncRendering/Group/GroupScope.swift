internal import MediaCore

/// What the members of one group share beyond the timebase, found by its type: speakers of one network, say, a list of
/// their clocks. The group knows nothing of it; the first member that asks makes it. Any thread.
public final class GroupScope: Sendable {
    private let shared = Lock<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    public init() {}

    /// The one value of a type in this group.
    ///
    /// - Parameter make: called when nobody has asked yet; must return at once.
    public func shared<Shared: AnyObject & Sendable>(
        _ type: Shared.Type = Shared.self, make: () -> Shared
    ) -> Shared {
        shared.withLock { all in
            if let known = all[ObjectIdentifier(type)] as? Shared { return known }
            let made = make()
            all[ObjectIdentifier(type)] = made
            return made
        }
    }
}

extension GroupScope {
    /// Members that could not be opened since the group was made.
    final class UnopenedMembers: Sendable {
        private let members = Lock<Set<ObjectIdentifier>>([])

        func insert(_ member: any AudioOutput) { members.withLock { _ = $0.insert(ObjectIdentifier(member)) } }
        func remove(_ member: any AudioOutput) { members.withLock { _ = $0.remove(ObjectIdentifier(member)) } }
        func contains(_ member: any AudioOutput) -> Bool { members.withLock { $0.contains(ObjectIdentifier(member)) } }
    }

    var unopened: UnopenedMembers { shared { UnopenedMembers() } }
}
