/// Text from files and networks, made harmless and measurable for a terminal.
public enum TerminalText {
    /// The text with every control character (ECMA-48: C0, DEL, C1) and every invisible direction mark replaced, so
    /// that a film's title cannot move the cursor, ring the bell or turn the line around.
    public static func printable(_ text: String) -> String {
        if text.unicodeScalars.allSatisfy({ !isHazard($0) }) { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(isHazard(scalar) ? "\u{FFFD}" : scalar) }
        return String(scalars)
    }

    private static func isHazard(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: break
        }
        // Bidirectional controls (Unicode Standard Annex 9, section 2).
        return (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}
