/// Functions on one event of Advanced SubStation Alpha as stored by Matroska
/// (`ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text`).
enum SubtitleEvent {
    /// Maximum size in bytes; longer events are drawings that take seconds to render, or damage.
    static let longest = 64 << 10

    /// Returns whether an event moves, fades or changes colour. False positives are possible, false negatives are not.
    static func isAnimated(_ event: some Collection<UInt8>) -> Bool {
        let fields = event.split(separator: UInt8(ascii: ","), maxSplits: 8, omittingEmptySubsequences: false)
        guard fields.count == 9 else { return false }
        let effect = String(decoding: fields[7], as: UTF8.self).drop { $0 == " " }.lowercased()
        // The effects supported by libass: "Banner;", "Scroll up;", "Scroll down;".
        if effect.hasPrefix("banner") || effect.hasPrefix("scroll") { return true }
        var rest = fields[8]
        while let open = rest.firstIndex(of: UInt8(ascii: "{")) {
            rest = rest[open...].dropFirst()
            // An unterminated brace is text.
            guard let close = rest.firstIndex(of: UInt8(ascii: "}")) else { return false }
            if overridesMove(rest[..<close]) { return true }
            rest = rest[close...].dropFirst()
        }
        return false
    }

    /// Returns whether overrides animate: `\t`, `\move`, `\fad`, `\fade`, and karaoke (`\k`, `\K`, `\kf`, `\ko`).
    private static func overridesMove(_ block: some Collection<UInt8>) -> Bool {
        let space: Set<UInt8> = [0x20, 0x09]
        for part in block.split(separator: UInt8(ascii: "\\"), omittingEmptySubsequences: false).dropFirst() {
            let name = part.drop { space.contains($0) }
            if name.first == UInt8(ascii: "k") || name.first == UInt8(ascii: "K") { return true }
            if name.starts(with: "move".utf8) || name.starts(with: "fad".utf8) { return true }
            if name.first == UInt8(ascii: "t"),
                name.dropFirst().first(where: { !space.contains($0) }) == UInt8(ascii: "(")
            {
                return true
            }
        }
        return false
    }

    /// Returns the text of an event in style Default, without overrides, effects and margins; empty for a drawing.
    static func plain(_ event: [UInt8]) -> [UInt8] {
        let fields = event.split(separator: UInt8(ascii: ","), maxSplits: 8, omittingEmptySubsequences: false)
        guard fields.count == 9 else { return [] }
        var text: [UInt8] = []
        var rest = fields[8]
        while let open = rest.firstIndex(of: UInt8(ascii: "{")),
            let close = rest[open...].firstIndex(of: UInt8(ascii: "}"))
        {
            text += rest[..<open]
            if draws(rest[open..<close]) { return [] }
            rest = rest[(close + 1)...]
        }
        text += rest
        return fields[0] + Array(",0,Default,,0,0,0,,".utf8) + text
    }

    /// Returns whether a block begins a drawing: `\p1` and above, not `\pos` or `\pbo`.
    private static func draws(_ block: ArraySlice<UInt8>) -> Bool {
        block.split(separator: UInt8(ascii: "\\")).dropFirst().contains { part in
            part.first == UInt8(ascii: "p") && part.dropFirst().first.map { (49...57).contains($0) } ?? false
        }
    }

    /// Returns the event with invalid UTF-8 replaced; the renderer would refuse it.
    static func repaired(_ event: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        String(validating: event, as: UTF8.self) != nil
            ? Array(event) : Array(String(decoding: event, as: UTF8.self).utf8)
    }
}
