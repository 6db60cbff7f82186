extension MediaSummary {
    /// Returns the default subtitle track. The order:
    ///
    /// 1. the track with the requested number, and no other;
    /// 2. a file that the user named;
    /// 3. the first of the requested `languages` that exists;
    /// 4. an external file in the first of `userLanguages` that has one;
    /// 5. an external file that is marked as default, because it has exactly the item's name;
    /// 6. a track of the item in the first of `userLanguages` that exists, unless the audio is in one of them;
    /// 7. a track of the item that is marked as default, unless it is for a special purpose;
    /// 8. any other external file, unless the audio is in one of `userLanguages` and the file in none of them;
    /// 9. a forced track in the language of the audio, or of the user if that of the audio is unknown;
    /// 10. otherwise none.
    ///
    /// Forced tracks are selected by 2, 3, 7 and 9 only. Among the tracks of a language the complete ones for all
    /// viewers precede those for the hearing impaired, then forced ones, then commentary; external files precede tracks
    /// of the item; the default track precedes others.
    ///
    /// - Parameters:
    ///   - number: position among the subtitle tracks, from 1.
    ///   - languages: requested languages in order of preference, ISO 639 codes of two or three letters, regions
    ///     ignored.
    ///   - userLanguages: the languages of the user's session, in the same notation.
    ///   - audioLanguage: language of the selected audio track, if known.
    /// - Returns: nil for no subtitles, also if the requested number does not exist.
    package func subtitleTrack(
        number: Int? = nil, languages: [String] = [], userLanguages: [String] = [], audioLanguage: String? = nil
    ) -> Track? {
        let all = tracks.filter { $0.kind == .subtitle }
        if let number { return all.first { $0.number == number } }
        func first(in languages: [LanguageCode], where fits: (Track) -> Bool) -> Track? {
            for wanted in languages {
                let written = all.filter { $0.language.map(LanguageCode.init) == wanted && fits($0) }
                if let track = written.min(by: { Self.rank($0) < Self.rank($1) }) { return track }
            }
            return nil
        }
        if let track = all.first(where: \.isUserProvided) { return track }
        if let track = first(in: languages.map(LanguageCode.init), where: { _ in true }) { return track }
        let understood = userLanguages.map(LanguageCode.init)
        let heard = audioLanguage.map(LanguageCode.init).flatMap { $0.isUndetermined ? nil : $0 }
        let isUnderstood = heard.map(understood.contains) ?? false
        let complete = { (track: Track) in !track.isForced && track.purpose == .main }
        if let track = first(in: understood, where: { $0.isExternal && complete($0) }) { return track }
        if let track = all.first(where: { $0.isExternal && $0.isDefault }) { return track }
        if !isUnderstood, let track = first(in: understood, where: complete) { return track }
        if let track = all.first(where: { !$0.isExternal && $0.isDefault && $0.purpose == .main }) { return track }
        let others = all.filter { $0.isExternal && complete($0) && !(isUnderstood && $0.language != nil) }
        if let track = others.min(by: { Self.rank($0) < Self.rank($1) }) { return track }
        return first(in: heard.map { [$0] } ?? understood, where: \.isForced)
    }

    /// Returns the rank of a track for `min`, which returns the first of equal ones.
    private static func rank(_ track: Track) -> Int {
        let purpose = track.purpose != .main ? 3 : track.isForced ? 2 : track.isForHearingImpaired ? 1 : 0
        return purpose * 4 + (track.isExternal ? 0 : 2) + (track.isDefault ? 0 : 1)
    }
}
