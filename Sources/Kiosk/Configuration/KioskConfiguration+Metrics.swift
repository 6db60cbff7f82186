internal import MediaCore

extension KioskConfiguration {
    /// Reads `[metrics]`: `listen = "127.0.0.1:9595"`, or false.
    mutating func readMetrics(_ reader: inout TableReader) {
        let expected = "a table, [metrics] with listen = \"127.0.0.1:9595\""
        guard var inner = reader.inside("metrics", expected: expected) else { return }
        inner.read("listen", into: &metrics) { value throws(ValueError) in
            switch value {
            case .flag(false): return nil
            case .string(let text): return try MetricsAddress(parsing: text)
            default: throw ValueError("expected an address such as \"127.0.0.1:9595\", or false")
            }
        }
        reader.finish(inner)
    }
}
