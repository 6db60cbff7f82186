/// Sanitizes and measures untrusted text for terminals, logs and images.
package enum PrintableText {
    /// Returns the text with U+FFFD for control characters (ECMA-48: C0, DEL, C1), line separators and explicit
    /// bidirectional controls, without implicit ones. A title then cannot move the cursor, ring the bell or reorder the
    /// line.
    package static func of(_ text: String) -> String {
        if text.unicodeScalars.allSatisfy({ !isHazard($0) && !isMark($0) }) { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isMark(scalar) {
            scalars.append(isHazard(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(scalars)
    }

    /// Returns a URL without credentials (RFC 3986, 3.2.1 and 7.5), for messages, logs and state files; other text
    /// unchanged.
    package static func withoutCredentials(_ address: String) -> String {
        guard hasAuthority(address) else { return address }
        // First, because it moves what is behind it: a query may hold another address.
        let address = withoutSecretParameters(address)
        guard let user = userInfo(of: address) else { return address }
        return "\(address[..<user.lowerBound])…\(address[user.upperBound...])"
    }

    /// Whether a text contains `://`. `String.contains` takes 2.3 µs for a path, and a playlist is described
    /// completely, with thousands of them, at each change of the player.
    private static func hasAuthority(_ address: String) -> Bool {
        var address = address
        return address.withUTF8 { bytes in
            bytes.indices.dropLast(2).contains { bytes[$0] == 0x3A && bytes[$0 + 1] == 0x2F && bytes[$0 + 2] == 0x2F }
        }
    }

    /// Returns the last component of a path or address, without query and credentials; the host of an address without a
    /// path.
    package static func name(of address: String) -> String {
        guard let separator = address.firstRange(of: "://") else {
            return String(address.split(separator: "/").last ?? Substring(address))
        }
        let rest = address[separator.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let components = rest.split(separator: "/")
        guard let last = components.last else { return address }
        return String(components.count > 1 ? last : last.split(separator: "@").last ?? last)
    }

    /// Returns a sentence with the last component only of each path and address in it, quoted or not: what leaves this
    /// computer names no folders.
    package static func withoutFolders(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "/")) else { return text }
        let closing: [Character: Character] = ["'": "'", "\"": "\"", "“": "”", "‘": "’", "«": "»"]
        var (result, word, rest) = ("", "", text[...])
        func isPath(_ word: String) -> Bool { word.hasPrefix("/") || word.contains("://") }
        func endWord() {
            let opening = word.prefix { "([".contains($0) }
            let bare = String(word.dropFirst(opening.count))
            result += isPath(bare) ? opening + name(of: bare) : word
            word = ""
        }
        while let character = rest.popFirst() {
            // A quotation mark within a name is followed by a letter.
            if word.allSatisfy({ "([".contains($0) }), let close = closing[character],
                let end = rest.indices.first(where: { index in
                    let next = rest.index(after: index)
                    return rest[index] == close
                        && (next == rest.endIndex || !(rest[next].isLetter || rest[next].isNumber))
                })
            {
                result += word + String(character)
                word = ""
                let quoted = String(rest[..<end])
                result += quoted.contains("/") ? name(of: quoted) : quoted
                result.append(close)
                rest = rest[rest.index(after: end)...]
            } else if character.isWhitespace {
                endWord()
                result.append(character)
            } else {
                word.append(character)
            }
        }
        endWord()
        return result
    }

    /// Returns true if an address has a name, or a name and a password, before its host (RFC 3986, 3.2.1).
    package static func hasUserInfo(_ address: String) -> Bool { userInfo(of: address) != nil }

    private static func userInfo(of address: String) -> Range<String.Index>? {
        guard let separator = address.firstRange(of: "://") else { return nil }
        let authority = address[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@"), at > authority.startIndex else { return nil }
        return authority.startIndex..<at
    }

    /// Replaces the values of query parameters that grant access, such as `token=` and `X-Amz-Signature=`.
    private static func withoutSecretParameters(_ address: String) -> String {
        guard let mark = address.firstIndex(of: "?") else { return address }
        let query = address[address.index(after: mark)...]
        let end = query.firstIndex(of: "#") ?? query.endIndex
        let parameters = query[..<end].split(separator: "&", omittingEmptySubsequences: false)
        let printable = parameters.map { parameter -> String in
            guard let equals = parameter.firstIndex(of: "="), isSecret(parameter[..<equals].lowercased()) else {
                return String(parameter)
            }
            return "\(parameter[...equals])…"
        }
        return "\(address[...mark])\(printable.joined(separator: "&"))\(query[end...])"
    }

    private static func isSecret(_ name: String) -> Bool {
        ["key", "pwd", "pass", "sig", "auth", "jwt", "policy", "hdnea", "hdnts"].contains(name)
            || ["token", "signature", "password", "passwd", "secret", "credential", "session", "apikey", "api_key"]
                .contains { name.contains($0) }
    }

    /// Returns the text sanitized, with a full stop unless it ends in a full stop or a question mark.
    package static func sentence(_ text: String) -> String {
        let line = FileName.displayed(of(text))
        return line.hasSuffix(".") || line.hasSuffix("?") ? line : line + "."
    }

    private static func isHazard(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: break
        }
        // Explicit bidirectional controls (Unicode Standard Annex 9, sections 2.1 to 2.5).
        return (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    /// Returns whether a scalar is an implicit directional mark (Unicode Standard Annex 9, section 2.6), which titles
    /// in Arabic and Hebrew contain.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool { [0x200E, 0x200F, 0x061C].contains(scalar.value) }
}

extension PrintableText {
    /// Returns the number of terminal columns of the text.
    package static func width(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width(of: $1) } }

    /// Returns the text truncated to a number of columns, with an ellipsis if it is too long.
    package static func truncated(_ text: String, to columns: Int) -> String {
        guard columns > 0 else { return "" }
        guard width(of: text) > columns else { return text }
        var result = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            used += width(of: scalar)
            if used > columns - 1 { break }
            result.append(scalar)
        }
        return String(result) + "…"
    }

    /// Returns the columns of a scalar: zero for combining characters, two for wide East Asian ones (Unicode Standard
    /// Annex 11, classes W and F, by blocks), otherwise one.
    private static func width(of scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
            0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
