/// A curve of any length as minimum, maximum and mean per pixel column; columns widen with its duration.
struct DecimatedSeries {
    struct Column {
        var lowest = Double.infinity
        var highest = -Double.infinity
        var sum = 0.0
        var count = 0

        var mean: Double { sum / Double(count) }

        mutating func merge(_ other: Column) {
            lowest = min(lowest, other.lowest)
            highest = max(highest, other.highest)
            sum += other.sum
            count += other.count
        }
    }

    let capacity: Int
    private(set) var columns: [Column] = []
    /// Seconds per column.
    private(set) var width: Double

    /// - Parameter width: Initial seconds per column.
    init(capacity: Int = 1024, width: Double = 0.25) {
        self.capacity = capacity
        self.width = width
    }

    /// Adds a value at a time in seconds; negative times count as zero.
    mutating func add(_ value: Double, at seconds: Double) {
        guard value.isFinite, seconds.isFinite else { return }
        let seconds = max(0, seconds)
        while seconds / width >= Double(capacity) { widen() }
        let index = Int(seconds / width)
        while columns.count <= index { columns.append(Column()) }
        columns[index].merge(Column(lowest: value, highest: value, sum: value, count: 1))
    }

    private mutating func widen() {
        width *= 2
        var merged: [Column] = []
        merged.reserveCapacity(capacity)
        for index in stride(from: 0, to: columns.count, by: 2) {
            var column = columns[index]
            if index + 1 < columns.count { column.merge(columns[index + 1]) }
            merged.append(column)
        }
        columns = merged
    }
}
