package import MediaCore
package import SyncRendering

extension VideoGeometry.Aspect {
    /// Parses mpv's values: `16:9`, `2.35`, `-1` for the film's own aspect ratio, `0` or `no` for square pixels.
    package init(parsing text: String) throws(ValueError) {
        switch text {
        case "-1": self = .film
        case "0", "no": self = .squarePixels
        default:
            let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map {
                DecimalNumber.parse(String($0))
            }
            guard let first = numbers[0], numbers.count <= 2, let second = numbers.count == 2 ? numbers[1] : 1,
                second > 0,
                VideoGeometry.ratioRange.contains(first / second)
            else {
                throw ValueError(
                    "the aspect ratio must be a ratio such as 16:9 or 2.35, or -1 for the film's own, or no")
            }
            self = .ratio(first / second)
        }
    }

    /// mpv's notation, as parsed by `init(parsing:)`.
    var notation: String {
        switch self {
        case .film: "-1"
        case .squarePixels: "no"
        case .ratio(let ratio): Self.names.first { $0.value == ratio }?.key ?? Decimals.short(ratio, atMost: 6)
        }
    }

    /// The ratios that are named by two numbers.
    private static let names = ["16:9": 16.0 / 9, "4:3": 4.0 / 3, "2.35:1": 2.35]
}

extension VideoGeometry {
    /// Parses a zoom, −20 to 20, in powers of two.
    package static func zoom(parsing text: String) throws(ValueError) -> Double {
        try number(text, in: zoomRange, "the zoom must be a number from -20 to 20; 1 is twice as large")
    }

    /// Parses a pan, −3 to 3, in picture sizes.
    package static func pan(parsing text: String) throws(ValueError) -> Double {
        try number(text, in: panRange, "the pan must be a number from -3 to 3; 1 is a whole picture")
    }

    /// Parses a panscan value, 0 to 1.
    package static func panscan(parsing text: String) throws(ValueError) -> Double {
        try number(text, in: panscanRange, "panscan must be a number from 0 to 1")
    }

    /// Parses degrees clockwise, or `no`. Returns -1 for `no`, since an option cannot be nil with another default.
    package static func rotation(parsing text: String) throws(ValueError) -> Int {
        if text == "no" { return -1 }
        guard let turn = DecimalNumber.integer(text), [0, 90, 180, 270].contains(turn) else {
            throw ValueError("the rotation must be 0, 90, 180 or 270 degrees, or no")
        }
        return turn
    }

    private static func number(
        _ text: String, in range: ClosedRange<Double>, _ sentence: String
    ) throws(ValueError) -> Double {
        guard let billionths = DecimalNumber.signedBillionths(text), range.contains(Double(billionths) / 1e9) else {
            throw ValueError(sentence)
        }
        return Double(billionths) / 1e9
    }
}
