package import MediaCore

/// What a person is told while an eye and an ear judge, and which of their presses count. A value; nothing happens in it
/// by itself.
package struct EyeAndEarGuide: Equatable {
    /// Before anything flashes.
    package static let warning = """
        The screen will flash white about once a second, for two or three minutes.
        Whom flashes harm should not look.
        SPACE begins   Esc ends
        """
    package static let quietWarning =
        "the screen will flash white about once a second; whom flashes harm should not look; SPACE begins, q ends"

    private let number: Int
    private let count: Int
    private var wasTooSoon = false

    /// - Parameters:
    ///   - number: the passage's, 1 the first.
    ///   - count: how many there are.
    package init(passage number: Int, of count: Int) {
        self.number = number
        self.count = count
    }

    /// For the screen, as long as the passage lasts.
    package var text: String {
        (wasTooSoon ? "That was too soon: first see and hear a few, then judge.\n" : "")
            + "Passage \(number) of \(count). Flash and sound pass each other slowly.\n"
            + "SPACE when they are one   Esc ends"
    }

    /// For a terminal, in one line.
    package var line: String {
        "passage \(number) of \(count)\(wasTooSoon ? ", that was too soon" : ""): SPACE when flash and sound are one"
    }

    /// Takes a press.
    ///
    /// - Parameter time: when, on the passage's timeline; nil before that has begun.
    /// - Returns: the answer, in milliseconds; nil when it came too soon to be one and is asked for again.
    package mutating func hear(pressAt time: MediaTime?, in trial: EyeAndEarTrial) -> Double? {
        guard let time, !trial.isTooSoon(time) else {
            wasTooSoon = true
            return nil
        }
        return trial.delay(at: time)
    }
}
