internal import MediaCore

/// A metric with its samples (Prometheus, "Exposition formats", text format 0.0.4).
struct MetricFamily: Sendable, Equatable {
    enum Kind: String, Sendable {
        case counter = "counter"
        case gauge = "gauge"
    }

    struct Sample: Sendable, Equatable {
        var labels: [Label]
        var value: Double

        init(_ value: Double, _ labels: [Label] = []) { (self.labels, self.value) = (labels, value) }
    }

    struct Label: Sendable, Equatable {
        let name: StaticString
        var value: String

        init(_ name: StaticString, _ value: String) { (self.name, self.value) = (name, value) }

        package static func == (left: Label, right: Label) -> Bool {
            left.name.description == right.name.description && left.value == right.value
        }
    }

    /// Letters, digits and underscores, with the unit; the name of a counter ends in `_total`.
    let name: StaticString
    let help: StaticString
    let kind: Kind
    var samples: [Sample]

    init(_ name: StaticString, _ kind: Kind, help: StaticString, samples: [Sample]) {
        (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
    }

    /// Creates a metric with one value, or without samples if it is nil.
    init(_ name: StaticString, _ kind: Kind, help: StaticString, value: Double?) {
        self.init(name, kind, help: help, samples: value.map { [Sample($0)] } ?? [])
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.name.description == right.name.description && left.kind == right.kind && left.samples == right.samples
    }

    /// Returns the metrics in text format; those without samples are omitted.
    static func text(of families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(escaped(family.help.description, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                let labels = sample.labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
                let group = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
                text += "\(family.name)\(group) \(number(sample.value))\n"
            }
        }
        return text
    }

    /// Escapes backslashes and line feeds, and quotation marks in label values.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns a number as Go parses it.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), value.magnitude < 1e15 { return "\(Int64(value))" }
        // Exact to the nanosecond: durations are converted to seconds by a division.
        return value.magnitude < 1e9 ? Decimals.short(value, atMost: 9) : "\(value)"
    }
}
