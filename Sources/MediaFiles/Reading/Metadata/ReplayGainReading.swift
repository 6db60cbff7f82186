internal import MediaCore

/// Reads the loudness tags of a track or its container. Invalid numbers are ignored.
enum ReplayGainReading {
    /// The maximum gain in dB; damaged tags contain arbitrary values.
    private static let maxDecibels = 60.0
    private static let highestPeak = 100.0
    /// Opus has a target of −23 LUFS (RFC 7845, 5.2.1, by EBU R 128), ReplayGain 2.0 of −18.
    private static let fromR128 = 5.0
    /// The maximum length of a number in bytes.
    private static let longestText = 32

    /// Returns the gains; nil if there are none.
    ///
    /// - Parameter tag: Returns the value of a tag, ignoring the case of its name; nil if missing.
    static func read(_ tag: (String) -> String?) -> ReplayGain? {
        func level(_ kind: String) -> ReplayGain.Level? {
            if let gain = tag("R128_\(kind)_GAIN").flatMap(q78) { return ReplayGain.Level(gain: gain + fromR128) }
            guard let gain = tag("REPLAYGAIN_\(kind)_GAIN").flatMap(decibels) else { return nil }
            return ReplayGain.Level(gain: gain, peak: tag("REPLAYGAIN_\(kind)_PEAK").flatMap(peak))
        }
        let (track, album) = (level("TRACK"), level("ALBUM"))
        return track == nil && album == nil ? nil : ReplayGain(track: track, album: album)
    }

    /// Parses `-6.48 dB`, `+2 dB`, `3.1`.
    private static func decibels(_ text: String) -> Double? {
        guard text.utf8.count <= longestText else { return nil }
        var fields = text.split(separator: " ")
        if let unit = fields.last, unit.lowercased() == "db" { fields.removeLast() }
        var number = fields.count == 1 ? String(fields[0]) : ""
        if number.lowercased().hasSuffix("db") { number.removeLast(2) }
        guard let value = DecimalNumber.signedBillionths(number).map({ Double($0) / 1e9 }), abs(value) <= maxDecibels
        else { return nil }
        return value
    }

    private static func peak(_ text: String) -> Double? {
        guard text.utf8.count <= longestText, let value = DecimalNumber.parse(text), value > 0, value <= highestPeak
        else {
            return nil
        }
        return value
    }

    /// Parses an integer of 1/256 dB that fits into 16 bits.
    private static func q78(_ text: String) -> Double? { Int16(text).map { Double($0) / 256 } }
}
