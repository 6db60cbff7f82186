/// The median of the most recent values; adding and reading allocate nothing.
struct RunningMedian {
    private var ring: [Int64]
    private var sorted: [Int64]
    private var next = 0
    private var count = 0

    /// - Parameter window: The number of values; odd, so that the median is one of them.
    init(window: Int) {
        ring = Array(repeating: 0, count: max(1, window))
        sorted = ring
    }

    /// The median of the stored values; nil before the first.
    var median: Int64? { count == 0 ? nil : sorted[count / 2] }

    mutating func add(_ value: Int64) {
        if count == ring.count {
            // Remove the oldest value from the sorted array.
            let oldest = ring[next]
            var index = 0
            while sorted[index] != oldest { index += 1 }
            while index + 1 < count {
                sorted[index] = sorted[index + 1]
                index += 1
            }
            count -= 1
        }
        var index = count
        while index > 0, sorted[index - 1] > value {
            sorted[index] = sorted[index - 1]
            index -= 1
        }
        sorted[index] = value
        count += 1
        ring[next] = value
        next = (next + 1) % ring.count
    }
}
