package import MediaCore

/// The plain-text bodies of `SET_PARAMETER`.
package enum TextParameters {
    /// Returns the body that sets the volume in dB, clamped to −144…0.
    package static func volume(decibels: Double) -> [UInt8] {
        Array("volume: \(fixed(max(-144, min(0, decibels))))\r\n".utf8)
    }

    /// Returns the body with the progress of the item, as RTP timestamps of the stream.
    ///
    /// - Parameters:
    ///   - start: The timestamp of the item's beginning.
    ///   - now: The timestamp of the current position.
    ///   - end: The timestamp of the item's end; equal to `now` if unknown.
    package static func progress(start: RTPTimestamp, now: RTPTimestamp, end: RTPTimestamp) -> [UInt8] {
        Array("progress: \(start.rawValue)/\(now.rawValue)/\(end.rawValue)\r\n".utf8)
    }

    /// Returns the timestamps of an untrusted value of `progress`; nil if it is malformed.
    package static func progress(
        in value: some StringProtocol
    ) -> (start: RTPTimestamp, now: RTPTimestamp, end: RTPTimestamp)? {
        let numbers = value.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).map { UInt32($0) }
        guard numbers.count == 3, let start = numbers[0], let now = numbers[1], let end = numbers[2] else { return nil }
        return (RTPTimestamp(rawValue: start), RTPTimestamp(rawValue: now), RTPTimestamp(rawValue: end))
    }

    /// Formats six decimals, independent of the locale.
    static func fixed(_ value: Double) -> String {
        let scaled = Int64(clamping: value * 1e6, in: -1 << 60...1 << 60)
        let digits = String(scaled.magnitude % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - digits.count)
        return "\(scaled < 0 ? "-" : "")\(scaled.magnitude / 1_000_000).\(zeros)\(digits)"
    }
}

/// Track metadata in DAAP's tagged format: four letters, a length, a value. For receivers with a display, and for those
/// that stay silent until they have received any.
package struct TrackMetadata: Hashable, Sendable {
    /// Maximum number of bytes of a text: no display shows more, and texts in files are unbounded.
    private static let maxText = 1024
    /// Maximum number of items that are read from a body.
    private static let maxItems = 256

    package var title: String
    package var artist: String
    package var album: String
    package var genre: String
    /// The number of the track on its album; 1 if it is unknown, as other senders state.
    package var number: UInt16
    /// Nil: unknown.
    package var duration: Duration?

    package init(
        title: String, artist: String = "", album: String = "", genre: String = "", number: UInt16 = 1,
        duration: Duration? = nil
    ) {
        (self.title, self.artist, self.album, self.genre) = (title, artist, album, genre)
        (self.number, self.duration) = (number, duration)
    }

    /// Reads an untrusted body; nil if it has no title.
    package init?(body: [UInt8]) {
        var rest = body[...]
        func next() -> (tag: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
            guard rest.count >= 8 else { return nil }
            let start = rest.startIndex
            let count = rest[start + 4..<start + 8].reduce(0) { $0 << 8 | Int($1) }
            guard count <= rest.count - 8 else { return nil }
            defer { rest = rest.dropFirst(8 + count) }
            return (rest[start..<start + 4], rest[start + 8..<start + 8 + count])
        }
        func text(_ value: ArraySlice<UInt8>) -> String { String(decoding: value.prefix(Self.maxText), as: UTF8.self) }
        guard let list = next(), list.tag.elementsEqual("mlit".utf8) else { return nil }
        rest = list.value
        var title: String?
        (artist, album, genre, number) = ("", "", "", 1)
        for _ in 0..<Self.maxItems {
            guard let item = next() else { break }
            switch String(decoding: item.tag, as: UTF8.self) {
            case "minm": title = text(item.value)
            case "asar": artist = text(item.value)
            case "asal": album = text(item.value)
            case "asgn": genre = text(item.value)
            case "astn" where item.value.count == 2: number = item.value.reduce(0) { $0 << 8 | UInt16($1) }
            case "astm" where item.value.count == 4:
                duration = .milliseconds(item.value.reduce(0) { $0 << 8 | Int64($1) })
            default: break
            }
        }
        guard let title else { return nil }
        self.title = title
    }

    /// The body: title, artist, album, genre, track number, duration.
    package var body: [UInt8] {
        func item(_ tag: String, _ value: [UInt8]) -> [UInt8] { Array(tag.utf8) + Self.bytes(value.count) + value }
        func text(_ text: String) -> [UInt8] {
            var bytes = Array(text.utf8.prefix(Self.maxText))
            // Removes a character that the limit has cut.
            while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
            return bytes
        }
        // 2: an audio item.
        var fields =
            item("mikd", [2]) + item("minm", text(title)) + item("asar", text(artist)) + item("asal", text(album))
        if !genre.isEmpty { fields += item("asgn", text(genre)) }
        fields += item("astn", [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)])
        if let duration { fields += item("astm", Self.bytes(Int(clamping: duration.wholeNanoseconds / 1_000_000))) }
        return item("mlit", fields)
    }

    /// Returns a number as four bytes, big-endian.
    private static func bytes(_ number: Int) -> [UInt8] {
        let number = UInt32(clamping: number)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
