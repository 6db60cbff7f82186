public import MediaCore
public import SyncRendering

extension PlayerOptions.Loop {
    /// Parses a number of repetitions: `3`, `inf` or `yes` for unlimited, `no` for none.
    public init(parsing text: String) throws(ValueError) {
        switch text {
        case "inf", "yes": self = .forever
        case "no": self = .times(0)
        default:
            guard let count = DecimalNumber.integer(text) else {
                throw ValueError("a number of repetitions must be a whole number, inf or no")
            }
            self = .times(count)
        }
    }
}

extension PlayerOptions {
    /// The supported speeds, in media seconds per second.
    package static let speedRange = AudioRenderer.speedRange
    /// The maximum absolute audio delay.
    package static let longestAudioDelay = Duration.seconds(600)

    /// Parses a speed in media seconds per second, 0.25 to 4.
    public static func speed(parsing text: String) throws(ValueError) -> Double {
        guard let speed = DecimalNumber.parse(text), speedRange.contains(speed) else {
            throw ValueError("the speed must be a number from 0.25 to 4")
        }
        return speed
    }

    /// Parses a volume from 0 to 130, or to the given maximum.
    public static func volume(parsing text: String, atMost limit: Double = VolumeCurve.maxVolume) throws(ValueError)
        -> Double
    {
        guard let volume = DecimalNumber.parse(text), volume <= limit else {
            throw ValueError("the volume must be a number from 0 to \(Int(limit))")
        }
        return volume
    }

    /// The maximum dialogue enhancement in decibels, that of AC-4 decoders (ETSI TS 103 190-1, dialogue enhancement: at
    /// most 12 dB).
    package static let maxDialogueLift = 12.0

    /// Returns the speed clamped to `speedRange`; 1 for no number.
    static func held(speed: Double) -> Double {
        speed.isNaN ? 1 : max(speedRange.lowerBound, min(speedRange.upperBound, speed))
    }

    static func held(dialogueLift decibels: Double) -> Double { max(0, min(maxDialogueLift, decibels)) }

    /// Parses a dialogue lift in decibels, 0 to 12.
    package static func dialogueLift(parsing text: String) throws(ValueError) -> Double {
        guard let value = DecimalNumber.parse(text), value <= maxDialogueLift else {
            throw ValueError("the dialogue gain must be 0 to \(Int(maxDialogueLift)) decibels")
        }
        return value
    }

    /// The target loudness of programmes in LUFS (EBU R 128, recommendation c).
    package static let programmeLoudness = -23.0

    /// Parses a loudness in LUFS, −40 to −10. Below, most media would be masked by noise; above there is no headroom.
    public static func loudness(parsing text: String) throws(ValueError) -> Double {
        guard let value = DecimalNumber.signedBillionths(text).map({ Double($0) / 1e9 }), (-40...(-10)).contains(value)
        else { throw ValueError("the loudness must be a number of LUFS from -40 to -10") }
        return value
    }

    /// Parses a gain in decibels, −60 to 60.
    public static func decibels(parsing text: String) throws(ValueError) -> Double {
        guard let value = DecimalNumber.signedBillionths(text).map({ Double($0) / 1e9 }), abs(value) <= 60 else {
            throw ValueError("the gain must be a number of decibels from -60 to 60")
        }
        return value
    }

    /// Parses a delay in seconds, positive or negative.
    package static func audioDelay(parsing text: String) throws(ValueError) -> Duration {
        guard let nanoseconds = DecimalNumber.signedBillionths(text) else {
            throw ValueError("the delay must be a number of seconds such as 0.08 or -0.1")
        }
        let delay = Duration.nanoseconds(nanoseconds)
        guard delay <= longestAudioDelay, delay >= .zero - longestAudioDelay else {
            throw ValueError("the delay must be at most \(longestAudioDelay.components.seconds) seconds")
        }
        return delay
    }

    /// Parses a track number, 1 for the first of its kind.
    public static func track(parsing text: String) throws(ValueError) -> Int {
        guard let number = DecimalNumber.integer(text), (1...65535).contains(number) else {
            throw ValueError("a track must be a number; 1 is the first of its kind")
        }
        return number
    }

    /// Parses languages in order of preference: `de,en`.
    public static func languages(parsing text: String) throws(ValueError) -> [String] {
        let languages = text.split(separator: ",", omittingEmptySubsequences: true).map(String.init)
        guard !languages.isEmpty, languages.allSatisfy({ $0.utf8.count <= 35 }) else {
            throw ValueError("languages must be tags such as de or eng, separated by commas")
        }
        return languages
    }
}

extension PlayerOptions {
    /// Returns the languages of a session in order of preference: those of `LANGUAGE`, then that of the first of
    /// `LC_ALL`, `LC_MESSAGES` and `LANG` that is set. The locales `C` and `POSIX` have none.
    ///
    /// - Parameter variable: Returns an environment variable.
    package static func userLanguages(_ variable: (String) -> String?) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }
        let preferred =
            (variable("LANGUAGE") ?? "").split(separator: ":").map(String.init) + (locale.map { [$0] } ?? [])
        var languages: [String] = []
        for word in preferred.prefix(maxUserLanguages) {
            // A locale is `language[_territory][.codeset][@modifier]`.
            let tag = String(word.prefix { $0 != "." && $0 != "@" }).replacing("_", with: "-")
            guard !["", "C", "POSIX"].contains(tag), tag.utf8.count <= 35 else { continue }
            if !languages.contains(where: { LanguageCode($0) == LanguageCode(tag) }) { languages.append(tag) }
        }
        return languages
    }

    private static let maxUserLanguages = 32
}

extension VideoRenderingOptions {
    /// Parses a luminance in cd/m², 10 to 10000; `auto` is 0.
    package static func targetPeak(parsing text: String) throws(ValueError) -> Double {
        if text == "auto" { return 0 }
        guard let peak = DecimalNumber.parse(text), targetPeaks.contains(peak) else {
            throw ValueError("the peak luminance must be a number from 10 to 10000, or auto")
        }
        return peak
    }
}
