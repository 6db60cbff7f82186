import Foundation

/// How far a measured value of a real route may be from what is claimed for a quiet machine (docs/performance.md).
///
/// A machine that stands still is recognised and the test repeated (`StallPolicy`); these bounds do not allow for it.
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
