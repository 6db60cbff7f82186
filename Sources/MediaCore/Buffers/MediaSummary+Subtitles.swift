extension MediaSummary {
    public func subtitleTrack(number: Int? = nil, languages: [String] = [], audioLanguage: String? = nil) -> Track? {
        let all = tracks.filter { $0.kind == .subtitle }
        if let number { return all.first { $0.number == number } }
        for language in languages {
            let wanted = LanguageCode(language)
            if let track = all.first(where: { $0.language.map(LanguageCode.init) == wanted }) { return track }
        }
        return all.first { $0.isExternal } ?? all.first { $0.isDefault }
    }
}
