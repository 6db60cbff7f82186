package import MediaCore

extension MediaTime {
    /// The time as `01:02:03`; `00:00:00` for negative times.
    package var clock: String {
        let text = Decimals.clock(seconds: max(0, seconds))
        return text.utf8.count == 5 ? "00:" + text : text.utf8.count == 7 ? "0" + text : text
    }

    /// The time without hours if there are none: `00:31`, `1:02:03`.
    package var shortClock: String { Decimals.clock(seconds: max(0, seconds)) }
}
