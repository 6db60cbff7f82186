package import MediaCore
package import SyncRendering

/// The contributions to an audio offset: every delay between submitting audio and presenting the corresponding video,
/// each with its source. Their sum is the offset in use, by which audio is sent before video.
package struct LatencyLedger: Sendable, Equatable {
    /// One contribution.
    package struct Share: Sendable, Equatable {
        /// `decode`, `queue`, `network`, `speaker`, `calibrated rest`, `screen`.
        package var name: String
        /// Milliseconds; positive values delay audio.
        package var milliseconds: Double
        /// Milliseconds.
        package var uncertainty: Double
        /// `reported`, `measured`, `calibrated`, `configured`, `assumed` or `unknown`.
        package var source: String
        /// An explanation for users.
        var note: String

        package init(
            _ name: String, _ milliseconds: Double, uncertainty: Double = 0, source: String, note: String = ""
        ) {
            self.name = name
            self.milliseconds = milliseconds
            self.uncertainty = uncertainty
            self.source = source
            self.note = note
        }
    }

    var speaker: String
    var route: String
    package var shares: [Share]
    /// The profile of the calibrated contributions; nil if none applies.
    package var profile: LatencyProfile?
    /// True if `profile` was measured with the current screen and mode.
    var isExact = true

    /// Milliseconds by which audio is sent before the page flip of its video frame.
    var offsetUsed: Double { shares.reduce(0) { $0 + $1.milliseconds } }

    /// Creates a ledger.
    ///
    /// - Parameters:
    ///   - stated: contributions that the output reports now, or reported at calibration.
    ///   - profile: nil if there is none, or the user's own delay replaces it.
    ///   - isPlaceKnown: false for a sound card without a known sink.
    package init(
        speaker: String, route: String, stated: [Share], profile: LatencyProfile?, isExact: Bool = true,
        isPlaceKnown: Bool = true
    ) {
        self.speaker = speaker
        self.route = route
        self.profile = profile
        self.isExact = isExact
        var shares = [Share("decode", 0, source: "reported", note: "done ahead of the playhead; adds no delay")]
        shares += stated
        if let profile, profile.offset != nil {
            let when = isExact ? "" : "measured with \(profile.key.screen) (\(profile.key.mode))"
            shares.append(
                Share(
                    "calibrated rest", profile.audioRest, uncertainty: profile.halfWidth, source: "calibrated",
                    note: when))
            let source =
                switch profile.screenSource {
                case "measured": "calibrated"
                case "stated": "reported"
                case "inside": "calibrated"
                default: profile.screenRest == 0 ? "unknown" : "measured"
                }
            let note =
                switch profile.screenSource {
                case "measured": "measured by a light sensor"
                case "stated": "stated by the display (EDID)"
                case "inside": "part of the calibrated rest"
                default: "the panel's own delay is unknown and not included"
                }
            shares.append(Share("screen", 0 - profile.screenRest, source: source, note: note))
        } else {
            let note =
                isPlaceKnown ? "not calibrated" : "the sink is unknown, so no calibration is applied"
            shares.append(Share("calibrated rest", 0, source: "unknown", note: note))
            shares.append(Share("screen", 0, source: "unknown", note: "not calibrated"))
        }
        self.shares = shares
    }

    /// The name of the share that a desktop's user has set for a sound server's port.
    static let portOffset = "desktop"

    /// Returns the reported latency of an output as `queue`, `network` and `speaker`.
    package static func stated(_ latency: OutputLatency, isCard: Bool) -> [Share] {
        func share(_ name: String, _ given: [LatencyShare], _ note: String) -> Share {
            let sum = given.reduce(Duration.zero) { $0 + $1.duration }.inMilliseconds
            let doubt = given.reduce(Duration.zero) { $0 + $1.uncertainty }.inMilliseconds
            return Share(name, sum, uncertainty: doubt, source: (given.first?.source ?? .reported).rawValue, note: note)
        }
        let network = latency.shares.filter { $0.name.hasPrefix("network") || $0.name.hasPrefix("path") }
        if isCard {
            let card = latency.shares.filter { $0.name == "sound card" }
            let isAssumed = card.contains { $0.source == .assumed }
            let note =
                isAssumed
                ? "the sound server's constant: the Bluetooth device reports no delay; calibrate it"
                : "the card's buffer, as reported by the driver"
            let desktop = latency.shares.filter { $0.name == "port offset" }.map {
                Share(
                    portOffset, $0.duration.inMilliseconds, source: $0.source.rawValue,
                    note: "the latency offset of the desktop's sound settings")
            }
            return [share("queue", card, note)] + desktop + [
                Share("network", 0, source: "reported", note: "no network"),
                Share("speaker", 0, source: "unknown", note: "the delay after the card is unknown"),
            ]
        }
        return [
            Share(
                "queue", 0, source: "reported",
                note: "buffered in the speaker, which plays each sample at its scheduled time"),
            share(
                "network", network,
                network.isEmpty ? "subtracted by the clock protocol" : "path delay minus the correction"),
            speaker(latency),
        ]
    }

    /// Returns the speaker's own delay: what it reports, and how much of that this sender subtracts.
    private static func speaker(_ latency: OutputLatency) -> Share {
        func stated(_ name: String) -> Duration? { latency.shares.first { $0.name == name }?.duration }
        let (buffer, output) = (stated("speaker buffer"), stated("speaker output"))
        guard buffer != nil || output != nil else {
            return Share("speaker", 0, source: "assumed", note: "reports no delay; assumed to compensate its own")
        }
        let rest = [buffer, output, stated("speaker's correction")].reduce(Duration.zero) { $0 + ($1 ?? .zero) }
        let estimates = [output.map { ($0, "output") }, buffer.map { ($0, "buffer") }].compactMap { $0 }
            .map { "\(Decimals.text($0.0.inMilliseconds, 1)) ms of \($0.1)" }
        let effect = rest == .zero ? "it compensates that itself" : "the output is sent earlier"
        return Share(
            "speaker", rest.inMilliseconds, source: "reported",
            note: "reports \(estimates.joined(separator: " and ")); \(effect)")
    }

    // MARK: Text and JSON

    /// A table for the terminal, in milliseconds.
    package var text: String {
        var lines = ["\(speaker) (\(route)): how much earlier than its picture the sound is sent, in ms"]
        for share in shares {
            let value = Decimals.signed(share.milliseconds, 3)
            let doubt = share.uncertainty > 0 ? " ± \(Decimals.text(share.uncertainty, 3))" : ""
            lines.append(
                "  \(Self.padded(share.name, 16))\(Self.padded(value + doubt, 20))\(Self.padded(share.source, 12))\(share.note)"
            )
        }
        lines.append("  \(Self.padded("offset used", 16))\(Decimals.signed(offsetUsed, 3))")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - PrintableText.width(of: text)))
    }

    package var json: JSONValue {
        .object([
            ("speaker", .text(speaker)), ("route", .text(route)), ("shares", .array(shares.map(\.json))),
            ("offset_used_ms", .real(offsetUsed, decimals: 3)),
            ("profile_matches", .flag(profile != nil && isExact)),
        ])
    }
}

