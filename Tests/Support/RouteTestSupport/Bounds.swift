import Foundation

/// Allowed deviation of a value measured on a real route from the claim for a quiet machine (docs/performance.md).
///
/// The bounds make no allowance for a stalled machine: `StallPolicy` detects stalls and repeats the test.
enum Bounds {
    static let isTight = ProcessInfo.processInfo.environment["TALKIE_TIGHT_BOUNDS"] == "1"

    /// The bound as a multiple of the claim: 1 with `TALKIE_TIGHT_BOUNDS=1` (`make test-speakers`), otherwise 3.
    static let factor = isTight ? 1.0 : 3

    /// Returns whether there are offsets and each is within the bound.
    ///
    /// - Parameters:
    ///   - errors: offsets of beeps from where they belong, in milliseconds.
    ///   - claim: in milliseconds.
    static func areTogether(_ errors: [Double], claim: Double) -> Bool {
        !errors.isEmpty && errors.allSatisfy { isNear($0, claim: claim) }
    }

    /// Returns whether one offset, or a median of several, is within the bound; both in milliseconds.
    static func isNear(_ error: Double, claim: Double) -> Bool { abs(error) < claim * factor }
}
