/// Escapes untrusted text for SVG.
package enum SVGText {
    /// Returns text for element content and double-quoted attributes (XML 1.0, section 2.4); control characters are
    /// replaced.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in PrintableText.of(text) {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }
}
