internal import MediaCore

extension TimelineReport {
    /// Minimum duration of the record in seconds for a drift of the offset.
    static let shortestTrend = 10.0

    /// The report as text for a terminal.
    package var text: String {
        var lines: [String] = []
        lines.append(
            heard == nil
                ? "claimed by the player itself; only an external meter measures the true offset"
                : "picture as claimed by the player, sound as recorded by the software speaker")
        lines.append("offsets are positive when sound is later than picture")
        lines.append("")
        lines.append(
            "record    \(Decimals.clock(seconds: seconds))\(program.isEmpty ? "" : " by \(program)")\(filmText)")
        for route in routes { lines += routeText(route) }
        for change in changes {
            let name = routes.first { $0.index == change.route }.map { "'\($0.name)'" } ?? "route \(change.route)"
            let position = change.film.magnitude < 1e8 ? Decimals.clock(seconds: max(0, change.film)) : "?"
            lines.append(
                "change    \(name) \(change.hasJoined ? "is heard" : "is silent") from \(position) of the film")
        }
        if routes.isEmpty { lines.append("offset    no sound was recorded to compare with the picture") }
        lines.append("picture   " + Self.quantityText(videoError, late: "late"))
        lines.append(
            "          \(frames) shown, \(droppedLate) dropped late (\(shareText(droppedLate))), "
                + "\(skippedBeforeDecoding) skipped before decoding\(screenMode.map { "; screen \($0)" } ?? "")")
        lines += startText
        lines.append("line      \(count(runningAnchors, "start")), \(count(max(0, runningAnchors - 1), "re-anchor"))")
        if let furthestBend {
            lines.append("          bent by up to \(Decimals.signed(furthestBend, 1)) ppm to follow a speaker's clock")
        }
        if suspensions > 0 { lines.append("          the computer was suspended \(count(suspensions, "time"))") }
        for remark in remarks { lines.append("note      \(remark)") }
        return lines.joined(separator: "\n") + "\n"
    }

    private var filmText: String {
        guard let first = films.first else { return "" }
        return filmCount > 1 ? "; \(filmCount) films, the first '\(first)'" : "; film '\(first)'"
    }

    /// The phases of the first start; empty if the record has none.
    private var startText: [String] {
        guard runningAnchors > 0 else { return [] }
        func seconds(_ duration: Int64) -> String { Decimals.text(Double(duration) / 1e9, 3) + " s" }
        var lines = firstStart.phases.map { phase, duration in
            let what: String
            switch phase {
            case .film: what = "to open the film"
            case .lead: what = "from the announcement to the start"
            case .wait(let cause, let route):
                let name = routes.first { $0.index == route }.map { "'\($0.name)'" } ?? "the output"
                switch cause {
                case "opening": what = "until \(name) was open"
                case "clock": what = "until the clock of \(name) was synchronized"
                case "delay": what = "until the delay of \(name) was measured"
                case "sound": what = "until \(name) had enough sound"
                default: what = "until the \(PrintableText.of(cause)) was ready"
                }
            }
            return "\(seconds(duration)) \(what)"
        }
        if lines.count > 1 { lines.append("\(seconds(firstStart.duration)) in all") }
        return lines.enumerated().map { ($0 == 0 ? "start     " : "          ") + $1 }
    }

    private func routeText(_ route: ReportedRoutes.Route) -> [String] {
        let name = routes.count > 1 ? "route \(route.index) '\(route.name)': " : ""
        var lines = ["offset    " + name + Self.quantityText(route.offset.quantities)]
        if let drift = route.offset.trend.slope(over: Self.shortestTrend) {
            lines.append("          drifts \(Decimals.signed(drift * 60, 3)) ms a minute")
        }
        lines.append("sound     " + name + Self.quantityText(route.error, late: "late"))
        var facts: [String] = []
        if let low = route.lowestPPM, let high = route.highestPPM {
            facts.append("corrected by \(Decimals.signed(low, 1))…\(Decimals.signed(high, 1)) ppm")
        }
        facts.append(
            count(route.underruns, "underrun")
                + (route.underruns > 0 ? " of \(Decimals.text(route.missing * 1000, 0)) ms in total" : ""))
        if let latency = route.latency { facts.append("delay \(Decimals.text(latency * 1000, 1)) ms") }
        if route.calibration != 0 {
            facts.append(
                "calibrated by \(Decimals.signed(route.calibration * 1000, 1)) ms, which is not included in the offset")
        }
        if route.losses > 0 { facts.append("lost \(count(route.losses, "time"))") }
        lines.append("          " + facts.joined(separator: ", "))
        return lines
    }

    private static func quantityText(_ sketch: QuantileSketch, late: String = "") -> String {
        guard let values = sketch.quantiles([0.05, 0.5, 0.95]), let worst = sketch.worst else {
            return "nothing recorded"
        }
        let unit = late.isEmpty ? "ms" : "ms \(late)"
        return "median \(Decimals.signed(values[1], 3)) \(unit), p5 \(Decimals.signed(values[0], 3)), "
            + "p95 \(Decimals.signed(values[2], 3)), worst \(Decimals.signed(worst, 3)) (\(sketch.count) readings)"
    }

    private func shareText(_ dropped: Int) -> String {
        let all = Double(frames) + Double(dropped)
        return all > 0 ? Decimals.text(Double(dropped) / all * 100, 3) + " %" : "0 %"
    }

    private func count(_ number: Int, _ one: String) -> String { "\(number) \(one)\(number == 1 ? "" : "s")" }

    /// Notes about the quality of the record.
    private var remarks: [String] {
        var remarks: [String] = []
        if delayWanted != 0 {
            remarks.append(
                "an audio delay of \(Decimals.signed(delayWanted * 1000, 0)) ms was requested and is not included in the offset"
            )
        }
        if heard != nil, matchedSamples == 0 {
            remarks.append("the speaker's record does not belong to this timeline")
        }
        if lostEvents > 0 {
            remarks.append("\(lostEvents) events are missing because the recorder was too slow or the disk was full")
        }
        if garbageLines > 0 { remarks.append("\(count(garbageLines, "line")) invalid and ignored") }
        if isCutOff { remarks.append("the last line is cut off") }
        let unmatched = routes.first?.offset.unmatched ?? 0
        if unmatched > 0 { remarks.append("\(count(unmatched, "picture")) had no sound to compare with") }
        return remarks
    }
}
