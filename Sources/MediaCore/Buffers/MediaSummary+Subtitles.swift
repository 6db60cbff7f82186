extension MediaSummary {
    /// Returns the default subtitle track, by mpv's rules:
    ///
    /// 1. the track with the requested number, and no other;
    /// 2. otherwise the first requested language that exists: normal before forced tracks, then those for the hearing
    ///    impaired, commentary last; among equals the default track, then the first;
    /// 3. otherwise an external file that is marked as default, because it has exactly the item's name or was
    ///    user-provided;
    /// 4. otherwise a track of the item that is marked as default, unless it is for a special purpose;
    /// 5. otherwise a forced track in the language of the audio;
    /// 6. otherwise none.
    ///
    /// - Parameters:
    ///   - number: position among the subtitle tracks, from 1.
    ///   - languages: requested languages in order of preference, ISO 639 codes of two or three letters, regions
    ///     ignored.
    ///   - audioLanguage: language of the selected audio track, if known.
    /// - Returns: nil for no subtitles, also if the requested number does not exist.
    public func subtitleTrack(number: Int? = nil, languages: [String] = [], audioLanguage: String? = nil) -> Track? {
        let all = tracks.filter { $0.kind == .subtitle }
        if let number { return all.first { $0.number == number } }
        for language in languages {
            let wanted = LanguageCode(language)
            let spoken = all.filter { $0.language.map(LanguageCode.init) == wanted }
            if let track = spoken.min(by: { Self.rank($0) < Self.rank($1) }) { return track }
        }
        if let track = all.first(where: { $0.isExternal && $0.isDefault }) { return track }
        if let track = all.first(where: { $0.isDefault && !$0.isSpecialPurpose }) { return track }
        guard let heard = audioLanguage.map(LanguageCode.init) else { return nil }
        return all.first { $0.isForced && $0.language.map(LanguageCode.init) == heard }
    }

    /// Returns the rank of a track for `min`, which returns the first of equal ones.
    private static func rank(_ track: Track) -> Int {
        let purpose = track.isSpecialPurpose ? 3 : track.isForHearingImpaired ? 2 : track.isForced ? 1 : 0
        return purpose * 2 + (track.isDefault ? 0 : 1)
    }
}
