/// Natural sort order of file names: digits compare as numbers, case and leading zeros are ignored.
package enum NaturalOrder {
    /// A run of digits, or one scalar.
    private enum Piece {
        /// Without leading zeros.
        case number(Substring.UnicodeScalarView)
        case scalar(Unicode.Scalar)
    }

    /// Returns true if `left` sorts before `right`. Names that differ only in case or zeros are ordered by their bytes.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        var (a, b) = (pieces(left), pieces(right))
        while let first = next(&a) {
            guard let second = next(&b) else { return false }
            switch (first, second) {
            case (.number(let one), .number(let other)):
                if one.count != other.count { return one.count < other.count }
                if !one.elementsEqual(other) { return one.lexicographicallyPrecedes(other) }
            case (.scalar(let one), .scalar(let other)): if one != other { return one < other }
            case (.number, .scalar(let other)): return "0" < other
            case (.scalar(let one), .number): return one < "0"
            }
        }
        return next(&b) != nil || left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// Returns true if `second` is `first` with a higher number: the names differ first in a number.
    package static func continues(_ first: String, with second: String) -> Bool {
        var (a, b) = (pieces(first), pieces(second))
        while let one = next(&a), let other = next(&b) {
            switch (one, other) {
            case (.number(let one), .number(let other)):
                if one.elementsEqual(other) { continue }
                return one.count != other.count ? one.count < other.count : one.lexicographicallyPrecedes(other)
            case (.scalar(let one), .scalar(let other)) where one == other: continue
            default: return false
            }
        }
        return false
    }

    private static func pieces(_ name: String) -> Substring.UnicodeScalarView {
        Substring(name.lowercased()).unicodeScalars
    }

    private static func next(_ rest: inout Substring.UnicodeScalarView) -> Piece? {
        guard let first = rest.first else { return nil }
        guard isDigit(first) else { return .scalar(rest.removeFirst()) }
        let digits = rest.prefix(while: isDigit)
        rest = rest[digits.endIndex...]
        return .number(digits.drop { $0 == "0" })
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
}
