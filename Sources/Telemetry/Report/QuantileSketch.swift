internal import MediaCore

/// Quantiles of any number of times in constant memory: a histogram of one-microsecond bins that doubles the width
/// of its bins when there are too many.
package struct QuantileSketch {
    /// Distinct bins kept; 65 ms of microseconds before the first doubling.
    private static let mostBins = 65536
    /// An hour either way; whatever is further is as bad as an hour.
    private static let limit = 3.6e9

    private var bins: [Int64: Int] = [:]
    /// Bins are 2^shift microseconds wide.
    private var shift: Int64 = 0
    package private(set) var count = 0
    /// The value farthest from zero, in milliseconds, with its sign.
    private(set) var worst: Double?

    /// Adds a time in milliseconds; what is no number is ignored.
    package mutating func add(_ milliseconds: Double) {
        guard !milliseconds.isNaN else { return }
        count += 1
        if milliseconds.magnitude > (worst?.magnitude ?? -1) { worst = milliseconds }
        let microseconds = max(-Self.limit, min(Self.limit, (milliseconds * 1000).rounded()))
        bins[Int64(microseconds) >> shift, default: 0] += 1
        if bins.count > Self.mostBins { coarsen() }
    }

    private mutating func coarsen() {
        shift += 1
        var wider: [Int64: Int] = [:]
        for (bin, count) in bins { wider[bin >> 1, default: 0] += count }
        bins = wider
    }

    /// Milliseconds below which each of the given shares lies; nil when nothing was added. Shares ascend.
    func quantiles(_ shares: [Double]) -> [Double]? {
        guard count > 0 else { return nil }
        let ordered = bins.sorted { $0.key < $1.key }
        var results: [Double] = []
        var below = 0
        var index = 0
        for share in shares {
            let rank = Int(clamping: (share * Double(count)).rounded(.up), in: 1...count)
            while index < ordered.count, below + ordered[index].value < rank {
                below += ordered[index].value
                index += 1
            }
            let bin = ordered[min(index, ordered.count - 1)].key
            // The middle of a bin; with one-microsecond bins the value itself.
            let middle = Double(bin << shift) + Double((Int64(1) << shift) - 1) / 2
            results.append(middle / 1000)
        }
        return results
    }
}

/// A straight line through any number of points (least squares), in constant memory.
struct TrendLine {
    private var count = 0.0
    private var meanX = 0.0
    private var meanY = 0.0
    private var sumXX = 0.0
    private var sumXY = 0.0
    private var first: Double?
    private var last = 0.0

    /// Running sums around the running mean, after Welford: stable over hours.
    mutating func add(x: Double, y: Double) {
        guard x.isFinite, y.isFinite else { return }
        if first == nil { first = x }
        last = x
        count += 1
        let deltaX = x - meanX
        meanX += deltaX / count
        meanY += (y - meanY) / count
        sumXX += deltaX * (x - meanX)
        sumXY += deltaX * (y - meanY)
    }

    /// Change of y per x; nil when the points span less than `span` of x.
    func slope(over span: Double) -> Double? {
        guard let first, last - first >= span, sumXX > 0 else { return nil }
        let slope = sumXY / sumXX
        return slope.isFinite ? slope : nil
    }
}
