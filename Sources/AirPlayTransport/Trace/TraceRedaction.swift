internal import AirPlayWire
internal import MediaCore

/// Turns messages into JSON without what identifies a speaker, its owner or this computer.
///
/// Everything is replaced that is not known to be harmless: a property that a later receiver adds must not leak. Equal
/// values have equal replacements, so that a reader still sees which messages name the same thing.
struct TraceRedaction {
    /// The numbers of the replaced values, by hash: the values are not held. At most `maxNumbers`; further ones are all
    /// 0.
    private var numbers: [Int: Int] = [:]

    private static let maxNumbers = 10_000
    /// The maximum length of a harmless string.
    private static let maxText = 160

    /// The members of property lists whose strings describe a model, not a device.
    private static let harmlessMembers: Set<String> = [
        "model", "manufacturer", "sourceversion", "srcvers", "osversion", "osvers", "osbuildversion", "protocolversion",
        "protovers", "firmwareversion", "firmwarerevision", "hardwarerevision", "sdk", "build", "features",
        "featuresex",
        "timingprotocol", "audiotype", "audiomode", "type", "vv", "statusflags", "category",
    ]
    /// The header fields whose values describe the protocol.
    private static let harmlessFields: Set<String> = [
        "cseq", "content-type", "content-length", "server", "user-agent", "public", "audio-latency",
        "apple-jack-status",
        "x-apple-hkp", "x-apple-pd", "x-apple-et", "transport", "rtp-info", "range", "connection",
    ]
    /// The members whose numbers describe a model although they are large.
    private static let harmlessNumbers: Set<String> = [
        "features", "featuresex", "statusflags", "audiostream", "bufferstream", "lowlatencyaudiostream", "audioformat",
        "audioformats", "audioinputformats", "audiooutputformats", "audiobuffersize", "rtptime", "networktimesecs",
        "flushfromts", "flushuntilts", "inputlatencymicros", "outputlatencymicros",
    ]
    /// The text parameters whose values are numbers of the protocol.
    private static let harmlessParameters: Set<String> = ["volume", "progress"]

    /// Returns the replacement of a value.
    mutating func replacement(of value: String) -> String {
        let hash = value.hashValue
        if let number = numbers[hash] { return "<\(number)>" }
        guard numbers.count < Self.maxNumbers else { return "<0>" }
        numbers[hash] = numbers.count + 1
        return "<\(numbers.count)>"
    }

    // MARK: Messages

    /// Returns the target: a path without its query, or the session's URL without address and number.
    mutating func target(_ target: String) -> String {
        guard target.hasPrefix("/") else {
            return target == "*" ? target : target.hasPrefix("rtsp:") ? "<session>" : replacement(of: target)
        }
        let path = target.prefix { $0 != "?" }
        return path.count <= 64 && path.utf8.allSatisfy(Self.isPathByte) ? String(path) : replacement(of: target)
    }

    mutating func headers(_ headers: RTSPHeaders) -> JSONValue {
        var members: [(String, JSONValue)] = []
        for field in headers.fields.prefix(64) {
            let isHarmless = Self.harmlessFields.contains(field.name.lowercased()) && Self.isHarmless(field.value)
            members.append((name(field.name), .text(isHarmless ? field.value : replacement(of: field.value))))
        }
        return .object(members)
    }

    /// Returns a body: a property list, the items of a pairing message, text parameters, or its size.
    mutating func body(_ body: [UInt8], of target: String, type: String?) -> JSONValue {
        if body.isEmpty { return .null }
        let type = type?.lowercased() ?? ""
        // ignored: what is no property list is described by its size.
        if let list = try? PropertyList(binary: body) { return .object([("list", self.list(list))]) }
        // ignored: see above.
        if target.hasPrefix("/pair-"), let items = try? TLV8(decoding: body) { return pairing(items) }
        if type.hasPrefix("text/parameters"), let text = parameters(body) { return text }
        return .object([("bytes", .integer(body.count))])
    }

    private func pairing(_ message: TLV8) -> JSONValue {
        .object([
            (
                "pairing",
                .array(
                    message.items.map { item in
                        let isPlain = [.state, .error, .method, .flags].contains(item.tag) && item.value.count <= 4
                        return .object([
                            ("type", .integer(Int(item.tag.rawValue))), ("bytes", .integer(item.value.count)),
                            ("value", isPlain ? .array(item.value.map { .integer(Int($0)) }) : .null),
                        ])
                    })
            )
        ])
    }

