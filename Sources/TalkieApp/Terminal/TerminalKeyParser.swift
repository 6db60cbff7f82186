internal import MediaCore

/// Parses terminal input into mpv's key names. Unknown sequences are discarded whole, and memory is bounded.
///
/// Sequences are those of ECMA-48 with xterm's parameters ("XTerm Control Sequences", PC-style function keys).
struct TerminalKeyParser {
    private var held: [UInt8] = []
    private static let longestSequence = 32

    /// Whether an incomplete sequence is held. It may be a single ESC key: call `flush` if nothing follows within some
    /// tens of milliseconds.
    var isWaiting: Bool { !held.isEmpty }

    mutating func feed(_ bytes: some Sequence<UInt8>) -> [String] {
        var keys: [String] = []
        for byte in bytes {
            held.append(byte)
            if let key = match() {
                if !key.isEmpty { keys.append(key) }
                held.removeAll(keepingCapacity: true)
            } else if held.count >= Self.longestSequence {
                held.removeAll(keepingCapacity: true)
            }
        }
        return keys
    }

    /// Ends an incomplete sequence and returns its keys.
    mutating func flush() -> [String] {
        defer { held.removeAll(keepingCapacity: true) }
        switch held {
        case [0x1B]: return ["ESC"]
        case [0x1B, UInt8(ascii: "[")]: return ["Alt+["]
        case [0x1B, UInt8(ascii: "O")]: return ["Alt+O"]
        default: return []
        }
    }

    /// Returns the key of the held bytes, empty for an unknown sequence; nil if it is incomplete.
    private func match() -> String? {
        guard held[0] == 0x1B else { return plain(held) }
        guard held.count > 1 else { return nil }
        switch held[1] {
        case UInt8(ascii: "["): return controlSequence()
        case UInt8(ascii: "O"):
            guard held.count > 2 else { return nil }
            // Numeric keypad in application mode.
            return held[2] == UInt8(ascii: "M") ? "KP_ENTER" : Self.finals[held[2]] ?? ""
        // ESC ESC [ … is Alt with a sequence, which is not supported.
        case 0x1B: return "ESC"
        default:
            return plain(Array(held[1...])).map {
                $0.isEmpty ? "" : Self.withModifiers($0, control: false, alt: true, shift: false)
            }
        }
    }

    private func plain(_ bytes: [UInt8]) -> String? {
        switch bytes[0] {
        case 0x09: return "TAB"
        case 0x0A, 0x0D: return "ENTER"
        case 0x08, 0x7F: return "BS"
        case 0x20: return "SPACE"
        case 0x23: return "SHARP"
        case 0x01...0x1A: return "Ctrl+" + String(Unicode.Scalar(bytes[0] + 0x60))
        case 0x21...0x7E: return String(Unicode.Scalar(bytes[0]))
        case 0xC2...0xF4:
            let wanted = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4
            if bytes.count < wanted { return nil }
            // Multi-byte control characters and direction marks are not keys.
            guard let text = String(validating: bytes, as: UTF8.self), PrintableText.of(text) == text else { return "" }
            return text
        default: return ""
        }
    }

    /// CSI parameters final (ECMA-48, 5.4).
    private func controlSequence() -> String? {
        guard held.count > 2 else { return nil }
        // The Linux console's function keys: ESC [ [ A.
        if held[2] == UInt8(ascii: "[") { return held.count > 3 ? "" : nil }
        guard let final = held.last, (0x40...0x7E).contains(final) else {
            // Parameters and intermediates continue the sequence; other bytes end it.
            return (0x20...0x3F).contains(held[held.count - 1]) ? nil : ""
        }
        let parameters = String(decoding: held[2..<(held.count - 1)], as: UTF8.self).split(
            separator: ";", omittingEmptySubsequences: false)
        let name =
            final == UInt8(ascii: "~")
            ? parameters.first.flatMap { Int($0) }.flatMap { Self.numbers[$0] } : Self.finals[final]
        guard let name else { return "" }
        // xterm sends one plus the sum of Shift 1, Alt 2 and Control 4.
        let code = parameters.count > 1 ? Int(parameters[1]) ?? 1 : 1
        let modifiers = (2...16).contains(code) ? code - 1 : 0
        return Self.withModifiers(
            name, control: modifiers & 4 != 0, alt: modifiers & 2 != 0, shift: modifiers & 1 != 0)
    }

    private static func withModifiers(_ name: String, control: Bool, alt: Bool, shift: Bool) -> String {
        (shift ? "Shift+" : "") + (control ? "Ctrl+" : "") + (alt ? "Alt+" : "") + name
    }

    private static let finals: [UInt8: String] = [
        UInt8(ascii: "A"): "UP", UInt8(ascii: "B"): "DOWN", UInt8(ascii: "C"): "RIGHT", UInt8(ascii: "D"): "LEFT",
        UInt8(ascii: "H"): "HOME", UInt8(ascii: "F"): "END",
        UInt8(ascii: "P"): "F1", UInt8(ascii: "Q"): "F2", UInt8(ascii: "R"): "F3", UInt8(ascii: "S"): "F4",
    ]

    private static let numbers: [Int: String] = [
        1: "HOME", 2: "INS", 3: "DEL", 4: "END", 5: "PGUP", 6: "PGDWN", 7: "HOME", 8: "END", 11: "F1", 12: "F2",
        13: "F3", 14: "F4", 15: "F5", 17: "F6", 18: "F7", 19: "F8", 20: "F9", 21: "F10", 23: "F11", 24: "F12",
    ]
}
