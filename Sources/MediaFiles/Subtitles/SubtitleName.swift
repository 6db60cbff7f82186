internal import MediaCore

/// Parses the words in a subtitle file's name: `en`, `forced`, `sdh`, `English`, and others.
struct SubtitleName {
    var language: String?
    var title: String?
    var isForced = false
    var isForHearingImpaired = false
    /// Whether all words were recognized.
    var isPlain = true

    /// Parses a name.
    ///
    /// - Parameter text: The name without its extension, and without the film's name as a prefix.
    init(_ text: some StringProtocol) {
        var others: [String] = []
        var meansEither = false
        let separators: Set<Character> = [".", " ", "_", "(", ")", "[", "]", ","]
        for token in text.split(whereSeparator: separators.contains).flatMap({ Self.subtags(String($0)) }) {
            switch token.lowercased() {
            case "forced", "foreign": isForced = true
            case "sdh", "cc", "hearing": isForHearingImpaired = true
            // Hindi, or hearing impaired.
            case "hi": meansEither = true
            case "subs", "sub", "subtitles", "impaired", "full": break
            case let lower where language == nil && Self.language(lower) != nil:
                language = lower.contains("-") ? token : Self.language(lower)
            case let lower where lower.allSatisfy(\.isNumber): break
            default:
                others.append(token)
                isPlain = false
            }
        }
        if meansEither {
            if language == nil { language = "hi" } else { isForHearingImpaired = true }
        }
        title = others.isEmpty ? nil : others.joined(separator: " ")
    }

    /// Splits at hyphens: `pt-BR` is one word, `forced-en` two.
    private static func subtags(_ token: String) -> [String] {
        let subtags = token.split(separator: "-").map(String.init)
        if subtags.count == 2, (2...3).contains(subtags[0].count), language(subtags[0].lowercased()) != nil,
            (2...4).contains(subtags[1].count), subtags[1].allSatisfy({ $0.isLetter || $0.isNumber }),
            language(subtags[1].lowercased()) == nil || subtags[1].allSatisfy({ $0.isUppercase })
        {
            return [token]
        }
        return subtags
    }

    private static func language(_ token: String) -> String? {
        if let code = names[token] { return code }
        let primary = token.prefix { $0 != "-" }
        guard (2...3).contains(primary.count) else { return nil }
        return LanguageCode(String(primary)).isKnown ? token : nil
    }

    /// English names and native names in Latin letters, mapped to ISO 639-1.
    private static let names: [String: String] = [
        "arabic": "ar", "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs",
        "danish": "da", "dansk": "da", "dutch": "nl", "nederlands": "nl", "english": "en", "estonian": "et",
        "finnish": "fi", "suomi": "fi", "french": "fr", "francais": "fr", "français": "fr", "german": "de",
        "deutsch": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "magyar": "hu",
        "icelandic": "is", "indonesian": "id", "italian": "it", "italiano": "it", "japanese": "ja", "korean": "ko",
        "latvian": "lv", "lithuanian": "lt", "malay": "ms", "norwegian": "no", "norsk": "no", "persian": "fa",
        "farsi": "fa", "polish": "pl", "polski": "pl", "portuguese": "pt", "portugues": "pt", "português": "pt",
        "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk", "slovenian": "sl", "spanish": "es",
        "espanol": "es", "español": "es", "castellano": "es", "swedish": "sv", "svenska": "sv", "thai": "th",
        "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
    ]
}
