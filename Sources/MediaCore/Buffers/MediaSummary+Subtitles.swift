extension MediaSummary {
    /// The subtitles that a viewer expects, as mpv chooses them:
    ///
    /// 1. the track with the number asked for, and no other;
    /// 2. else the first language wanted that exists: ordinary ones before forced ones, those before such for the hearing
    ///    impaired, and commentary last; of equals the one marked as default, then the first;
    /// 3. else a file beside the film that is marked as default, which says that it has exactly the film's name or was named;
    /// 4. else a track of the film that its author marked as default, unless it is for a special purpose;
    /// 5. else a forced one in the language of the sound;
    /// 6. else none.
    ///
    /// - Parameters:
    ///   - number: position among the tracks of subtitles, from 1.
    ///   - languages: wanted languages, most wanted first, as ISO 639 codes of two or three letters, regions ignored.
    ///   - audioLanguage: language of the sound that is played, when known.
    /// - Returns: nil for no subtitles; a number that does not exist gives nil, too.
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

    /// Smaller is more likely to be meant. The first of equals is the smallest, because `min` takes it.
    private static func rank(_ track: Track) -> Int {
        let purpose = track.isSpecialPurpose ? 3 : track.isForHearingImpaired ? 2 : track.isForced ? 1 : 0
        return purpose * 2 + (track.isDefault ? 0 : 1)
    }
}
