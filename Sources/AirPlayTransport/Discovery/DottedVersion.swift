/// A version such as `366.0` or `354.54.6`. Components are compared in order; a missing one counts as 0.
package struct DottedVersion: Sendable, Comparable, CustomStringConvertible {
    package let numbers: [UInt32]

    /// Parses the text up to the first character that is not part of a version (`18.2 (22K)` is 18.2). Returns nil if
    /// it does not start with a number.
    package init?(_ text: String) {
        var numbers: [UInt32] = []
        // Versions have at most four components; eight bound the input from the network.
        for part in text.split(separator: ".", omittingEmptySubsequences: false).prefix(8) {
            let digits = part.prefix { ("0"..."9").contains($0) }
            guard let number = UInt32(digits) else { break }
            numbers.append(number)
            if digits.count != part.count { break }
        }
        guard !numbers.isEmpty else { return nil }
        self.numbers = numbers
    }

    /// The first component.
    package var major: UInt32 { numbers[0] }
    package var description: String { numbers.map(String.init).joined(separator: ".") }

    package static func == (left: DottedVersion, right: DottedVersion) -> Bool { !(left < right) && !(right < left) }

    package static func < (left: DottedVersion, right: DottedVersion) -> Bool {
        for index in 0..<max(left.numbers.count, right.numbers.count) {
            let (one, other) = (left.number(index), right.number(index))
            if one != other { return one < other }
        }
        return false
    }

    private func number(_ index: Int) -> UInt32 { index < numbers.count ? numbers[index] : 0 }
}
