internal import MediaCore

/// Converts keys from the syntax of `input.conf` to the names of window and terminal.
enum WrittenKey {
    /// Returns the name of a key by mpv's rules: modifiers and names in any case, modifiers in any order. Shift is part
    /// of a character.
    ///
    /// - Throws: `ValueError` for an unknown key.
    static func name(of written: String) throws(ValueError) -> String {
        var rest = written[...]
        var held: Set<String> = []
        while let plus = rest.dropFirst().firstIndex(of: "+"), rest.index(after: plus) < rest.endIndex {
            let prefix = rest[..<plus].lowercased()
            guard let modifier = modifiers.first(where: { $0.lowercased() == prefix }) else { break }
            held.insert(modifier)
            rest = rest[rest.index(after: plus)...]
        }
        var name = String(rest)
        if name.count == 1 {
            if name == "#" { name = "SHARP" }
            if held.remove("Shift") != nil { name = name.uppercased() }
        } else {
            let upper = name.uppercased()
            guard names.contains(upper) else {
                throw ValueError(
                    name.contains("-")
                        ? "'\(shown(written))': key sequences are not supported"
                        : "unknown key '\(shown(written))'")
            }
            name = olderNames[upper] ?? upper
        }
        return modifiers.filter(held.contains).map { $0 + "+" }.joined() + name
    }

    private static func shown(_ text: String) -> String { PrintableText.truncated(PrintableText.of(text), to: 40) }

    /// In naming order.
    private static let modifiers = ["Shift", "Ctrl", "Alt", "Meta"]

    /// mpv's names that a window or a terminal can report.
    private static let names: Set<String> = Set(
        """
        SPACE SHARP ENTER TAB BS DEL INS HOME END PGUP PGDWN ESC PRINT RIGHT LEFT DOWN UP MENU KP_ENTER
        F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12
        PLAY PAUSE PLAYPAUSE PLAYONLY PAUSEONLY STOP NEXT PREV FORWARD REWIND VOLUME_UP VOLUME_DOWN MUTE POWER CLOSE_WIN
        MBTN_LEFT MBTN_MID MBTN_RIGHT MBTN_BACK MBTN_FORWARD MBTN_LEFT_DBL MBTN_MID_DBL MBTN_RIGHT_DBL
        WHEEL_UP WHEEL_DOWN WHEEL_LEFT WHEEL_RIGHT
        """.split(whereSeparator: \.isWhitespace).map(String.init) + Array(olderNames.keys))

    /// mpv's names before version 0.28.
    private static let olderNames = [
        "MOUSE_BTN0": "MBTN_LEFT", "MOUSE_BTN1": "MBTN_MID", "MOUSE_BTN2": "MBTN_RIGHT",
        "MOUSE_BTN0_DBL": "MBTN_LEFT_DBL", "AXIS_UP": "WHEEL_UP", "AXIS_DOWN": "WHEEL_DOWN", "AXIS_LEFT": "WHEEL_LEFT",
        "AXIS_RIGHT": "WHEEL_RIGHT",
    ]
}
