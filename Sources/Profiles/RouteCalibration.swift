internal import MediaCore
package import SyncRendering

/// Applies calibrations to the outputs of a player, for each member of the group individually, including members added
/// during playback. Any thread.
package final class RouteCalibration: Sendable {
    /// One output and its calibration.
    package struct CalibratedOutput {
        package let speaker: OutputIdentity
        package let use: ProfileChoice.Use
        let output: any AudioOutput
        /// The member number in the first group, as in events; nil in other groups.
        package let number: Int?

        /// The current contributions to its offset.
        package var ledger: LatencyLedger {
            LatencyLedger(
                speaker: speaker.name, route: speaker.route,
                stated: LatencyLedger.stated(output.latency, isCard: output.kind == .soundCard),
                profile: use.profile, isExact: use.isExact, isPlaceKnown: !speaker.key.isEmpty)
        }
    }

    private struct ScreenMode: Equatable {
        var screen: String?
        var mode: String?
    }

    private let group: OutputGroup
    /// Further groups with other audio.
    private let others = Lock<[OutputGroup]>([])
    private let identify: @Sendable (any AudioOutput) -> OutputIdentity?
    private let read: @Sendable () -> [LatencyProfile]
    private let edition: @Sendable () -> Int64
    private let readEdition = Lock<Int64?>(nil)
    /// The outputs of the last request, which may not have joined the group yet.
    private let wanted = Lock<[any AudioOutput]>([])
    private let screenMode = Lock(ScreenMode())
    /// Stored profiles, nil until read. The lock is held while delays are set, so that of two threads the later choice
    /// is applied last.
    private let profiles = Lock<[LatencyProfile]?>(nil)

    /// Creates a calibration for a group; no delay is set until `apply`.
    ///
    /// - Parameters:
    ///   - identify: returns the identity of an output in profiles; nil if it has none.
    ///   - edition: returns a number that changes with the stored profiles; called before they are read.
    ///   - profiles: returns all stored profiles; empty if the user's own delay replaces them. Called by the first
    ///     `apply` and by `refresh`, and may block on the disk.
    package init(
        _ group: OutputGroup, identify: @escaping @Sendable (any AudioOutput) -> OutputIdentity?,
        edition: @escaping @Sendable () -> Int64 = { 0 }, profiles: @escaping @Sendable () -> [LatencyProfile]
    ) {
        self.group = group
        self.edition = edition
        self.identify = identify
        read = profiles
    }

    /// Sets the screen and mode of the video; nil while unknown.
    ///
    /// - Returns: true if they have changed.
    @discardableResult
    package func setScreen(_ screen: String?, mode: String?) -> Bool {
        screenMode.withLock { screenMode in
            let now = ScreenMode(screen: screen, mode: mode)
            defer { screenMode = now }
            return screenMode != now
        }
    }

    /// Adds a group, from the next `apply` on.
    package func include(_ other: OutputGroup) { others.withLock { $0.append(other) } }

    /// Removes an added group; its delays stay.
    package func exclude(_ other: OutputGroup) { others.withLock { $0.removeAll { $0 === other } } }

    /// Sets the delay of each output.
    ///
    /// - Parameter wanted: outputs that play or are about to; nil means the group's members.
    /// - Returns: the calibrations of the outputs of all groups, without those that never were members of the first.
    @discardableResult
    package func apply(to wanted: [any AudioOutput]? = nil) -> [CalibratedOutput] {
        if let wanted { self.wanted.withLock { $0 = wanted } }
        return profiles.withLock { kept in
            let profiles = kept ?? readStored()
            kept = profiles
            var outputs = (wanted ?? group.members).map { (group, $0) }
            for other in others.withLock({ $0 }) { outputs += other.members.map { (other, $0) } }
            let known = outputs.compactMap { owner, output in identify(output).map { (owner, output, $0) } }
            let screenMode = screenMode.withLock { $0 }
            let choice = ProfileChoice(
                for: known.map {
                    ProfileChoice.Member(speaker: $0.2.key, route: $0.2.route, latency: $0.1.latency)
                },
                screen: screenMode.screen,
                mode: screenMode.mode, among: profiles)
            return zip(known, choice.uses).compactMap { pair, use in
                let (owner, output, speaker) = pair
                owner.setDelay(use.correction, of: output)
                let number = owner === group ? group.number(of: output) : nil
                if owner === group && number == nil { return nil }
                return CalibratedOutput(speaker: speaker, use: use, output: output, number: number)
            }
        }
    }

    private func readStored() -> [LatencyProfile] {
        let now = edition()
        readEdition.withLock { $0 = now }
        return read()
    }

    /// Reads the stored profiles again and sets the delays, if the profiles have changed. Blocks on the disk.
    package func refresh() {
        guard let last = readEdition.withLock({ $0 }), last != edition() else { return }
        profiles.withLock { $0 = nil }
        reapply()
    }

    /// Sets the delays again, also those of outputs that are about to join, after the identity of one has changed.
    package func reapply() {
        // First those that may be about to join, of which some never did; then those that play.
        let wanted = wanted.withLock { $0 }
        if !wanted.isEmpty { apply(to: wanted) }
        apply()
    }

    /// Returns the names of outputs of which an assumed delay is compensated, and which are not calibrated. Of speakers
    /// that compensate their own delay, assumed shares cancel each other.
    package static func uncertain(_ outputs: [CalibratedOutput]) -> [String] {
        outputs.filter { output in
            let latency = output.output.latency
            return output.use.profile == nil && latency.delay != .zero
                && latency.shares.contains { $0.source == .assumed }
        }.map(\.speaker.name)
    }

    /// Returns a summary for the user at the start of playback; nil without calibrations.
    package static func remark(_ outputs: [CalibratedOutput]) -> String? {
        let phrases = outputs.compactMap { output -> String? in
            guard let profile = output.use.profile else { return nil }
            let screen = output.use.isExact ? "" : ", measured with \(profile.key.screen) (\(profile.key.mode))"
            return "'\(output.speaker.name)' \(Decimals.signed(output.use.correction.inMilliseconds, 1)) ms\(screen)"
        }
        return phrases.isEmpty ? nil : "calibrated: " + phrases.joined(separator: "; ")
    }
}
