package import MediaCore

extension Track {
    /// Returns a description for the user: `3 of 3, Russian, forced`.
    package func description(among count: Int) -> String {
        (["\(number) of \(count)", languageName, title].compactMap { $0 } + purpose).joined(separator: ", ")
    }

    /// What distinguishes a subtitle track from others of its language: `forced`, `for the hard of hearing`.
    package var purpose: [String] {
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
