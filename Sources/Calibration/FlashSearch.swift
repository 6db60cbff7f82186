/// Finds the flashes of a run in a video: the cells of the screen, and the lag of the video's timeline.
///
/// The result is exact to some frames; `ExposureFit` refines it.
struct FlashSearch {
    /// One flash in seconds of host time since the run's origin.
    struct Flash: Equatable {
        var on: Double
        var off: Double
    }

    /// The flashes in a video.
    struct Found {
        /// Seconds on the recording's timeline at the run's origin.
        var lag: Double
        /// The contrast of each cell that shows the screen; 0 for the other cells.
        var contrasts: [Double]
        /// The number of flashes that are covered by frames.
        var covered: Int
    }

    /// Dark time in seconds before and after a flash that it is compared with.
    static let margin = 0.12
    /// The cells with the most change are searched; a screen that fills less than one of them is too small.
    private static let searchedCells = 32
    /// Minimum share of the contrast that all flashes have in common. Chance has less: in a dozen events it would be
    /// seven standard deviations.
    private static let minConsistency = 0.75
    /// Minimum contrast relative to white.
    private static let minContrast = 0.01
    /// Cells with less contrast than this share of the best cell are not used: reflections are slower than the screen.
    private static let minShare = 0.3

    private let flashes: [Flash]
    private let times: [Double]
    /// Sums of the light of the preceding frames, cell by cell.
    private let sums: [[Double]]
    private let activity: [Double]

    /// - Parameter lags: The range of lags in which `find` searches; it limits the memory to the frames of one run.
    init?(_ film: FilmedLight, _ flashes: [Flash], lags: ClosedRange<Double>) {
        guard let first = flashes.first?.on, let last = flashes.last?.off else { return nil }
        let (begin, end) = (first + lags.lowerBound - 1, last + lags.upperBound + 1)
        let range = film.times.indices.filter { (begin...end).contains(film.times[$0]) }
        guard range.count > 1 else { return nil }
        self.flashes = flashes
        times = range.map { film.times[$0] }
        var sums: [[Double]] = []
        var activity: [Double] = []
        film.cells.withUnsafeBufferPointer { cells in
            for cell in 0..<FilmedLight.cellCount {
                var column = [Double](repeating: 0, count: range.count + 1)
                var (sum, changes, before) = (0.0, 0.0, Double(cells[range[0] * FilmedLight.cellCount + cell]))
                for (index, frame) in range.enumerated() {
                    let value = Double(cells[frame * FilmedLight.cellCount + cell])
                    sum += value
                    changes += (value - before) * (value - before)
                    before = value
                    column[index + 1] = sum
                }
                sums.append(column)
                activity.append(changes)
            }
        }
        (self.sums, self.activity) = (sums, activity)
    }

    /// Returns the best lag within a range, or nil if the flashes are not visible.
    func find(in lags: ClosedRange<Double>, step: Double) -> Found? {
        let busiest = Array(activity.indices.sorted { activity[$0] > activity[$1] }.prefix(Self.searchedCells))
        var best: (lag: Double, score: Double)?
        for lag in stride(from: lags.lowerBound, through: lags.upperBound, by: step) {
            let windows = windows(at: lag)
            guard windows.count * 5 >= flashes.count * 3 else { continue }
            var score = 0.0
            for cell in busiest {
                let contrast = contrast(of: cell, windows)
                score += max(0, contrast.mean) * contrast.mean * contrast.consistency
            }
            if score > best?.score ?? 0 { best = (lag, score) }
        }
        guard let best else { return nil }
        let windows = windows(at: best.lag)
        let all = sums.indices.map { contrast(of: $0, windows) }
        let steady = all.map { $0.consistency >= Self.minConsistency ? max(0, $0.mean) : 0 }
        guard let most = steady.max(), most >= Self.minContrast else { return nil }
        return Found(
            lag: best.lag, contrasts: steady.map { $0 >= Self.minShare * most ? $0 : 0 }, covered: windows.count)
    }

    /// The frames before, during and after a flash.
    private struct Window {
        var before: Range<Int>
        var during: Range<Int>
        var after: Range<Int>
    }

    private func windows(at lag: Double) -> [Window] {
        flashes.compactMap { flash in
            let edges = [flash.on - Self.margin, flash.on, flash.off, flash.off + Self.margin].map {
                index(of: $0 + lag)
            }
            guard edges[0] < edges[1], edges[1] < edges[2], edges[2] < edges[3] else { return nil }
            return Window(
                before: edges[0]..<edges[1], during: edges[1]..<edges[2], after: edges[2]..<edges[3])
        }
    }

    private func contrast(of cell: Int, _ windows: [Window]) -> (mean: Double, consistency: Double) {
        var (sum, squares) = (0.0, 0.0)
        sums[cell].withUnsafeBufferPointer { sums in
            func mean(_ range: Range<Int>) -> Double {
                (sums[range.upperBound] - sums[range.lowerBound]) / Double(range.count)
            }
            for window in windows {
                let value = mean(window.during) - (mean(window.before) + mean(window.after)) / 2
                sum += value
                squares += value * value
            }
        }
        let mean = sum / Double(max(1, windows.count))
        return (mean, mean * mean / max(1e-12, squares / Double(max(1, windows.count))))
    }

    /// Returns the index of the first frame at or after a time.
    private func index(of time: Double) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
