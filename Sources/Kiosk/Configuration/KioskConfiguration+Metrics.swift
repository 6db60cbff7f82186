internal import MediaCore
import Remote
internal import Sockets

extension KioskConfiguration {
    /// Accessible from this computer only.
    static let standardMetrics = HTTPAddress(address: IPv4Address(rawValue: 0x7F00_0001), port: 9595)

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
