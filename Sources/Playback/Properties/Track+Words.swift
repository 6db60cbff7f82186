package import MediaCore

extension Track {
    /// Returns a description for the user: `3 of 3, Russian, commentary`.
    package func description(among count: Int) -> String {
        ["\(number) of \(count)", languageName, title].compactMap { $0 }.joined(separator: ", ")
    }

    /// The language in English, with its region or script, `Portuguese (BR)`. An unknown tag is returned unchanged; nil
    /// if none is stated.
    package var languageName: String? {
        guard let language, !language.isEmpty else { return nil }
        let code = LanguageCode(language)
        if code.isUndetermined { return nil }
        guard let name = code.name else { return language }
        let region = language.drop { $0 != "-" && $0 != "_" }.dropFirst()
        return region.isEmpty ? name : "\(name) (\(region))"
    }
}
