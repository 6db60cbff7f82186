/// Words of others in a picture's source.
package enum SVGText {
    /// Made safe between tags and in attributes in double quotes (XML 1.0, section 2.4); control characters are left out.
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
