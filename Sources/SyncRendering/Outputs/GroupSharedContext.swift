internal import MediaCore
internal import Synchronization

/// Objects shared by the members of a group, looked up by type; for speakers of one network, a list of their clocks.
/// The group does not interpret them. Any thread.
public final class GroupSharedContext: Sendable {
    private let shared = Lock<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    /// Whether the renderer has several outputs, so that a conversion may be shared. Stored by any thread.
    let hasSeveralOutputs = Atomic<Bool>(false)

    /// Creates an empty scope.
    init() {}

    /// Returns the group's object of a type, which the first call creates.
    ///
    /// - Parameter make: Creates the object, under a lock; must not block.
    package func shared<Shared: AnyObject & Sendable>(
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

extension GroupSharedContext {
    /// The members that failed to open since the group was created. Any thread.
    final class UnopenedMembers: Sendable {
        private let members = Lock<Set<ObjectIdentifier>>([])

        func insert(_ member: any AudioOutput) { members.withLock { _ = $0.insert(ObjectIdentifier(member)) } }
        func remove(_ member: any AudioOutput) { members.withLock { _ = $0.remove(ObjectIdentifier(member)) } }
        func contains(_ member: any AudioOutput) -> Bool { members.withLock { $0.contains(ObjectIdentifier(member)) } }
    }

    /// The group's set of unopened members.
    var unopened: UnopenedMembers { shared { UnopenedMembers() } }
}
