package import MediaCore

/// The messages of a comparison by eye and ear, and the validation of key presses. A value without side effects.
package struct EyeAndEarGuide: Equatable {
    /// Shown before the first flash.
    package static let warning = """
        The screen will flash white about once a second, for two or three minutes.
        Do not look if you are sensitive to flashes.
        SPACE: start   Esc: quit
        """
    /// The same in one line for a terminal.
    package static let quietWarning =
        "the screen will flash white about once a second; do not look if you are sensitive to flashes; SPACE: start, q: quit"

    private let number: Int
    private let count: Int
    private var wasTooSoon = false

    /// Creates the guide of one passage.
    ///
    /// - Parameters:
    ///   - number: The number of the passage, starting with 1.
    ///   - count: The number of passages.
    package init(passage number: Int, of count: Int) {
        self.number = number
        self.count = count
    }

    /// The message on the screen during the passage.
    package var text: String {
        (wasTooSoon ? "Too early: watch and listen to a few first.\n" : "")
            + "Passage \(number) of \(count). Flash and sound drift past each other slowly.\n"
            + "SPACE when they coincide   Esc: quit"
    }

    /// The message for a terminal in one line.
    package var summary: String {
        "passage \(number) of \(count)\(wasTooSoon ? ", that was too soon" : ""): SPACE when flash and sound coincide"
    }

    /// Evaluates a key press.
    ///
    /// - Parameter time: The time on the passage's timeline; nil before its start.
    /// - Returns: The delay in milliseconds; nil if the press was too early and must be repeated.
    package mutating func evaluate(pressAt time: MediaTime?, in trial: EyeAndEarTrial) -> Double? {
        guard let time, !trial.isTooSoon(time) else {
            wasTooSoon = true
            return nil
        }
        return trial.delay(at: time)
    }
}
