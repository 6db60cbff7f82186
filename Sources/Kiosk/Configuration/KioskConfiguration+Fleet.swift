internal import MediaCore

extension KioskConfiguration {
    /// `[fleet]`: remote control and monitoring over MQTT.
    package struct Fleet: Sendable, Hashable {
        var host: String
        var port: Int
        /// The name of this kiosk, one level of its topics.
        package var name: String
        /// The first levels of all topics.
        var prefix = "talkie"
        package var user: String?
        /// The path of the file that contains the password.
        package var passwordFile: String?
        /// The path of a file with the trusted certificate authorities; nil: the system's.
        package var authorities: String?
        /// Whether the connection uses TLS.
        package var isEncrypted = false

        package init(host: String, port: Int = 1883, name: String) {
            (self.host, self.port, self.name) = (host, port, name)
        }
    }
}

extension KioskConfiguration.Fleet {
    /// Reads the table; nil if it is absent or invalid.
    init?(_ reader: inout TableReader, folder: String) {
        guard var inner = reader.inside("fleet", expected: "a table, [fleet]") else { return nil }
        let table = inner.table
        let broker = inner.value("broker", Self.broker)
        let name = inner.value("name") { value throws(ValueError) in try Self.level(value) }
        let prefix = inner.value("prefix") { value throws(ValueError) in try Self.levels(value) }
        let user = inner.value("user") { value throws(ValueError) in try Self.text(value, "expected a name") }
        let passwordFile = inner.value("password_file") { value throws(ValueError) in
            try Self.text(value, "expected the path of a file with the password")
        }
        let authorities = inner.value("ca_file") { value throws(ValueError) in
            try Self.text(value, "expected the path of a file with certificates")
        }
        if table["broker"] == nil {
            inner.addMistake(table.line, "a fleet needs a broker, such as broker = \"mqtt://10.0.0.2\"")
        }
        if table["name"] == nil {
            inner.addMistake(table.line, "a kiosk of a fleet needs a name, such as name = \"hall\"")
        }
        if passwordFile != nil, table["user"] == nil {
            inner.addMistake(
                table["password_file"]?.line ?? table.line, "password_file: a password needs a user; write user = \"…\""
            )
        }
        if user != nil, table["password_file"] == nil {
            // MQTT 3.1.1, 3.1.2.9 permits it, and some brokers authenticate so.
            inner.addRemark(
                table["user"]?.line ?? table.line,
                "user: it is sent without a password; if the broker wants one, write password_file = \"…\"")
        }
        reader.finish(inner)
        guard let broker, let name else { return nil }
        func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
        self.init(host: broker.host, port: broker.port, name: name)
        if let prefix { self.prefix = prefix }
        self.user = user
        self.passwordFile = passwordFile.map(absolute)
        self.authorities = authorities.map(absolute)
        isEncrypted = broker.isEncrypted || authorities != nil
        if isEncrypted, !broker.hasPort { port = Self.encryptedPort }
    }

    /// The IANA ports of MQTT without and with TLS.
    private static let plainPort = 1883
    private static let encryptedPort = 8883

    private struct Broker {
        var host: String
        var port: Int
        var hasPort: Bool
        var isEncrypted: Bool
    }

    /// Parses `mqtt://host`, `mqtts://host:8884` or `mqtt://[::1]:1883`.
    private static func broker(_ value: TOMLDocument.Value) throws(ValueError) -> Broker {
        let wanted = "a broker is written \"mqtt://10.0.0.2\", \"mqtt://10.0.0.2:1884\" or \"mqtts://…\""
        guard case .string(let text) = value, let separator = text.firstRange(of: "://") else {
            throw ValueError(wanted)
        }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard scheme == "mqtt" || scheme == "mqtts" else { throw ValueError(wanted) }
        var rest = text[separator.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains("@") else { throw ValueError("no password in an address; write user and password_file") }
        var host = rest
        var port: Substring?
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw ValueError(wanted) }
            host = rest[rest.index(after: rest.startIndex)..<end]
            let behind = rest[rest.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { throw ValueError(wanted) }
            if !behind.isEmpty { port = behind.dropFirst() }
        } else if let colon = rest.firstIndex(of: ":") {
            (host, port) = (rest[..<colon], rest[rest.index(after: colon)...])
        }
        let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
        guard !host.isEmpty, host.utf8.count <= 253, isPlain else { throw ValueError(wanted) }
        guard let port else {
            return Broker(host: String(host), port: plainPort, hasPort: false, isEncrypted: scheme == "mqtts")
        }
        guard let number = DecimalNumber.integer(port), (1...65535).contains(number) else {
            throw ValueError("a port is a number from 1 to 65535")
        }
        return Broker(host: String(host), port: number, hasPort: true, isEncrypted: scheme == "mqtts")
    }

    private static func text(_ value: TOMLDocument.Value, _ wanted: String) throws(ValueError) -> String {
        guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 1024, !text.utf8.contains(0) else {
            throw ValueError(wanted)
        }
        return text
    }

    /// Parses one topic level (MQTT 3.1.1, 4.7): no separators, no wildcards, printable characters only.
    private static func level(_ value: TOMLDocument.Value) throws(ValueError) -> String {
        let wanted = "expected a name of at most 64 bytes, without / # + and not \"all\""
        let text = try text(value, wanted)
        guard isLevel(text), text != "all" else { throw ValueError(wanted) }
        return text
    }

    private static func levels(_ value: TOMLDocument.Value) throws(ValueError) -> String {
        let wanted = "expected a topic prefix, such as \"talkie\" or \"house/talkie\""
        let text = try text(value, wanted)
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count <= 8, levels.allSatisfy({ isLevel(String($0)) }), !text.hasPrefix("$") else {
            throw ValueError(wanted)
        }
        return text
    }

    private static func isLevel(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && PrintableText.of(text) == text
            && !text.contains { "/#+".contains($0) }
    }
}
