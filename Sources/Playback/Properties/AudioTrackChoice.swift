public import MediaCore

/// The selection of an item's audio track.
public enum AudioTrackChoice: Sendable, Hashable {
    /// The track for a purpose in the first of these languages that the item has (`["de", "eng"]`), as
    /// `PlayerOptions.audioLanguages` and `audioPurpose` select it.
    case languages([String], purpose: Track.Purpose = .main)
    /// By number; 1 is the first.
    case number(Int)

    /// The first track in this language (`"de"`, `"eng"`).
    public static func language(_ language: String) -> AudioTrackChoice { .languages([language]) }

    /// The first track for this purpose, in the language of the default track if there is one.
    public static func purpose(_ purpose: Track.Purpose) -> AudioTrackChoice { .languages([], purpose: purpose) }

    /// Selects the first track with the language and purpose of this one.
    package init(_ track: Track) {
        let languages = track.language.flatMap { LanguageCode($0).isUndetermined ? nil : [$0] }
        self = .languages(languages ?? [], purpose: track.purpose)
    }

    /// Parses a number, or a purpose and languages in order of preference: `2`, `de,en`, `description`,
    /// `description,de`.
    public init(parsing text: String) throws(ValueError) {
        // ignored: what is no number is a purpose or a language.
        if let number = try? PlayerOptions.track(parsing: text) {
            self = .number(number)
            return
        }
        let first = text.prefix { $0 != "," }
        guard let purpose = Track.Purpose(rawValue: String(first)) else {
            self = .languages(try PlayerOptions.languages(parsing: text))
            return
        }
        let rest = text.dropFirst(first.count + 1)
        self = .languages(rest.isEmpty ? [] : try PlayerOptions.languages(parsing: String(rest)), purpose: purpose)
    }

    /// The requested purpose; `main` for a number.
    package var purpose: Track.Purpose { if case .languages(_, let purpose) = self { purpose } else { .main } }

    /// The text that is parsed to this value.
    package var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .languages(let languages, .main) where !languages.isEmpty: languages.joined(separator: ",")
        case .languages(let languages, let purpose): ([purpose.rawValue] + languages).joined(separator: ",")
        }
    }

    /// What it selects, in the words of a track's name: `German, audio description`. Of several languages the first is
    /// named. Nil for the default track.
    package var label: String? {
        guard case .languages(let languages, let purpose) = self else { return "track \(text)" }
        let labels = [languages.first.flatMap(Track.languageName), purpose.label].compactMap { $0 }
        return labels.isEmpty ? nil : PrintableText.of(labels.joined(separator: ", "))
    }

    /// Returns the track of an item, the default one if there is no match; nil if it has no audio.
    public func track(in summary: MediaSummary) -> Track? {
        switch self {
        case .languages(let languages, let purpose): summary.track(.audio, languages: languages, purpose: purpose)
        case .number(let number): summary.track(.audio, number: number) ?? summary.track(.audio)
        }
    }

    /// Returns a sentence about a film that lacks what is selected, so that another track plays; nil if the track fits.
    ///
    /// - Parameters:
    ///   - track: The track that plays.
    ///   - outputs: The names of the outputs that play it; nil: the main ones.
    package func lack(of track: Track?, on outputs: String? = nil) -> String? {
        guard let track, case .languages(let languages, let purpose) = self else { return nil }
        let missing: String
        // Without a request nothing is missed: a film may have nothing but a flagged track.
        if purpose == .main, languages.isEmpty { return nil }
        if track.purpose != purpose {
            missing = purpose.missing
        } else if let played = track.language.map(LanguageCode.init), !played.isUndetermined,
            let first = languages.first, !languages.contains(where: { LanguageCode($0) == played })
        {
            missing = "sound in \(Track.languageName(first).map(PrintableText.of) ?? "this language")"
        } else {
            return nil
        }
        let label = AudioTrackChoice(track).label ?? "its usual sound"
        return "This film has no \(missing); "
            + (outputs.map { "\($0) plays \(label) instead." } ?? "\(label) plays instead.")
    }
}

/// Identifies an additional audio track of a player while it plays.
public struct AddedAudioID: Sendable, Hashable {
    let number: Int
}
