public import MediaCore

extension Track {
    /// Returns a description for the user: `3 of 3, Russian, forced`.
    package func description(among count: Int) -> String {
        (["\(number) of \(count)", languageName, title, purposeLabel].compactMap { $0 } + subtitleLabels)
            .joined(separator: ", ")
    }

    /// The purpose in words: `audio description`. Nil for a main track, or if the title says it.
    package var purposeLabel: String? {
        purpose.label.flatMap { label in title?.lowercased().contains(label) == true ? nil : label }
    }

    /// What distinguishes a subtitle track from others of its language: `forced`, `for the hard of hearing`.
    package var subtitleLabels: [String] {
        (isForced ? ["forced"] : []) + (isForHearingImpaired ? ["for the hard of hearing"] : [])
    }

    /// The language in English, with its region or script, `Portuguese (BR)`. An unknown tag is returned unchanged; nil
    /// if none is stated.
    package var languageName: String? { language.flatMap { Self.languageName($0) } }

    /// Returns the name of a language by its tag; nil for one without a language.
    package static func languageName(_ language: String) -> String? {
        guard !language.isEmpty else { return nil }
        let code = LanguageCode(language)
        if code.isUndetermined { return nil }
        guard let name = code.name else { return language }
        let region = language.drop { $0 != "-" && $0 != "_" }.dropFirst()
        return region.isEmpty ? name : "\(name) (\(region))"
    }
}

extension Track.Purpose {
    /// Parses a raw value.
    public init(parsing text: String) throws(ValueError) {
        guard let purpose = Self(rawValue: text) else {
            throw ValueError("the track must be one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = purpose
    }

    /// The name in lists: `audio description`. Nil for `main`.
    package var label: String? {
        switch self {
        case .main: nil
        case .description: "audio description"
        case .hearingImpaired: "for the hard of hearing"
        case .commentary: "commentary"
        case .karaoke: "karaoke"
        case .effects: "music and effects"
        }
    }

    /// The name in a sentence about a film that lacks such a track.
    package var missing: String {
        switch self {
        case .main: "main sound track"
        case .hearingImpaired: "sound for the hard of hearing"
        default: label ?? ""
        }
    }
}
