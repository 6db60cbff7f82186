package import MediaCore

/// Checks what this machine supports, with remedies. Must run on the main thread, as displays require. Plays no sound
/// and opens no window.
package enum Doctor {
    /// Runs all checks. Blocks for several seconds.
    package static func examine() -> [Finding] {
        DisplayCheck.findings() + SoundCardCheck.findings() + SoundServerCheck.findings() + DecoderCheck.findings()
            + PriorityCheck.findings() + ClockCheck.findings() + CapabilityCheck.findings() + PortCheck.findings()
            + FirewallCheck.findings() + DiscoveryCheck.findings()
    }

    /// Returns the findings as text for a terminal.
    package static func text(_ findings: [Finding]) -> String {
        let width = findings.map(\.topic.count).max() ?? 0
        var lines: [String] = []
        for finding in findings {
            let topic = finding.topic + String(repeating: " ", count: width - finding.topic.count)
            let mark =
                switch finding.verdict {
                case .good: "good   "
                case .limited: "limited"
                case .missing: "missing"
                }
            lines.append("\(mark)  \(topic)  \(PrintableText.of(finding.text))")
            if let remedy = finding.remedy {
                lines.append(String(repeating: " ", count: width + 11) + "→ " + PrintableText.of(remedy))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the findings as JSON.
    package static func json(_ findings: [Finding]) -> JSONValue {
        .object([
            ("version", .text(Release.version)),
            (
                "findings",
                .array(
                    findings.map { finding in
                        .object([
                            ("topic", .text(finding.topic)), ("verdict", .text(finding.verdict.rawValue)),
                            ("text", .text(finding.text)), ("remedy", .optional(finding.remedy)),
                        ])
                    })
            ),
        ])
    }
}
