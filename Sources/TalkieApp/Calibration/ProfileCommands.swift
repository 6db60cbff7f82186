package import MediaCore
internal import Profiles
internal import Storage

/// `talkie profile`: lists, forgets, exports and imports what calibrations found out.
package struct ProfileCommands {
    private let store: ProfileStore

    package init() { self.init(store: ProfileStore()) }
    init(store: ProfileStore) { self.store = store }

    /// Sentences about files that could not be read.
    package var notes: [String] { store.all().notes }

    /// - Returns: one paragraph for each profile, or a sentence that there are none.
    package func list(json isJSON: Bool) -> String {
        let profiles = store.all().profiles
        if isJSON { return ProfileExchange.json(profiles).formatted }
        guard !profiles.isEmpty else {
            return "Nothing has been calibrated yet; talkie calibrate SPEAKER measures a speaker.\n"
        }
        return profiles.map(\.text).joined()
    }

    /// - Parameter speaker: by name, id or key.
    /// - Throws: status 1 when nothing is kept for it.
    package func forget(_ speaker: String, screen: String? = nil) throws(TalkieError) -> String {
        let meant = store.all().profiles.filter { $0.isOf(speaker) && (screen == nil || $0.key.screen == screen) }
        guard !meant.isEmpty else {
            throw TalkieError(
                .failed,
                "nothing is kept for '\(speaker)'; talkie profile list shows what is")
        }
        for profile in meant { try store.forget(profile.key) }
        let names = Set(meant.map(\.speakerName)).sorted().map { "'\($0)'" }.joined(separator: " and ")
        return "Forgot \(meant.count) profile\(meant.count == 1 ? "" : "s") of \(names).\n"
    }

    /// - Parameter path: nil gives the text back for standard output.
    /// - Throws: status 1 when the file cannot be written.
    package func export(to path: String?) throws(TalkieError) -> String {
        let profiles = store.all().profiles
        let text = ProfileExchange.json(profiles).formatted
        guard let path else { return text }
        try OutputFile.write(text, to: path, what: "the export")
        return "Wrote \(profiles.count) profile\(profiles.count == 1 ? "" : "s") to '\(path)'.\n"
    }

    /// Takes in what another computer exported; profiles with equal keys are replaced. All or none are understood.
    ///
    /// - Throws: 66 for what is no export, 77 or 1 when it cannot be kept.
    package func importProfiles(from path: String) throws(TalkieError) -> String {
        let bytes = try InputBytes.read(path, most: ProfileExchange.largestFile, what: "the export")
        let profiles: [LatencyProfile]
        do { profiles = try ProfileExchange.read(bytes) } catch {
            guard case .unreadable(let why) = error else { return "" }
            throw TalkieError(.cannotOpen, "'\(path)' \(why); nothing was changed")
        }
        try store.keep(profiles)
        return "Took in \(profiles.count) profile\(profiles.count == 1 ? "" : "s") from '\(path)'.\n"
    }
}
