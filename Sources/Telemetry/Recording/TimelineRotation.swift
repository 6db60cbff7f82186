package import MediaCore

/// When the flight recorder begins another file, and how many older ones stay: `t.jsonl` is written, `t.jsonl.1` is the one before it, and so on.
package struct TimelineRotation: Sendable, Hashable {
    /// Bytes of one file; a second's worth of events may be more. Nil for any number.
    package var maxSize: Int?
    /// How long one file is written.
    package var maxAge: Duration?
    /// Files beside the one that is written.
    package var keep = 5

    /// What is handed to the kernel at once; less would begin a file for each second.
    package static let leastSize = LineBuffer.capacity
    package static let mostSize = 1 << 40
    package static let ages: ClosedRange<Double> = 1...(366 * 86_400)
    package static let mostKept = 99

    package init(maxSize: Int? = nil, maxAge: Duration? = nil, keep: Int = 5) {
        (self.maxSize, self.maxAge, self.keep) = (maxSize, maxAge, keep)
    }

    /// `10MiB`, as mpv writes sizes: bytes, or so many KiB, MiB, GiB.
    package static func size(parsing text: String) throws(ValueError) -> Int {
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        let unit = units.first { text.hasSuffix($0.0) }
        guard let number = DecimalNumber.whole(text.dropLast(unit?.0.count ?? 0)) else { throw sizeError }
        let (size, overflow) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
        guard !overflow, (leastSize...mostSize).contains(size) else { throw sizeError }
        return size
    }

    package static let sizeError = ValueError("a size is written 10MiB, from 64KiB to 1024GiB")
    package static let ageError = ValueError("an age is written 3600, 30:00 or 24:00:00, from a second to a year")
    package static let keepError = ValueError("0 to \(mostKept) older files can be kept")

    package static func age(seconds: Double) throws(ValueError) -> Duration {
        guard ages.contains(seconds) else { throw ageError }
        return .seconds(seconds)
    }

    package static func keep(_ number: Int) throws(ValueError) -> Int {
        guard (0...mostKept).contains(number) else { throw keepError }
        return number
    }

    /// Nil where neither size nor age is bounded: nothing turns over then.
    package var ifBounded: TimelineRotation? { maxSize == nil && maxAge == nil ? nil : self }
}
