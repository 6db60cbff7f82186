package import MediaCore
internal import Profiles
internal import SyncRendering

extension SpeakerAnswer {
    /// The members of the JSON report for this speaker; offsets in milliseconds.
    var json: [(String, JSONValue)] {
        [
            ("speaker", .text(speaker.name)), ("id", .text(speaker.key)), ("route", .text(speaker.route)),
            ("offset_ms", isOffsetKnown ? .real(offset, decimals: 3) : .null), ("sigma_ms", .real(sigma, decimals: 3)),
            (
                "ci95_ms",
                isOffsetKnown
                    ? .array([.real(interval.lowerBound, decimals: 3), .real(interval.upperBound, decimals: 3)]) : .null
            ),
            ("events_used", .integer(used)),
            (
                "events_rejected",
                .array(
                    rejected.map {
                        .object([
                            ("event", .integer($0.event)), ("reason", .text($0.rejection ?? "")),
                            ("offset_ms", .optional(isOffsetKnown ? $0.offset : nil, decimals: 3)),
                        ])
                    })
            ),
            ("drift_ppm", .optional(drift?.ppm, decimals: 2)),
            ("drift_error_ppm", .optional(drift?.error, decimals: 2)),
            ("verdict", isOffsetKnown ? .text(verdict.name) : .null),
            (
                "recommendations",
                isOffsetKnown
                    ? .array(
                        zip(LipSyncVerdict.limits, verdict.isMet).map { limit, isMet in
                            .object([
                                ("document", .text(limit.document)),
                                ("earliest_ms", .real(limit.range.lowerBound, decimals: 0)),
                                ("latest_ms", .real(limit.range.upperBound, decimals: 0)), ("met", .flag(isMet)),
                            ])
                        }) : .null
            ),
            ("sound_ms", .real(audioRest, decimals: 3)), ("screen_ms", .real(screenRest, decimals: 3)),
            ("screen_source", .text(screenShare.rawValue)), ("behind_first_ms", .optional(behindFirst, decimals: 3)),
            ("behind_first_half_width_ms", .optional(behindFirstHalfWidth, decimals: 3)),
            ("random_half_width_ms", .optional(randomHalfWidth, decimals: 3)),
        ]
    }

    /// The result as rows of a table.
    var text: String {
        func row(_ name: String, _ value: String) -> String {
            "  " + name + String(repeating: " ", count: max(1, 12 - name.count)) + value
        }
        var lines = ["\(speaker.name) (\(speaker.route))"]
        if isOffsetKnown {
            lines.append(
                row(
                    "offset",
                    "\(Decimals.signed(offset, 2)) ms: sound is \(offset >= 0 ? "later" : "earlier") than picture"))
            lines.append(
                row(
                    "confidence",
                    "\(Decimals.signed(interval.lowerBound, 2)) to \(Decimals.signed(interval.upperBound, 2)) ms "
                        + "(95 %); standard deviation \(Decimals.text(sigma, 2)) ms"))
            if let randomHalfWidth {
                lines.append(row("", "±\(Decimals.text(randomHalfWidth, 2)) ms without the camera's own offset"))
            }
        }
        if let behindFirst, behindFirstHalfWidth != nil {
            lines.append(
                row(
                    "rooms",
                    "\(Decimals.signed(behindFirst, 2)) ms after the first speaker, ± \(Decimals.text(behindFirstHalfWidth ?? 0, 2)) ms"
                ))
        }
        lines.append(row("events", "\(used) used, \(rejected.count) rejected" + rejectionText))
        if let drift {
            lines.append(
                row(
                    "drift",
                    "\(Decimals.signed(drift.ppm, 1)) ± \(Decimals.text(drift.error, 1)) ppm (positive: sound is increasingly late)"
                ))
        }
        guard isOffsetKnown else { return lines.joined(separator: "\n") + "\n" }
        lines.append(row("verdict", verdict.sentence + ", as measured"))
        for (limit, isMet) in zip(LipSyncVerdict.limits, verdict.isMet) {
            let range =
                "\(Decimals.signed(limit.range.lowerBound, 0)) to \(Decimals.signed(limit.range.upperBound, 0)) ms"
            lines.append(row("", "\(isMet ? "met " : "not ") \(limit.document): \(range)"))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var rejectionText: String {
        let reasons = Dictionary(grouping: rejected.compactMap(\.rejection), by: { $0 }).mapValues(\.count)
        guard !reasons.isEmpty else { return "" }
        return " (" + reasons.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + ")"
    }
}

extension CalibrationAnswer {
    /// Returns the JSON report.
    ///
    /// - Parameter isStored: Whether the result was stored as a profile.
    package func json(isStored: Bool) -> JSONValue {
        let common: [(String, JSONValue)] = [
            ("way", .text(way.rawValue)), ("screen", .optional(display?.name)), ("mode", .optional(display?.mode)),
            ("sign", .text("positive when sound is later than picture")),
            ("remarks", .array(remarks.map(JSONValue.text))), ("stored", .flag(isStored)),
        ]
        // The members of the first speaker are at the top level.
        guard let first = speakers.first else { return .object(common) }
        guard speakers.count > 1 else { return .object(first.json + common) }
        return .object(first.json + common + [("speakers", .array(speakers.map { .object($0.json) }))])
    }

    /// Returns the report as text.
    package func text(isStored: Bool) -> String {
        var text = "offsets are positive when sound is later than picture (Sync-One2 uses the opposite sign)\n"
        for speaker in speakers { text += speaker.text }
        for remark in remarks { text += "note: \(PrintableText.sentence(remark))\n" }
        text += isStored ? "stored; applied to every film from now on\n" : "not stored\n"
        return text
    }
}
