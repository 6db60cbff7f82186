internal import SyncRendering

/// Finds the changes of the outputs that are heard. A value.
struct RouteObservation {
    /// A member of the groups of outputs.
    struct Member {
        var id: OutputID
        var name: String
        var kind: AudioRouteKind
        /// Whether the output is open.
        var isOpen: Bool
        /// The device that plays; nil: unknown, or none.
        var device: OutputDevice?
        /// Whether the output is heard.
        var isHeard = true
        /// Whether the output has been open.
        var wasOpen = false
        /// The last reported reason of its silence; nil: none since it was last heard.
        var silence: PlaybackRouteChange.Reason?

        var output: PlaybackRouteChange.Output {
            PlaybackRouteChange.Output(
                id: id, name: name, kind: kind, device: device.flatMap { $0.sink ?? ($0.isOwn ? nil : $0.name) })
        }
    }

    /// The members at the last update, with their last known devices.
    private var members: [Member] = []
    /// Whether there was an update.
    private(set) var isKnown = false
    /// The reason of the next change of the members.
    var nextReason = PlaybackRouteChange.Reason.chosen

    /// Whether a member has been open.
    var hasOpened: Bool { members.contains(where: \.wasOpen) }

    /// Lets the next update report the reasons of silent members again.
    mutating func forgetSilence() { for index in members.indices { members[index].silence = nil } }

    private var heard: [PlaybackRouteChange.Output] { members.filter(\.isHeard).map(\.output) }

    /// Stores the members. Returns the change; nil if the same outputs are heard, on the same devices, or if all are
    /// silent for the same reasons.
    ///
    /// - Parameter silent: The problems of silent members.
    mutating func update(_ current: [Member], silent: [OutputProblem]) -> PlaybackRouteChange? {
        let (old, previous) = (members, heard)
        members = current.map { member in
            var member = member
            let before = old.first { $0.id == member.id }
            if let known = before?.device {
                let device = member.device ?? known
                member.device = device
                // A sink is unknown for a while after its device was opened.
                if device.sink == nil, device.name == known.name { member.device?.sink = known.sink }
            }
            // Those that open are expected to be heard. One that was silent is heard only once it is open: between two
            // items all are closed.
            let problem = silent.first { $0.output == member.id }
            member.isHeard = problem == nil && (before?.isHeard != false || member.isOpen)
            member.wasOpen = member.isOpen || before?.wasOpen == true
            let reason = problem.map { PlaybackRouteChange.Reason($0.error) }
            member.silence = member.isHeard ? nil : reason ?? before?.silence
            return member
        }
        let isFirst = !isKnown
        isKnown = true
        let hasOtherMembers = !isFirst && Set(members.map(\.id)) != Set(old.map(\.id))
        defer { if hasOtherMembers { nextReason = .chosen } }
        let before = isFirst ? members.map(\.output) : previous
        let (oldIDs, newIDs) = (before.map(\.id), heard.map(\.id))
        if Set(oldIDs) != Set(newIDs) {
            guard !hasOtherMembers else {
                return PlaybackRouteChange(reason: nextReason, previous: before, current: heard)
            }
            let error = silent.first { oldIDs.contains($0.output) && !newIDs.contains($0.output) }?.error
            return PlaybackRouteChange(
                reason: error.map { .init($0) } ?? .newOutput, previous: before, current: heard, error: error)
        }
        if oldIDs.isEmpty, newIDs.isEmpty, !hasOtherMembers {
            // A speaker that another sender has taken over is lost first, and found busy by the attempt to rejoin.
            for member in members {
                guard let reason = member.silence, reason != old.first(where: { $0.id == member.id })?.silence else {
                    continue
                }
                let error = silent.first { $0.output == member.id }?.error
                return PlaybackRouteChange(reason: reason, previous: [], current: [], error: error)
            }
        }
        for member in members where member.isHeard {
            guard let new = member.device, let known = old.first(where: { $0.id == member.id })?.device,
                new.hasMoved(from: known)
            else { continue }
            let reason: PlaybackRouteChange.Reason =
                !new.isOwn ? .outputGone : known.isOwn ? .moved : .newOutput
            return PlaybackRouteChange(reason: reason, previous: before, current: heard)
        }
        return nil
    }
}
