/// Limits the work on one untrusted input, and ends it soon after a cancellation.
///
/// Each byte or element that is searched, expanded or copied is charged. Confined to the thread that parses.
package struct WorkBudget {
    /// Why the work ends.
    package enum Exceeded: Error { case limit, cancelled }

    private var remaining: Int
    private var remainingUntilCheck = 0
    private let isCancelled: () -> Bool

    /// The work between two checks for cancellation: at most a few milliseconds.
    private static let checkInterval = 1 << 14

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of units; a unit is about a byte that is read or an element that is visited.
    ///   - isCancelled: Called repeatedly on the parsing thread.
    package init(_ limit: Int, isCancelled: @escaping () -> Bool = { false }) {
        (remaining, self.isCancelled) = (limit, isCancelled)
    }

    /// Charges work before it is done.
    ///
    /// - Throws: `limit` if more than the limit was charged, `cancelled` after a cancellation.
    package mutating func spend(_ units: Int = 1) throws(Exceeded) {
        remaining -= units
        remainingUntilCheck -= units
        guard remaining >= 0 else { throw .limit }
        guard remainingUntilCheck < 0 else { return }
        remainingUntilCheck = Self.checkInterval
        if isCancelled() { throw .cancelled }
    }
}
