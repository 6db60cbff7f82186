internal import MediaCore

extension KioskConfiguration {
    /// Reads `[metrics]`: `listen = "127.0.0.1:9595"`, or false.
    mutating func readMetrics(_ reader: inout TableReader) {
        guard let node = reader.node("metrics") else { return }
        guard case .table(let table) = node.value else {
            return reader.addMistake(node.line, "metrics: expected a table, [metrics] with listen = \"127.0.0.1:9595\"")
        }
        var inner = reader.inside(table)
        let listens = inner.value("listen") { value throws(ValueError) -> MetricsAddress? in
            switch value {
            case .flag(false): return nil
            case .string(let text): return try MetricsAddress(parsing: text)
            default: throw ValueError("expected an address such as \"127.0.0.1:9595\", or false")
            }
        }
        if let listens { metrics = listens }
        inner.finish()
        reader.addMistakes(inner.mistakes)
    }
}
