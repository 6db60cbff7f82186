package import MediaCore

/// When the flight recorder rotates its file, and how many older ones it keeps.
///
/// `t.jsonl` is the current file, `t.jsonl.1` the previous one, and so on.
package struct TimelineRotation: Sendable, Hashable {
    /// Maximum size of a file in bytes, exceeded by up to one second of events; nil: unlimited.
    package var maxSize: Int?
    /// Maximum time covered by a file; nil: unlimited.
    package var maxAge: Duration?
    /// The number of older files to keep.
    package var keep = 5

    /// Minimum size in bytes: one written block; less would rotate every second.
    static let minSizeLimit = LineBuffer.capacity
    /// Largest permitted size in bytes.
    static let maxSizeLimit = 1 << 40
    /// Permitted ages in seconds.
    static let ages: ClosedRange<Double> = 1...(366 * 86_400)
    /// Largest permitted number of older files.
    static let maxKeptFiles = 99

    package init(maxSize: Int? = nil, maxAge: Duration? = nil, keep: Int = 5) {
        (self.maxSize, self.maxAge, self.keep) = (maxSize, maxAge, keep)
    }

    /// Parses a size in bytes, or with suffix KiB, MiB or GiB like mpv: `10MiB`.
    ///
    /// - Throws: `sizeError`.
    package static func size(parsing text: String) throws(ValueError) -> Int {
        guard let size = ByteSize.parse(text), (minSizeLimit...maxSizeLimit).contains(size) else { throw sizeError }
        return size
    }

    /// The message for an invalid size.
    package static let sizeError = ValueError("a size must have the form 10MiB, from 64KiB to 1024GiB")
    /// The message for an invalid age.
    package static let ageError = ValueError(
        "an age must have the form 3600, 30:00 or 24:00:00, from a second to a year")
    /// The message for an invalid number of files.
    package static let keepError = ValueError("0 to \(maxKeptFiles) older files can be kept")

    /// Returns the age as a duration.
    ///
    /// - Throws: `ageError`.
    package static func age(seconds: Double) throws(ValueError) -> Duration {
        guard ages.contains(seconds) else { throw ageError }
        return .seconds(seconds)
    }

    /// Returns the number of files to keep.
    ///
    /// - Throws: `keepError`.
    package static func fileCount(_ number: Int) throws(ValueError) -> Int {
        guard (0...maxKeptFiles).contains(number) else { throw keepError }
        return number
    }

    /// The policy, or nil if neither size nor age is limited.
    var ifBounded: TimelineRotation? { maxSize == nil && maxAge == nil ? nil : self }
}
