internal import MediaCore

/// `talkie profile`: lists, forgets, exports and imports what calibrations found out.
public struct ProfileDesk {
    private let store: ProfileStore

    public init() { self.init(store: ProfileStore()) }
    init(store: ProfileStore) { self.store = store }

    /// Sentences about files that could not be read.
    public var notes: [String] { store.all().notes }

    /// - Returns: one paragraph for each profile, or a sentence that there are none.
    public func list(json isJSON: Bool) -> String {
        let profiles = store.all().profiles
        if isJSON { return ProfileExchange.json(profiles).formatted }
        guard !profiles.isEmpty else {
            return "Nothing has been calibrated yet; talkie calibrate SPEAKER measures a speaker.\n"
        }
        return profiles.map(\.text).joined()
    }

    /// - Parameter speaker: by name, id or key.
    /// - Throws: status 1 when nothing is kept for it.
    public func forget(_ speaker: String, screen: String? = nil) throws(PlayerFailure) -> String {
        let meant = store.all().profiles.filter { $0.isOf(speaker) && (screen == nil || $0.key.screen == screen) }
        guard !meant.isEmpty else {
            throw PlayerFailure(
                exitStatus: ExitStatus.failed,
                message: "nothing is kept for '\(speaker)'; talkie profile list shows what is")
        }
        for profile in meant { try store.forget(profile.key) }
        let names = Set(meant.map(\.speakerName)).sorted().map { "'\($0)'" }.joined(separator: " and ")
        return "Forgot \(meant.count) profile\(meant.count == 1 ? "" : "s") of \(names).\n"
    }

    /// - Parameter path: nil gives the text back for standard output.
    /// - Throws: status 1 when the file cannot be written.
    public func export(to path: String?) throws(PlayerFailure) -> String {
        let profiles = store.all().profiles
        let text = ProfileExchange.json(profiles).formatted
        guard let path else { return text }
        try OutputFile.write(text, to: path, what: "the export")
        return "Wrote \(profiles.count) profile\(profiles.count == 1 ? "" : "s") to '\(path)'.\n"
    }

    /// Takes in what another computer exported; profiles with equal keys are replaced. All or none are understood.
    ///
    /// - Throws: 66 for what is no export, 77 or 1 when it cannot be kept.
    public func importProfiles(from path: String) throws(PlayerFailure) -> String {
        let bytes = try InputBytes.read(path, most: ProfileExchange.largestFile, what: "the export")
        let profiles: [LatencyProfile]
        do { profiles = try ProfileExchange.read(bytes) } catch {
            guard case .unreadable(let why) = error else { return "" }
            throw PlayerFailure(exitStatus: ExitStatus.noInput, message: "'\(path)' \(why); nothing was changed")
        }
        try store.keep(profiles)
        return "Took in \(profiles.count) profile\(profiles.count == 1 ? "" : "s") from '\(path)'.\n"
    }
}

extension LatencyProfile {
    /// A paragraph for a terminal.
    var text: String {
        var lines = ["\(speakerName)  \(key.speaker)  \(key.route)"]
        if key.isOfUnknownSink {
            lines.append(
                "    kept under ALSA's name for a card, which does not say where it was heard: applied to nothing; "
                    + "talkie calibrate local measures anew, talkie profile forget \(key.speaker) forgets it")
        }
        if !key.screen.isEmpty || !key.mode.isEmpty { lines.append("    with \(key.screen), \(key.mode)") }
        if let offset {
            lines.append(
                "    sound \(Decimals.signed(offset, 2)) ms against picture, ± \(Decimals.text(halfWidth, 2)) ms (95 %), "
                    + "one event scatters by \(Decimals.text(sigma, 2)) ms, \(events) events, by \(way)")
        }
        if let room {
            lines.append("    \(Decimals.signed(room.behindFirst, 2)) ms behind the first speaker of run \(room.run)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