extension LatencyLedger.Share {
    package var json: JSONValue {
        .object([
            ("share", .text(name)), ("ms", .real(milliseconds, decimals: 3)),
            ("uncertainty_ms", .real(uncertainty, decimals: 3)), ("source", .text(source)), ("note", .text(note)),
        ])
    }

    /// Parses untrusted JSON; nil if a value is missing or out of range.
    package init?(_ object: JSONNode) {
        guard let name = object.text("share"), let milliseconds = object.real("ms"),
            milliseconds.magnitude <= LatencyProfile.largestOffset
        else { return nil }
        self.init(
            String(name.prefix(32)), milliseconds,
            uncertainty: min(LatencyProfile.largestOffset, max(0, object.real("uncertainty_ms") ?? 0)),
            source: String((object.text("source") ?? "unknown").prefix(16)),
            note: String((object.text("note") ?? "").prefix(120)))
    }

    /// The line in a state file: milliseconds, uncertainty, source, name, note.
    var line: String {
        [Decimals.text(milliseconds, 6), Decimals.text(uncertainty, 6), source, name, note].joined(separator: "|")
    }

    /// Parses `line`; nil if it is malformed.
    init?(line: String) {
        let fields = line.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5, let value = DecimalNumber.signedBillionths(fields[0]),
            let doubt = DecimalNumber.signedBillionths(fields[1])
        else { return nil }
        self.init(fields[3], Double(value) / 1e9, uncertainty: Double(doubt) / 1e9, source: fields[2], note: fields[4])
    }
}
