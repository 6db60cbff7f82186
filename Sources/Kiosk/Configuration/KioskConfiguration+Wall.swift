internal import Glibc
internal import MediaCore

extension KioskConfiguration {
    /// `[wall]`: several kiosks show the same films in sync.
    struct Wall: Sendable, Hashable {
        /// The address of this computer, or the path of the socket, at which chronyd is queried.
        var chrony = "127.0.0.1"
        /// The UDP port of chronyd.
        var chronyPort = 323

        init() {}
    }
}

extension KioskConfiguration.Wall {
    /// Reads the table; nil if it is absent, or `follow` is false.
    init?(_ reader: inout TableReader) {
        guard var inner = reader.inside("wall", expected: "a table, [wall]") else { return nil }
        let follows = inner.value("follow") { value throws(ValueError) in
            guard case .flag(let flag) = value else {
                throw ValueError("expected true or false, not \(value.kindName)")
            }
            return flag
        }
        inner.read("chrony", into: &chrony) { value throws(ValueError) in
            // chronyc would parse a leading hyphen as an option.
            guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 255, !text.hasPrefix("-") else {
                throw ValueError(
                    "expected an address of this computer or chronyd's socket, such as \"127.0.0.1\"; time servers are "
                        + "set in chrony.conf")
            }
            return text
        }
        if let node = inner.table["chrony"], case .string = node.value,
            !chrony.hasPrefix("/") && chrony != "localhost" && !Self.isNumeric(chrony)
        {
            inner.addRemark(
                node.line,
                "chrony: '\(PrintableText.of(chrony))' must be a name of this computer; time servers are set in "
                    + "chrony.conf")
        }
        inner.read("chrony_port", into: &chronyPort) { value throws(ValueError) in
            guard case .integer(let port) = value, (1...65535).contains(port) else {
                throw ValueError("expected a port from 1 to 65535; chrony's is 323")
            }
            return Int(port)
        }
        reader.finish(inner)
        if follows == false { return nil }
    }

    /// Whether a text is an IPv4 or IPv6 address.
    private static func isNumeric(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
    }
}
