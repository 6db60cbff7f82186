internal import Glibc

/// Locates the flashes of a video to a fraction of a frame, and states how exactly.
///
/// A camera integrates the light of each row while it is exposed. A frame whose exposure a flash begins or ends in has
/// part of its light, which gives the instant; a frame that is completely lit or dark gives a limit. The posterior
/// distribution of lag, drift, exposure time, readout time and saturation is sampled, so that a camera in step with
/// the display, whose frames all have the same phase, has the uncertainty that it should.
///
/// A frame's timestamp is the start of the exposure of its first row, as Android's camera interface defines it.
struct ExposureFit {
    /// The relation of the recording's timeline to host time.
    struct Line: Equatable {
        /// Mean host time of the flashes in seconds since the run's origin.
        var middle: Double
        /// Seconds on the recording's timeline at `middle`, and half its 95 % interval.
        var level: Double
        var halfWidth95: Double
        /// Seconds on the recording's timeline per second of host time, and its standard deviation.
        var rate: Double
        var rateError: Double
        /// The exposure time in seconds.
        var exposure: Double
        /// Whether each flash was seen.
        var isSeen: [Bool]

        /// Returns the time on the recording's timeline of an instant in seconds since the run's origin.
        func time(at host: Double) -> Double { level + (host - middle) * rate }
    }

    /// The sampled parameters.
    private struct Shape {
        /// At, drift, exposure, readout of all rows, logarithm of the saturation, response of the display; then 0.
        var values: SIMD8<Double>
        var at: Double { values[0] }
        var drift: Double { values[1] }
        var exposure: Double { values[2] }
        /// Negative if the last row is read first.
        var readout: Double { values[3] }
        var gain: Double { exp(values[4]) }
        /// The time from dark to white and back; half of it is before the instant of the flash.
        var response: Double { values[5] }
        static let count = 6
    }

    /// The frames near one flash.
    private struct Window {
        var index: Int
        var frames: Range<Int>
        /// Seconds since `middle`.
        var on: Double
        var off: Double
        /// The sums of values and of their squares for each band.
        var sums: [(Double, Double)]
    }

    /// Errors of the camera's model, relative to the contrast of a flash, such as its tone curve.
    private static let modelError = 0.04
    /// Standard deviation of the drift between the camera's and this computer's clock.
    private static let driftDeviation = 50e-6
    private static let largestDrift = 1e-3
    private static let maxReadout = 0.035
    /// Liquid crystals take some milliseconds. A camera cannot distinguish that from a longer exposure, whose start
    /// would be earlier: the interval contains both.
    private static let maxResponse = 0.008
    /// Light reaches full scale with this share of the exposure at least.
    private static let maxLogGain = log(4.0)
    /// What encoders and automatic exposure add to the interval: without it nine of ten rendered videos were inside.
    private static let margin = 1.5
    private static let walkers = 32
    private static let (warmUp, steps) = (100, 160)
    /// A flash whose light explains less of the variation around it was covered.
    private static let minExplained = 0.5

    private let interval: Double
    private let times: [Double]
    /// Position of each band of rows in the frame: 0 is the top, 1 the bottom.
    private let bands: [Double]
    /// The light of each band relative to its contrast, band by band.
    private let values: [Double]
    private let windows: [Window]
    private let flashCount: Int
    private let middle: Double
    private let coarse: Double

