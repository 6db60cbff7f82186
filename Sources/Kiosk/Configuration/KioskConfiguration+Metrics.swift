internal import MediaCore
import Remote
internal import Sockets

extension KioskConfiguration {
    /// Accessible from this computer only.
    static let standardMetrics = HTTPAddress(address: .loopback, port: 9595)

    /// Reads `[control]`: `group = "operators"`.
    mutating func readControl(_ reader: inout TableReader) {
        guard var inner = reader.inside("control", expected: "a table, [control] with group = \"operators\"") else {
            return
        }
        controlGroup = inner.value("group") { value throws(ValueError) in
            guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 64, !text.utf8.contains(0) else {
                throw ValueError("expected the name of a group")
            }
            return text
        }
        reader.finish(inner)
    }

    /// Reads `[metrics]`: `listen = "127.0.0.1:9595"`, or false.
    mutating func readMetrics(_ reader: inout TableReader) {
        let expected = "a table, [metrics] with listen = \"127.0.0.1:9595\""
        guard var inner = reader.inside("metrics", expected: expected) else { return }
        inner.read("listen", into: &metrics) { value throws(ValueError) in
            switch value {
            case .flag(false): return nil
            case .string(let text): return try HTTPAddress(parsing: text)
            default: throw ValueError("expected an address such as \"127.0.0.1:9595\", or false")
            }
        }
        reader.finish(inner)
    }
}
