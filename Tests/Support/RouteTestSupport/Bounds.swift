import Foundation

/// What a lab test asks of beeps: whole on any machine, exact where the machine is quiet (`make test-speakers`).
///
/// The receiver knows our clock one way only: on a machine with other work it wanders by tens of milliseconds, and
/// now and then it loses a second of sound. What `make test` looks for is larger.
enum Bounds {
    static let isTight = ProcessInfo.processInfo.environment["TALKIE_TIGHT_BOUNDS"] == "1"

    /// Offsets in milliseconds of beeps from where they belong.
    static func areTogether(_ errors: [Double], tight: Double) -> Bool {
        guard !errors.isEmpty else { return false }
        if isTight { return errors.allSatisfy { abs($0) < tight } }
        let sizes = errors.map(abs).sorted()
        // A person notices 45 ms (ITU-R BT.1359).
        return sizes[sizes.count / 2] < 30 && sizes.count { $0 < 45 } * 10 >= sizes.count * 8
    }

    /// One offset, or a median of several, in milliseconds.
    static func isNear(_ error: Double, tight: Double) -> Bool { abs(error) < (isTight ? tight : 30) }

    /// One offset where a sound server that others keep busy may leave a hole of which nobody tells.
    static func isInStep(_ error: Double, tight: Double = 2) -> Bool { abs(error) < (isTight ? tight : 45) }

    /// How many of the beeps that were due must be heard.
    static func least(_ due: Int) -> Int { isTight ? due : due * 8 / 10 }
}