    /// Returns nil if too few flashes are covered.
    ///
    /// - Parameter interval: The median interval of the frames.
    init?(_ film: FilmedLight, _ flashes: [FlashSearch.Flash], _ found: FlashSearch.Found, interval: Double) {
        self.interval = interval
        flashCount = flashes.count
        let reach = FlashSearch.margin + 2 * interval
        var frames: [Int] = []
        var windows: [Window] = []
        for (index, flash) in flashes.enumerated() {
            let near = film.times.indices.filter {
                (flash.on + found.lag - reach...flash.off + found.lag + reach).contains(film.times[$0])
            }
            // Covered on both sides.
            guard let first = near.first, let last = near.last, near.count >= 4,
                film.times[first] < flash.on + found.lag - interval, film.times[last] > flash.off + found.lag + interval
            else { continue }
            windows.append(
                Window(
                    index: index, frames: frames.count..<frames.count + near.count, on: flash.on, off: flash.off,
                    sums: []))
            frames += near
        }
        guard windows.count >= 3 else { return nil }
        let middle = windows.reduce(0) { $0 + $1.on } / Double(windows.count)
        self.middle = middle
        coarse = found.lag + middle
        times = frames.map { film.times[$0] }
        // Rows of cells that show the screen. More bands give no more information than a frame has pixels in time.
        let rows = (0..<FilmedLight.rows).filter { row in
            (0..<FilmedLight.columns).contains { found.contrasts[row * FilmedLight.columns + $0] > 0 }
        }
        let perFlash = max(1, frames.count / windows.count)
        let count = max(1, min(rows.count, min(8, max(2, 240 / perFlash))))
        var (bands, values): ([Double], [Double]) = ([], [])
        for band in 0..<count {
            let mine = rows[band * rows.count / count..<(band + 1) * rows.count / count]
            let cells = mine.flatMap { row in
                (0..<FilmedLight.columns).map { row * FilmedLight.columns + $0 }.filter { found.contrasts[$0] > 0 }
            }
            let contrast = cells.reduce(0) { $0 + found.contrasts[$1] }
            bands.append(
                cells.reduce(0) {
                    $0 + found.contrasts[$1] * (Double($1 / FilmedLight.columns) + 0.5) / Double(FilmedLight.rows)
                } / contrast)
            for frame in frames {
                values.append(
                    cells.reduce(0) { $0 + Double(film.cells[frame * FilmedLight.cellCount + $1]) } / contrast)
            }
        }
        for index in windows.indices {
            windows[index].on -= middle
            windows[index].off -= middle
            windows[index].sums = bands.indices.map { band in
                let range = windows[index].frames
                let mine = values[band * frames.count + range.lowerBound..<band * frames.count + range.upperBound]
                return (mine.reduce(0, +), mine.reduce(0) { $0 + $1 * $1 })
            }
        }
        (self.bands, self.values, self.windows) = (bands, values, windows)
    }

    /// Returns the line; nil if the light does not follow the flashes. May take seconds.
    func line() -> Line? {
        let samples = posterior(around: start())
        guard let best = samples.max(by: { $0.fitness < $1.fitness })?.shape else { return nil }
        let levels = samples.map(\.shape.at).sorted()
        let level = levels.reduce(0, +) / Double(levels.count)
        // 99 % of the samples, for 95 %: they depend on each other, and a short exposure is rarer in the prior than in
        // daylight.
        let edge = levels.count / 200
        let halfWidth = Self.margin * max(level - levels[edge], levels[levels.count - 1 - edge] - level)
        let drift = samples.reduce(0) { $0 + $1.shape.drift } / Double(samples.count)
        let squares = samples.reduce(0) { $0 + $1.shape.drift * $1.shape.drift }
        var isSeen = [Bool](repeating: false, count: flashCount)
        for window in windows { isSeen[window.index] = explained(window, best) >= Self.minExplained }
        return Line(
            middle: middle, level: level, halfWidth95: halfWidth,
            rate: 1 + drift, rateError: max(0, squares / Double(samples.count) - drift * drift).squareRoot(),
            exposure: samples.reduce(0) { $0 + $1.shape.exposure } / Double(samples.count), isSeen: isSeen)
    }

    // MARK: Likelihood

    /// Returns the logarithm of the posterior density up to a constant; nil outside of the permitted range.
    private func fitness(_ shape: Shape) -> Double? {
        guard (shape.at - coarse).magnitude <= 3 * interval + 0.02, shape.drift.magnitude <= Self.largestDrift,
            shape.exposure >= 0.0002, shape.exposure <= interval,
            shape.readout.magnitude <= min(interval, Self.maxReadout),
            (0...Self.maxLogGain).contains(shape.values[4]), (0.0002...Self.maxResponse).contains(shape.response)
        else { return nil }
        let drift = shape.drift / Self.driftDeviation
        var sum = -drift * drift / 2
        for window in windows {
            let count = Double(window.frames.count)
            let rest = residual(window, shape).sum / Double(bands.count)
            // The variance of each flash is unknown: what covers one of them has no influence on the others.
            sum -= count / 2 * log(count * Self.modelError * Self.modelError + rest)
        }
        return sum
    }

