internal import MediaCore

/// Quantiles of any number of times in constant memory: a histogram of one-microsecond bins that doubles the width
/// of its bins when there are too many.
struct QuantileSketch {
    /// Maximum number of bins; covers 65 ms in microseconds before the first doubling.
    private static let maxBins = 65536
    /// Values are clamped to one hour, in microseconds.
    private static let limit = 3.6e9

    private var bins: [Int64: Int] = [:]
    /// The bin width is 2^shift microseconds.
    private var shift: Int64 = 0
    /// The number of values.
    private(set) var count = 0
    /// The value with the largest magnitude, in milliseconds.
    private(set) var worst: Double?

    /// Adds a value in milliseconds; NaN is ignored.
    mutating func add(_ milliseconds: Double) {
        guard !milliseconds.isNaN else { return }
        count += 1
        if milliseconds.magnitude > (worst?.magnitude ?? -1) { worst = milliseconds }
        let microseconds = max(-Self.limit, min(Self.limit, (milliseconds * 1000).rounded()))
        bins[Int64(microseconds) >> shift, default: 0] += 1
        if bins.count > Self.maxBins { coarsen() }
    }

    private mutating func coarsen() {
        shift += 1
        var wider: [Int64: Int] = [:]
        for (bin, count) in bins { wider[bin >> 1, default: 0] += count }
        bins = wider
    }

    /// Returns the quantiles in milliseconds for ascending shares; nil without values.
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
            // The centre of a bin; exact for bins of 1 µs.
            let middle = Double(bin << shift) + Double((Int64(1) << shift) - 1) / 2
            results.append(middle / 1000)
        }
        return results
    }
}

/// A least-squares line through any number of points, in constant memory.
struct LinearTrend {
    private var count = 0.0
    private var meanX = 0.0
    private var meanY = 0.0
    private var sumXX = 0.0
    private var sumXY = 0.0
    private var first: Double?
    private var last = 0.0

    /// Adds a point. Running sums around the mean, by Welford: stable over hours.
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

    /// Returns the change of y per x; nil if the points span less than `span` in x.
    func slope(over span: Double) -> Double? {
        guard let first, last - first >= span, sumXX > 0 else { return nil }
        let slope = sumXY / sumXX
        return slope.isFinite ? slope : nil
    }
}
