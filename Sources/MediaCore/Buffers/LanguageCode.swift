/// A language in the one form in which two spellings of it compare equal.
///
/// Films write ISO 639-2 in its bibliographic (`ger`) or terminologic (`deu`) form, or BCP 47 tags (`de-AT`); people
/// type any of them. Regions and scripts are ignored.
public struct LanguageCode: Hashable, Sendable {
    public let code: String

    public init(_ text: String) {
        let primary = text.lowercased().prefix { $0 != "-" && $0 != "_" }
        code = Self.threeLetters[String(primary)] ?? String(primary)
    }

    /// Whether it is one of the languages below; other words may be languages, too.
    package var isKnown: Bool { Self.known.contains(code) }

    private static let known = Set(threeLetters.values)

    /// ISO 639-1 and the bibliographic codes of ISO 639-2 that differ, to the terminologic codes of ISO 639-2, for
    /// the languages that films are most often in; others compare as written.
    private static let threeLetters: [String: String] = [
        "ar": "ara", "be": "bel", "bg": "bul", "bn": "ben", "bs": "bos", "ca": "cat", "cs": "ces", "cze": "ces",
        "cy": "cym", "wel": "cym", "da": "dan", "de": "deu", "ger": "deu", "el": "ell", "gre": "ell", "en": "eng",
        "es": "spa", "et": "est", "eu": "eus", "baq": "eus", "fa": "fas", "per": "fas", "fi": "fin", "fr": "fra",
        "fre": "fra", "ga": "gle", "gl": "glg", "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "hy": "hye",
        "arm": "hye", "id": "ind", "is": "isl", "ice": "isl", "it": "ita", "ja": "jpn", "ka": "kat", "geo": "kat",
        "kk": "kaz", "ko": "kor", "lt": "lit", "lv": "lav", "mk": "mkd", "mac": "mkd", "ms": "msa", "may": "msa",
        "my": "mya", "bur": "mya", "nb": "nob", "nl": "nld", "dut": "nld", "no": "nor", "pl": "pol", "pt": "por",
        "ro": "ron", "rum": "ron", "ru": "rus", "sk": "slk", "slo": "slk", "sl": "slv", "sq": "sqi", "alb": "sqi",
        "sr": "srp", "sv": "swe", "ta": "tam", "te": "tel", "th": "tha", "tr": "tur", "uk": "ukr", "ur": "urd",
        "vi": "vie", "zh": "zho", "chi": "zho", "bo": "bod", "tib": "bod", "mi": "mri", "mao": "mri",
    ]
}
