internal import MediaCore
internal import PTP

/// What playing to a speaker has taught about it.
package struct SpeakerExperience: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It took a line of sound to play from.
    package static let played = SpeakerExperience(rawValue: 1)
    /// It asked for our time.
    package static let probed = SpeakerExperience(rawValue: 2)
    /// It took a stream and never came to terms with our clock.
    package static let clockless = SpeakerExperience(rawValue: 4)
    /// It insisted on serving time itself.
    package static let insisted = SpeakerExperience(rawValue: 8)
    /// It was left to its own clock and had none.
    package static let declinedToServe = SpeakerExperience(rawValue: 16)
}

extension SpeakerExperience {
    /// What a session shows about the speaker's way with clocks.
    ///
    /// That it insists on its own is learned only when it has refused our starts itself: Syncs are anybody's word, and what
    /// they say is good for one session.
    init(of peer: PTPPeer) {
        self = []
        if peer.readiness.probes > 0 { insert(.probed) }
        if peer.isFollowed, peer.hasRefusedOurTime, peer.master != nil { insert(.insisted) }
        if peer.declinedToServe, peer.master == nil { insert(.declinedToServe) }
    }

    /// Whose clock it plays by, as far as that was learned.
    var clockRole: ClockRole? {
        if contains(.declinedToServe) { return .grandmaster }
        return contains(.insisted) ? .follower : nil
    }
}

/// Collects what all sessions with one speaker teach. Any thread.
package final class SpeakerLessons: Sendable {
    private let state = Lock(SpeakerExperience())

    package init() {}

    package var learned: SpeakerExperience { state.withLock { $0 } }

    func learn(_ experience: SpeakerExperience) { state.withLock { $0.formUnion(experience) } }
}

extension RouteMemory {
    /// What is worth remembering after a speaker was driven on a route; nil when nothing was learned.
    package static func after(
        _ experience: SpeakerExperience, on route: Route, role: ClockRole, sourceVersion: String?,
        before: RouteMemory?
    ) -> RouteMemory? {
        // An update of the speaker's software makes what was learned void.
        var memory = before.flatMap { $0.sourceVersion == sourceVersion ? $0 : nil } ?? RouteMemory()
        if experience.contains(.played) {
            memory.route = route
            memory.failed.remove(route)
            memory.role = experience.clockRole ?? role
            memory.hasProbed = memory.hasProbed || experience.contains(.probed)
        } else if experience.contains(.clockless) {
            if memory.route == route { memory.route = nil }
            memory.failed.insert(route)
            // One that asked and does not any more is taken for a silent one the next time, not refused for ever.
            memory.hasProbed = experience.contains(.probed)
        } else {
            return nil
        }
        memory.sourceVersion = sourceVersion
        return memory == before ? nil : memory
    }
}
