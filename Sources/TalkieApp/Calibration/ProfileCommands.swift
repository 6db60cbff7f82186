package import MediaCore
internal import Profiles
internal import Storage

/// Implements `talkie profile`: lists, removes, exports and imports calibration profiles.
package struct ProfileCommands {
    private let store: ProfileStore

    package init() { self.init(store: ProfileStore()) }
    init(store: ProfileStore) { self.store = store }

    /// Sentences about unreadable files.
    package var notes: [String] { store.all().notes }

    /// Returns the profiles as text, one paragraph each, or a sentence if there are none; or as JSON.
    package func list(json isJSON: Bool) -> String {
        let profiles = store.all().profiles
        if isJSON { return ProfileExchange.json(profiles).formatted }
        guard !profiles.isEmpty else {
            return "Nothing has been calibrated yet; talkie calibrate SPEAKER measures a speaker.\n"
        }
        return profiles.map { profile in
            guard profile.key.isOfUnknownSink else { return profile.text }
            return profile.text
                + "    talkie calibrate local measures it again, talkie profile forget \(profile.key.speaker) removes it\n"
        }.joined()
    }

    /// Removes the profiles of a speaker. Returns a sentence for the user.
    ///
    /// - Parameter speaker: A name, identifier or key.
    /// - Throws: `failed` if there are none.
    package func forget(_ speaker: String, screen: String? = nil) throws(TalkieError) -> String {
        let meant = store.all().profiles.filter { $0.isOf(speaker) && (screen == nil || $0.key.screen == screen) }
        guard !meant.isEmpty else {
            throw TalkieError(
                .failed,
                "no profile is stored for '\(speaker)'; talkie profile list lists all")
        }
        for profile in meant { try store.forget(profile.key) }
        let names = Set(meant.map(\.speakerName)).sorted().map { "'\($0)'" }.joined(separator: " and ")
        return "Removed \(meant.count) profile\(meant.count == 1 ? "" : "s") of \(names).\n"
    }

    /// Exports all profiles.
    ///
    /// - Parameter path: The file; nil: the text is returned for standard output.
    /// - Throws: `failed` if the file cannot be written.
    package func export(to path: String?) throws(TalkieError) -> String {
        let profiles = store.all().profiles
        let text = ProfileExchange.json(profiles).formatted
        guard let path else { return text }
        try OutputFile.write(text, to: path, what: "the export")
        return Self.exported(profiles.count, to: path)
    }

    static func exported(_ count: Int, to path: String) -> String {
        "Wrote \(count) profile\(count == 1 ? "" : "s") to '\(path)'.\n"
    }

    /// Imports profiles exported by another computer, replacing those with equal keys. An invalid file changes nothing.
    ///
    /// - Throws: `cannotOpen` for a file that is no export; `notPermitted` or `failed` if the profiles cannot be
    ///   stored.
    package func importProfiles(from path: String) throws(TalkieError) -> String {
        let profiles = try Self.profiles(in: path)
        try store(profiles)
        return Self.imported(profiles, from: path)
    }

    /// Stores profiles.
    func store(_ profiles: [LatencyProfile]) throws(TalkieError) { try store.store(profiles) }

    static func imported(_ profiles: [LatencyProfile], from path: String) -> String {
        "Imported \(profiles.count) profile\(profiles.count == 1 ? "" : "s") from '\(path)'.\n"
    }

    /// Reads an exported file.
    static func profiles(in path: String) throws(TalkieError) -> [LatencyProfile] {
        let bytes = try InputBytes.read(path, maxBytes: ProfileExchange.largestFile, what: "the export")
        do { return try ProfileExchange.read(bytes) } catch {
            guard case .unreadable(let why) = error else { return [] }
            throw TalkieError(.cannotOpen, "'\(path)' \(why); talkie profile export writes one; nothing was changed")
        }
    }
}
