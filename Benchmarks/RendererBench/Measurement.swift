import AllocationCount
import MediaCore

/// Durations of single calls, and the allocations in between.
struct Measurement {
    private var nanoseconds: [Int64] = []
    private(set) var allocations = 0
    private var started = HostInstant(nanoseconds: 0)
    private var allocationsBefore: UInt = 0

    init(calls: Int) { nanoseconds.reserveCapacity(calls) }

    /// Measures the duration of one call.
    mutating func time(_ body: () -> Void) {
        let before = HostInstant.now
        body()
        nanoseconds.append(HostInstant.now.nanoseconds - before.nanoseconds)
    }

    /// Adds the duration of a call that was measured elsewhere.
    mutating func add(_ duration: Duration) { nanoseconds.append(duration.wholeNanoseconds) }

    mutating func begin() { allocationsBefore = allocation_count() }
    mutating func end() { allocations += Int(allocation_count() - allocationsBefore) }

    /// Returns one row of a Markdown table.
    func row(_ name: String) -> String {
        let sorted = nanoseconds.sorted()
        guard let last = sorted.last else { return "| \(name) | 0 | | | | |" }
        func quantile(_ part: Double) -> Int64 { sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] }
        return "| \(name) | \(sorted.count) | \(quantile(0.5)) | \(quantile(0.99)) | \(last) | \(allocations) |"
    }

    static let head = """
        | what | calls | median ns | p99 ns | worst ns | allocations, all threads |
        | --- | --- | --- | --- | --- | --- |
        """
}
