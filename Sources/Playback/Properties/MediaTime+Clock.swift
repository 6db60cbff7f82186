package import MediaCore

extension MediaTime {
    /// As players show it: `01:02:03`; before the film's beginning it is `00:00:00`.
    package var clock: String {
        let text = Decimals.clock(seconds: max(0, seconds))
        return text.utf8.count == 5 ? "00:" + text : text.utf8.count == 7 ? "0" + text : text
    }

    /// Without hours where there are none: `00:31`, `1:02:03`.
    package var shortClock: String { Decimals.clock(seconds: max(0, seconds)) }
}