    private mutating func parameters(_ body: [UInt8]) -> JSONValue? {
        let lines = String(decoding: body.prefix(4096), as: UTF8.self).split(whereSeparator: \.isNewline)
        var members: [(String, JSONValue)] = []
        for line in lines.prefix(16) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                members.append(("line", .text(replacement(of: String(line)))))
                continue
            }
            let key = parts[0].lowercased()
            let value = parts[1].trimmingPrefix(while: \.isWhitespace)
            let isPlain =
                Self.harmlessParameters.contains(key)
                && value.utf8.allSatisfy { "0123456789+-./".utf8.contains($0) }
            members.append((name(String(parts[0])), .text(isPlain ? String(value) : replacement(of: String(value)))))
        }
        return .object([("parameters", .object(members))])
    }

    // MARK: Property lists

    mutating func list(_ list: PropertyList) -> JSONValue { value(list, of: "") }

    private mutating func value(_ value: PropertyList, of member: String, depth: Int = 0) -> JSONValue {
        guard depth < 16 else { return .null }
        let key = member.lowercased()
        switch value {
        case .integer(let number):
            if Self.isPlainNumber(number, of: key) { return .integer(Int(number)) }
            return .object([("number", .text(replacement(of: String(number))))])
        case .unsigned(let number):
            let text = String(number)
            return .object([("number", .text(Self.harmlessNumbers.contains(key) ? text : replacement(of: text)))])
        case .real(let number):
            if number.magnitude < 0x1p32 { return .object([("real", .real(number, decimals: 6))]) }
            return .object([("number", .text(replacement(of: String(number))))])
        case .boolean(let flag): return .flag(flag)
        case .string(let text):
            let isHarmless = Self.harmlessMembers.contains(key) && Self.isHarmless(text)
            return .text(isHarmless ? text : replacement(of: text))
        case .data(let bytes): return .object([("bytes", .integer(bytes.count))])
        case .date: return .object([("date", .null)])
        case .uid: return .object([("uid", .null)])
        case .null: return .null
        case .array(let elements):
            var values: [JSONValue] = []
            for element in elements.prefix(256) { values.append(self.value(element, of: member, depth: depth + 1)) }
            return .array(values)
        case .dictionary(let members):
            var values: [(String, JSONValue)] = []
            for (key, member) in members.sorted(by: { $0.key < $1.key }).prefix(256) {
                values.append((name(key), self.value(member, of: key, depth: depth + 1)))
            }
            return .object(values)
        }
    }

    /// Returns a name of a member or field; one that may be an identifier is replaced.
    private mutating func name(_ name: String) -> String {
        // A name with a dot may be that of a host.
        let isPlain =
            !name.isEmpty && name.count <= 48 && name.utf8.allSatisfy(Self.isNameByte) && !name.contains(".")
        return isPlain && !Self.isIdentifier(name) ? name : replacement(of: name)
    }

    /// Large numbers may be clock identities, addresses or serial numbers.
    private static func isPlainNumber(_ number: Int64, of key: String) -> Bool {
        if harmlessNumbers.contains(key) { return true }
        return number.magnitude < (key.hasSuffix("id") ? 1 << 16 : 1 << 20)
    }

    // MARK: Texts

    private static func isHarmless(_ text: String) -> Bool {
        text.utf8.count <= maxText && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && !isIdentifier(text)
    }

    /// Whether a text contains what may be an address or an identifier: an IP address, or twelve hexadecimal digits
    /// with at most separators between them, as in a UUID.
    static func isIdentifier(_ text: String) -> Bool {
        var (digits, run) = (0, 0)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                (digits, run) = (digits + 1, run + 1)
            case UInt8(ascii: ":"), UInt8(ascii: "-"): run = 0
            // Groups of an address have two or four digits.
            case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: " "):
                if run != 2 && run != 4 { digits = 0 }
                run = 0
            default: (digits, run) = (0, 0)
            }
            if digits >= 12 { return true }
        }
        if text.contains("::") { return true }
        // Four numbers in a row are an address of IPv4, or a version, which is no loss.
        var numbers = 0
        for part in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "." || $0 == "-" }) {
            let number = part.drop { !$0.isNumber }.prefix { $0.isNumber }
            numbers = UInt8(number) != nil ? numbers + 1 : 0
            if numbers >= 4 { return true }
        }
        return false
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool { isNameByte(byte) || byte == UInt8(ascii: "/") }
}
