import Testing

/// Repeats an external measurement. Other processes can disturb one run; two runs of three must be good.
enum TwoOfThree {
    struct Run {
        /// The measured values, printed for each run.
        var figure: String
        /// True if the run meets the bound, which is the same on every machine.
        var isGood: Bool
    }

    /// Measures until two runs agree, and prints the figure of each run.
    static func measure(_ name: String, _ run: () throws -> Run) throws {
        var runs: [Run] = []
        while runs.count(where: \.isGood) < 2, runs.count(where: { !$0.isGood }) < 2 {
            let run = try run()
            print("\(name): \(run.figure)")
            runs.append(run)
        }
        let bad = runs.filter { !$0.isGood }.map(\.figure)
        if bad.count == 2 {
            Issue.record("\(name): two runs of \(runs.count) were not good: \(bad.joined(separator: "; "))")
        } else if let one = bad.first {
            print("\(name): one run of three was not good: \(one)")
        }
    }
}
