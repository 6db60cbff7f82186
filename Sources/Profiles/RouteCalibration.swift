internal import MediaCore
package import SyncRendering

/// What calibrations found out, applied to the outputs of a player: each member of the group by itself, also those
/// that are chosen in mid-film. Any thread.
package final class RouteCalibration: Sendable {
    /// One output and what holds for it.
    package struct Part {
        package let speaker: OutputIdentity
        package let use: ProfileChoice.Use
        package let output: any AudioOutput
        /// The group's number for it, as events have it.
        package let number: Int

        /// Where its offset comes from, as it is now.
        package var ledger: LatencyLedger {
            LatencyLedger(
                speaker: speaker.name, route: speaker.route,
                stated: LatencyLedger.stated(output.latency, isCard: output.kind == .soundCard),
                profile: use.profile, isExact: use.isExact, isPlaceKnown: !speaker.key.isEmpty)
        }
    }

    private struct Place: Equatable {
        var screen: String?
        var mode: String?
    }

    private let group: OutputGroup
    /// Groups that play other sound beside that.
    private let others = Lock<[OutputGroup]>([])
    private let identify: @Sendable (any AudioOutput) -> OutputIdentity?
    private let read: @Sendable () -> [LatencyProfile]
    private let place = Lock(Place())
    /// What is kept, once it was read. Held while delays are set, so that of two threads the one that chose later also sets later.
    private let profiles = Lock<[LatencyProfile]?>(nil)

    /// - Parameters:
    ///   - identify: how calibrations know an output; nil for one of which nothing can be known.
    ///   - profiles: everything that is kept; empty where the user's own delay takes its place. Called once, by the first `apply`, and
    ///     may block on the disk.
    package init(
        _ group: OutputGroup, identify: @escaping @Sendable (any AudioOutput) -> OutputIdentity?,
        profiles: @escaping @Sendable () -> [LatencyProfile]
    ) {
        self.group = group
        self.identify = identify
        read = profiles
    }

    /// Where the picture is seen; nil while it is not known which screen there will be.
    ///
    /// - Returns: whether that is another place than was known.
    @discardableResult
    package func setScreen(_ screen: String?, mode: String?) -> Bool {
        place.withLock { place in
            let now = Place(screen: screen, mode: mode)
            defer { place = now }
            return place != now
        }
    }

    /// Moves this group's outputs, too, from the next `apply` on.
    package func include(_ other: OutputGroup) { others.withLock { $0.append(other) } }

    /// Lets a group go that was included.
    package func exclude(_ other: OutputGroup) { others.withLock { $0.removeAll { $0 === other } } }

    /// Gives each output its own delay.
    ///
    /// - Parameter wanted: those that play or are about to; nil takes the group's members.
    /// - Returns: what holds for those of the first group.
    @discardableResult
    package func apply(to wanted: [any AudioOutput]? = nil) -> [Part] {
        profiles.withLock { kept in
            let profiles = kept ?? read()
            kept = profiles
            var outputs = (wanted ?? group.members).map { (group, $0) }
            for other in others.withLock({ $0 }) { outputs += other.members.map { (other, $0) } }
            let known = outputs.compactMap { owner, output in identify(output).map { (owner, output, $0) } }
            let place = place.withLock { $0 }
            let choice = ProfileChoice(
                for: known.map { ProfileChoice.Member(speaker: $0.2.key, route: $0.2.route) }, screen: place.screen,
                mode: place.mode, among: profiles)
            return zip(known, choice.uses).compactMap { pair, use in
                let (owner, output, speaker) = pair
                owner.setDelay(use.correction, of: output)
                guard owner === group else { return nil }
                return group.number(of: output).map { Part(speaker: speaker, use: use, output: output, number: $0) }
            }
        }
    }

    /// What a person may want to know at the beginning; nil when nothing was calibrated.
    package static func remark(_ parts: [Part]) -> String? {
        let words = parts.compactMap { part -> String? in
            guard let profile = part.use.profile else { return nil }
            let place = part.use.isExact ? "" : ", measured with \(profile.key.screen) (\(profile.key.mode))"
            return "'\(part.speaker.name)' \(Decimals.signed(part.use.correction.inMilliseconds, 1)) ms\(place)"
        }
        return words.isEmpty ? nil : "calibrated: " + words.joined(separator: "; ")
    }
}
