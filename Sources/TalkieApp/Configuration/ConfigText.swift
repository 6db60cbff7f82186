package import MediaCore

/// The parsed text of `talkie.conf`, in mpv's syntax (its manual, section "CONFIGURATION FILES").
///
/// Each line contains one setting; `#` starts a comment, `[name]` starts a profile. Settings are not interpreted.
///
/// Malformed lines are recorded as mistakes and skipped.
package struct ConfigText: Sendable {
    /// A setting, `name` or `name=value`, with its line number.
    package struct Setting: Hashable, Sendable {
        package var line: Int
        package var name: String
        package var value: String?
    }

    /// A named group of settings, applied on request.
    package struct Profile: Hashable, Sendable {
        package var name: String
        /// `profile-desc`.
        package var description = ""
        package var settings: [Setting] = []
    }

    /// Maximum number of settings, far beyond a hand-written file.
    package static let maxSettings = 1000

    /// The settings outside profiles.
    package private(set) var settings: [Setting] = []
    /// In file order.
    package private(set) var profiles: [Profile] = []
    /// The errors of the file.
    package private(set) var mistakes: [ConfigMistake] = []
    private let file: String
    /// The index of the current profile; nil outside profiles.
    private var current: Int?
    private var count = 0

    /// Parses the bytes of a file.
    ///
    /// - Parameter file: The file name for error messages.
    package init(_ bytes: [UInt8], file: String) {
        self.file = file
        var number = 0
        for line in ConfigLines(bytes) {
            number += 1
            guard count < Self.maxSettings else {
                mistakes.append(mistake(number, "more than \(Self.maxSettings) settings; the rest is ignored"))
                return
            }
            guard let text = String(validating: line, as: UTF8.self) else {
                mistakes.append(mistake(number, "this is not UTF-8 text"))
                continue
            }
            parseLine(Substring(text), number)
        }
    }

    /// Returns the profile with this name.
    package subscript(profile name: String) -> Profile? { profiles.first { $0.name == name } }

    private func mistake(_ line: Int, _ sentence: String) -> ConfigMistake {
        ConfigMistake(file, line: line, sentence)
    }

    private mutating func parseLine(_ text: Substring, _ line: Int) {
        var rest = text.drop { $0.isWhitespace }
        guard let first = rest.first, first != "#" else { return }
        if first == "[" { return begin(rest.dropFirst(), line) }
        // Accepts the form of the command line.
        if rest.hasPrefix("--") { rest = rest.dropFirst(2) }
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        rest = rest.dropFirst(name.count).drop { $0.isWhitespace }
        guard !name.isEmpty else {
            mistakes.append(mistake(line, "an option must have the form name=value"))
            return
        }
        var value: String?
        if rest.first == "=" {
            do throws(ValueError) {
                (value, rest) = try Self.value(of: rest.dropFirst().drop { $0.isWhitespace })
            } catch {
                mistakes.append(mistake(line, error.description))
                return
            }
        }
        rest = rest.drop { $0.isWhitespace }
        guard rest.isEmpty || rest.first == "#" else {
            mistakes.append(mistake(line, "'\(Self.shown(rest))' follows the option; write name=value"))
            return
        }
        add(Setting(line: line, name: String(name), value: value))
    }

    /// Parses a value. Returns it and the rest of the line.
    ///
    /// It is quoted by `"` or `'`, or has a length as in `%5%value`. A plain value ends at a comment or the end of the
    /// line.
    private static func value(of text: Substring) throws(ValueError) -> (String, Substring) {
        switch text.first {
        case "\"", "'":
            let inside = text.dropFirst()
            guard let end = inside.firstIndex(of: text.first!) else {
                throw ValueError("unterminated quote")
            }
            return (String(inside[..<end]), inside[inside.index(after: end)...])
        case "%":
            let digits = text.dropFirst().prefix { $0 != "%" }
            let inside = text.dropFirst(digits.count + 2)
            // The length is in bytes; it must not split a character.
            guard text.dropFirst(digits.count + 1).first == "%", let count = DecimalNumber.integer(digits),
                count <= inside.utf8.count,
                let value = String(validating: inside.utf8.prefix(count), as: UTF8.self)
            else { throw ValueError("a value with a length must have the form %5%value, with its number of bytes") }
            let rest = inside[inside.utf8.index(inside.startIndex, offsetBy: count)...]
            return (value, rest)
        default:
            let plain = text.prefix { $0 != "#" }
            var value = plain
            while value.last?.isWhitespace == true { value = value.dropLast() }
            return (String(value), text.dropFirst(plain.count))
        }
    }

    private mutating func begin(_ text: Substring, _ line: Int) {
        guard let end = text.firstIndex(of: "]") else {
            mistakes.append(mistake(line, "a profile must have the form [name]"))
            return
        }
        let name = String(text[..<end])
        let rest = text[text.index(after: end)...].drop { $0.isWhitespace }
        guard !name.isEmpty, rest.isEmpty || rest.first == "#" else {
            mistakes.append(mistake(line, "a profile must have the form [name] on a separate line"))
            return
        }
        // mpv's name for the settings before the first profile.
        if name == "default" { return current = nil }
        if let index = profiles.firstIndex(where: { $0.name == name }) { return current = index }
        count += 1
        profiles.append(Profile(name: name))
        current = profiles.count - 1
    }

    private mutating func add(_ setting: Setting) {
        count += 1
        guard let current else {
            settings.append(setting)
            return
        }
        if setting.name == "profile-desc" {
            profiles[current].description = setting.value ?? ""
        } else {
            profiles[current].settings.append(setting)
        }
    }

    /// Returns text for quoting in an error message.
    private static func shown(_ text: Substring) -> String {
        PrintableText.truncated(PrintableText.of(String(text)), to: 40)
    }
}

/// The lines of a user-written file, without line ends (LF or CR LF) and byte order mark.
struct ConfigLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private var isOver = false

    init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        rest = bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes[...]
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard !isOver else { return nil }
        let end = rest.firstIndex(of: 0x0A)
        var line = rest[..<(end ?? rest.endIndex)]
        if let end { rest = rest[(end + 1)...] } else { isOver = true }
        if line.last == 0x0D { line.removeLast() }
        return line
    }
}
