internal import Glibc

/// A robust straight-line fit: the level at the mean time, the slope, and their errors.
struct OffsetStatistics: Equatable {
    /// The value at the mean time of the readings.
    var level: Double
    /// The change of the value per unit of time.
    var slope: Double
    /// The standard deviation of one reading from the line.
    var sigma: Double
    /// Half the 95 % confidence interval of the level; random errors only.
    var halfWidth95: Double
    /// The standard error of the slope.
    var slopeError: Double
    /// Indices of the readings used and of the outliers.
    var used: [Int]
    var outliers: [Int]

    /// Returns nil for fewer than three consistent readings.
    ///
    /// - Parameters:
    ///   - readings: Time and value.
    ///   - floor: Distance from the fit below which no reading is an outlier.
    init?(_ readings: [(time: Double, value: Double)], floor: Double) {
        guard readings.count >= 3 else { return nil }
        // Theil–Sen estimator: the median of all slopes tolerates 29 % of outliers.
        var slopes: [Double] = []
        for (index, first) in readings.enumerated() {
            for second in readings[(index + 1)...] where abs(second.time - first.time) > 1e-9 {
                slopes.append((second.value - first.value) / (second.time - first.time))
            }
        }
        let tilt = slopes.isEmpty ? 0 : Self.median(slopes)
        let heights = readings.map { $0.value - tilt * $0.time }
        let middle = Self.median(heights)
        let distances = heights.map { abs($0 - middle) }
        // 1.4826 converts the median absolute deviation of normally distributed readings to the standard deviation.
        let limit = max(floor, 5 * 1.4826 * Self.median(distances))
        used = readings.indices.filter { distances[$0] <= limit }
        outliers = readings.indices.filter { distances[$0] > limit }
        guard used.count >= 3 else { return nil }
        // Least squares for the remaining readings.
        let count = Double(used.count)
        let meanTime = used.reduce(0) { $0 + readings[$1].time } / count
        let meanValue = used.reduce(0) { $0 + readings[$1].value } / count
        var (spread, product) = (0.0, 0.0)
        for index in used {
            spread += (readings[index].time - meanTime) * (readings[index].time - meanTime)
            product += (readings[index].time - meanTime) * (readings[index].value - meanValue)
        }
        slope = spread > 1e-12 ? product / spread : 0
        level = meanValue
        var squares = 0.0
        for index in used {
            let rest = readings[index].value - meanValue - slope * (readings[index].time - meanTime)
            squares += rest * rest
        }
        let freedom = max(1, used.count - 2)
        sigma = (squares / Double(freedom)).squareRoot()
        halfWidth95 = Self.student95(freedom) * sigma / count.squareRoot()
        slopeError = spread > 1e-12 ? sigma / spread.squareRoot() : .infinity
    }

    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }

    /// Returns the two-sided 95 % quantile of Student's t (Fisher and Yates, table III).
    ///
    /// Above thirty degrees of freedom it is the first term of the Cornish–Fisher expansion.
    static func student95(_ freedom: Int) -> Double {
        let table = [
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
            2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
        ]
        if freedom <= table.count { return table[max(0, freedom - 1)] }
        return 1.96 * (1 + (1.96 * 1.96 + 1) / (4 * Double(freedom)))
    }
}
