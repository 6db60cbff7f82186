internal import AirPlay
internal import LocalOutput
internal import MediaCore
internal import SyncRendering

/// What calibrations found out, applied to the outputs of a session: one speaker through the player, each member of a
/// group by itself.
struct RouteCalibration: Sendable {
    private let members: [CalibrationRecord.Speaker]
    private let group: SpeakerGroup?
    private let profiles: [LatencyProfile]

    /// - Parameters:
    ///   - members: the speakers in the order of the output's members.
    ///   - profiles: everything that is kept; empty where the user's own delay takes its place.
    init(_ members: [CalibrationRecord.Speaker], output: (any AudioOutput)?, profiles: [LatencyProfile]) {
        self.members = members
        group = output as? SpeakerGroup
        self.profiles = profiles
    }

    /// What holds on a screen; nil while it is not known which there will be.
    func choice(screen: String?, mode: String?) -> ProfileChoice {
        ProfileChoice(
            for: members.map { ProfileChoice.Member(speaker: $0.key, route: $0.route) }, screen: screen, mode: mode,
            among: profiles)
    }

    /// Gives each member of a group its own delay.
    ///
    /// - Returns: the delay that the player gives to an output that is no group.
    func apply(_ choice: ProfileChoice) -> Duration {
        guard let group else { return choice.uses.first?.correction ?? .zero }
        for (index, use) in choice.uses.enumerated() { group.setDelay(use.correction, ofMember: index) }
        return .zero
    }

    /// Where each speaker's offset comes from, as it is now.
    func ledgers(_ choice: ProfileChoice, output: any AudioOutput) -> [LatencyLedger] {
        let outputs = group?.members ?? [output]
        return zip(zip(members, choice.uses), outputs).map { pair, output in
            LatencyLedger(
                speaker: pair.0.name, route: pair.0.route,
                stated: LatencyLedger.stated(output.latency, isCard: output.kind == .soundCard),
                profile: pair.1.profile, isExact: pair.1.isExact)
        }
    }

    /// What a person may want to know at the beginning; nil when nothing was calibrated.
    func remark(_ choice: ProfileChoice) -> String? {
        let words = zip(members, choice.uses).compactMap { member, use -> String? in
            guard let profile = use.profile else { return nil }
            let place = use.isExact ? "" : ", measured with \(profile.key.screen) (\(profile.key.mode))"
            return "'\(member.name)' \(Decimals.signed(use.correction.inMilliseconds, 1)) ms\(place)"
        }
        return words.isEmpty ? nil : "calibrated: " + words.joined(separator: "; ")
    }
}