    /// Returns the variation of a flash that the shape does not explain, and all variation, summed over the bands.
    private func residual(_ window: Window, _ shape: Shape) -> (sum: Double, total: Double) {
        let on = shape.at + window.on * (1 + shape.drift)
        let off = shape.at + window.off * (1 + shape.drift)
        let (exposure, readout, gain) = (shape.exposure, shape.readout, shape.gain / shape.exposure)
        let half = shape.response / 2
        let scale = 1 / (4 * half)
        /// The integral of a light that rises at 0, up to a time.
        func rise(_ time: Double) -> Double {
            time <= -half ? 0 : time >= half ? time : (time + half) * (time + half) * scale
        }
        let count = Double(window.frames.count)
        var (rest, total) = (0.0, 0.0)
        times.withUnsafeBufferPointer { times in
            values.withUnsafeBufferPointer { values in
                for band in 0..<bands.count {
                    let delay = readout >= 0 ? readout * bands[band] : -readout * (1 - bands[band])
                    let base = band * times.count
                    var (light, squares, products) = (0.0, 0.0, 0.0)
                    var frame = window.frames.lowerBound
                    while frame < window.frames.upperBound {
                        let begin = times[frame] + delay
                        let end = begin + exposure
                        if end > on - half, begin < off + half {
                            let lit = rise(end - on) - rise(begin - on) - rise(end - off) + rise(begin - off)
                            let share = lit * gain < 1 ? lit * gain : 1
                            light += share
                            squares += share * share
                            products += share * values[base + frame]
                        }
                        frame += 1
                    }
                    let (sum, sumOfSquares) = window.sums[band]
                    let variation = sumOfSquares - sum * sum / count
                    let spread = squares - light * light / count
                    let covariance = products - light * sum / count
                    total += variation
                    rest +=
                        covariance > 0 && spread > 1e-9
                        ? max(0, variation - covariance * covariance / spread) : variation
                }
            }
        }
        return (rest, total)
    }

    private func explained(_ window: Window, _ shape: Shape) -> Double {
        let (rest, total) = residual(window, shape)
        return total > 0 ? 1 - rest / total : 0
    }

    // MARK: Sampling

    /// Returns the best shape on a coarse grid.
    private func start() -> Shape {
        var best: (shape: Shape, fitness: Double)?
        for step in -9...9 {
            for exposure in [0.1, 0.4, 0.7, 0.99] {
                for readout in [-0.5, 0, 0.5] {
                    let shape = Shape(
                        values: [
                            coarse + Double(step) * interval / 4, 0, exposure * interval,
                            readout * min(interval, Self.maxReadout), 0.1, 0.004, 0, 0,
                        ])
                    if let fitness = fitness(shape), fitness > best?.fitness ?? -.infinity { best = (shape, fitness) }
                }
            }
        }
        return best?.shape ?? Shape(values: [coarse, 0, interval / 2, 0, 0.1, 0.004, 0, 0])
    }

    /// Samples the posterior distribution by an ensemble of walkers (Goodman and Weare 2010, "stretch move"), which
    /// needs no scales: the parameters depend on each other, and a limit can be flat.
    private func posterior(around start: Shape) -> [(shape: Shape, fitness: Double)] {
        var numbers = SeededNumbers(state: 1)
        func uniform() -> Double { Double.random(in: 0..<1, using: &numbers) }
        let spread: SIMD8<Double> = [interval / 4, 2e-5, interval / 4, interval / 4, 0.2, 0.003, 0, 0]
        var walkers: [(shape: Shape, fitness: Double)] = []
        for attempt in 0..<Self.walkers * 20 where walkers.count < Self.walkers {
            var shape = start
            let scale = attempt < Self.walkers * 10 ? 1.0 : 0.05
            for index in 0..<Shape.count { shape.values[index] += (2 * uniform() - 1) * spread[index] * scale }
            if let fitness = fitness(shape) { walkers.append((shape, fitness)) }
        }
        guard walkers.count > Shape.count else { return walkers }
        var samples: [(shape: Shape, fitness: Double)] = []
        let half = walkers.count / 2
        for step in 0..<Self.warmUp + Self.steps {
            for index in walkers.indices {
                let partners = index < half ? half..<walkers.count : 0..<half
                let partner = walkers[Int.random(in: partners, using: &numbers)].shape.values
                let root = 1 + uniform()
                let stretch = root * root / 2
                let moved = Shape(values: partner + stretch * (walkers[index].shape.values - partner))
                guard let fitness = fitness(moved) else { continue }
                let gain = Double(Shape.count - 1) * log(stretch) + fitness - walkers[index].fitness
                if gain >= 0 || uniform() < exp(gain) { walkers[index] = (moved, fitness) }
            }
            if step >= Self.warmUp { samples += walkers }
        }
        return samples
    }
}

/// The same numbers for each seed (SplitMix64), so that an analysis of one video has one result.
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
