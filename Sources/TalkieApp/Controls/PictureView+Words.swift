package import MediaCore
package import SyncRendering

extension PictureView.Aspect {
    /// Parses mpv's values: `16:9`, `2.35`, `-1` for the film's own aspect ratio, `0` or `no` for square pixels.
    package init(parsing text: String) throws(ValueError) {
        switch text {
        case "-1": self = .film
        case "0", "no": self = .squarePixels
        default:
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map {
                DecimalNumber.parse(String($0))
            }
            guard let first = parts[0], parts.count <= 2, let second = parts.count == 2 ? parts[1] : 1, second > 0,
                PictureView.ratioRange.contains(first / second)
            else {
                throw ValueError(
                    "the aspect ratio must be a ratio such as 16:9 or 2.35, or -1 for the film's own, or no")
            }
            self = .ratio(first / second)
        }
    }

    /// A description for the user.
    var words: String {
        switch self {
        case .film: "the film's own"
        case .squarePixels: "square pixels"
        case .ratio(let ratio): Self.steps.first { $0.aspect == self }?.name ?? Decimals.text(ratio, 3)
        }
    }

    /// The aspect ratios that mpv's key cycles through.
    private static let steps: [(name: String, aspect: PictureView.Aspect)] = [
        ("16:9", .ratio(16.0 / 9)), ("4:3", .ratio(4.0 / 3)), ("2.35:1", .ratio(2.35)), ("", .film),
    ]

    /// The next aspect ratio in the cycle; the first one if this one is not part of it.
    var next: PictureView.Aspect {
        guard let index = Self.steps.firstIndex(where: { $0.aspect == self }) else { return Self.steps[0].aspect }
        return Self.steps[(index + 1) % Self.steps.count].aspect
    }
}

extension PictureView {
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
        guard let turn = DecimalNumber.whole(text), [0, 90, 180, 270].contains(turn) else {
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

/// A change of a `PictureView` by a key.
enum PictureViewChange: Sendable, Hashable {
    case zoom(Double)
    case panX(Double)
    case panY(Double)
    case panscan(Double)
    case nextAspect
    /// Resets zoom and pan.
    case reset
}

extension PictureView {
    /// Applies a change.
    ///
    /// - Returns: The new value, for the user.
    mutating func apply(_ change: PictureViewChange) -> String {
        switch change {
        case .zoom(let step):
            zoom = Self.step(zoom, by: step, in: Self.zoomRange)
            return "Zoom: \(Decimals.text(zoom, 2))"
        case .panX(let step):
            panX = Self.step(panX, by: step, in: Self.panRange)
            return "Pan X: \(Decimals.text(panX, 2))"
        case .panY(let step):
            panY = Self.step(panY, by: step, in: Self.panRange)
            return "Pan Y: \(Decimals.text(panY, 2))"
        case .panscan(let step):
            panscan = Self.step(panscan, by: step, in: Self.panscanRange)
            return "Panscan: \(Decimals.text(panscan, 2))"
        case .nextAspect:
            aspect = aspect.next
            return "Aspect: \(aspect.words)"
        case .reset:
            (zoom, panX, panY) = (0, 0, 0)
            return "Zoom and pan: none"
        }
    }

    /// Rounds to thousandths, so that ten steps up and ten down restore the exact value.
    private static func step(_ value: Double, by step: Double, in range: ClosedRange<Double>) -> Double {
        let next = ((value + step) * 1000).rounded() / 1000
        return min(range.upperBound, max(range.lowerBound, next == 0 ? 0 : next))
    }
}
