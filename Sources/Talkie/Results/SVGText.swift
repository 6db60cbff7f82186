/// Words of others in a picture's source.
enum SVGText {
    /// Made safe between tags and in attributes in double quotes (XML 1.0, section 2.4); control characters are left out.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in TerminalText.printable(text) {
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
