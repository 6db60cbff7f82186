/// A language code in canonical form, so that two notations of a language compare equal.
///
/// Media contain ISO 639-2 bibliographic (`ger`) or terminologic (`deu`) codes, or BCP 47 tags (`de-AT`); users enter
/// any of them. Regions and scripts are ignored.
public struct LanguageCode: Hashable, Sendable {
    /// The terminologic ISO 639-2 code if known, otherwise the lower-case primary subtag.
    public let code: String

    /// Parses a code or tag; any text is accepted.
    public init(_ text: String) {
        let primary = text.lowercased().prefix { $0 != "-" && $0 != "_" }
        code = Self.threeLetters[String(primary)] ?? String(primary)
    }

    /// True for codes with a name; other codes may be languages as well.
    package var isKnown: Bool { name != nil }

    /// The English name of the language in ISO 639; nil for codes that are not listed.
    public var name: String? { Self.names[code] }

    /// True for ISO 639-2 codes without a language: undetermined, multiple, uncoded, no linguistic content.
    package var isUndetermined: Bool { ["und", "mul", "mis", "zxx"].contains(code) }

    private static let names: [String: String] = [
        "afr": "Afrikaans", "ara": "Arabic", "aze": "Azerbaijani", "bel": "Belarusian", "ben": "Bengali",
        "bod": "Tibetan", "bos": "Bosnian", "bul": "Bulgarian", "cat": "Catalan", "ces": "Czech", "cym": "Welsh",
        "dan": "Danish", "deu": "German", "ell": "Greek", "eng": "English", "epo": "Esperanto", "est": "Estonian",
        "eus": "Basque", "fas": "Persian", "fil": "Filipino", "fin": "Finnish", "fra": "French", "gle": "Irish",
        "glg": "Galician", "gsw": "Swiss German", "heb": "Hebrew", "hin": "Hindi", "hrv": "Croatian",
        "hun": "Hungarian", "hye": "Armenian", "ind": "Indonesian", "isl": "Icelandic", "ita": "Italian",
        "jpn": "Japanese", "kan": "Kannada", "kat": "Georgian", "kaz": "Kazakh", "khm": "Khmer", "kor": "Korean",
        "kur": "Kurdish", "lao": "Lao", "lat": "Latin", "lav": "Latvian", "lit": "Lithuanian",
        "ltz": "Luxembourgish", "mal": "Malayalam", "mar": "Marathi", "mkd": "Macedonian", "mlt": "Maltese",
        "mon": "Mongolian", "mri": "Maori", "msa": "Malay", "mya": "Burmese", "nep": "Nepali", "nld": "Dutch",
        "nno": "Norwegian Nynorsk", "nob": "Norwegian Bokmål", "nor": "Norwegian", "pan": "Punjabi", "pol": "Polish",
        "por": "Portuguese", "ron": "Romanian", "rus": "Russian", "sin": "Sinhala", "slk": "Slovak",
        "slv": "Slovenian", "spa": "Spanish", "sqi": "Albanian", "srp": "Serbian", "swa": "Swahili",
        "swe": "Swedish", "tam": "Tamil", "tel": "Telugu", "tha": "Thai", "tur": "Turkish", "ukr": "Ukrainian",
        "urd": "Urdu", "uzb": "Uzbek", "vie": "Vietnamese", "yid": "Yiddish", "yue": "Cantonese", "zho": "Chinese",
    ]

    /// Maps ISO 639-1 codes and differing bibliographic ISO 639-2 codes to terminologic ISO 639-2 codes. Contains the
    /// languages that are most frequent in media; others compare as written.
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
        "vi": "vie", "zh": "zho", "chi": "zho", "bo": "bod", "tib": "bod", "mi": "mri", "mao": "mri", "af": "afr",
        "az": "aze", "eo": "epo", "kn": "kan", "km": "khm", "ku": "kur", "lo": "lao", "la": "lat", "lb": "ltz",
        "ml": "mal", "mr": "mar", "mt": "mlt", "mn": "mon", "ne": "nep", "nn": "nno", "pa": "pan", "si": "sin",
        "sw": "swa", "uz": "uzb", "yi": "yid",
    ]
}
