package import MediaCore

extension TimelineReport {
    /// The report for other programs. Milliseconds; offsets are positive when sound is later than picture.
    package var json: JSONValue {
        .object([
            ("claimed", .flag(true)),
            ("sound_from_speaker_record", .flag(matchedSamples > 0)),
            ("sign", .text("positive: sound later than picture")),
            ("program", .text(program)),
            ("seconds", .real(seconds, decimals: 3)),
            ("films", .array(films.map(JSONValue.text))),
            ("screen", .optional(screenMode)),
            ("routes", .array(routes.map(Self.json(of:)))),
            (
                "route_changes",
                .array(
                    changes.map { change in
                        .object([
                            ("route", .integer(change.route)), ("film", .real(change.film, decimals: 3)),
                            ("state", .text(change.hasJoined ? "joined" : "left")),
                        ])
                    })
            ),
            ("picture_error_ms", Self.json(of: videoError)),
            ("frames", .integer(frames)),
            ("dropped_late", .integer(droppedLate)),
            ("skipped_before_decoding", .integer(skippedBeforeDecoding)),
            ("starts", .integer(runningAnchors)),
            (
                "first_start",
                .array(
                    firstStart.phases.map { phase, duration in
                        let (cause, route): (String, Int?) =
                            switch phase {
                            case .film: ("film", nil)
                            case .lead: ("lead", nil)
                            case .wait(let cause, let route): (cause, route)
                            }
                        return .object([
                            ("phase", .text(cause)), ("route", .optional(route)),
                            ("ms", .real(Double(duration) / 1e6, decimals: 3)),
                        ])
                    })
            ),
            ("reanchors", .integer(max(0, runningAnchors - 1))),
            ("furthest_bend_ppm", .optional(furthestBend, decimals: 3)),
            ("suspensions", .integer(suspensions)),
            ("audio_delay_ms", .real(delayWanted * 1000, decimals: 3)),
            ("lost_events", .integer(lostEvents)),
            ("lines_understood", .integer(understoodLines)),
            ("lines_not_understood", .integer(garbageLines)),
            ("is_cut_off", .flag(isCutOff)),
        ])
    }

    private static func json(of route: ReportedRoutes.Route) -> JSONValue {
        .object([
            ("route", .integer(route.index)),
            ("name", .text(route.name)),
            ("kind", .text(route.kind)),
            ("offset_ms", json(of: route.offset.quantities)),
            (
                "drift_ms_per_minute",
                .optional(route.offset.trend.slope(over: shortestTrend).map { $0 * 60 }, decimals: 4)
            ),
            ("pictures_without_sound", .integer(route.offset.unmatched)),
            ("sound_error_ms", json(of: route.error)),
            (
                "correction_ppm",
                .array([
                    .optional(route.lowestPPM, decimals: 2), .optional(route.highestPPM, decimals: 2),
                ])
            ),
            ("delay_ms", .optional(route.latency.map { $0 * 1000 }, decimals: 3)),
            ("calibration_ms", .real(route.calibration * 1000, decimals: 3)),
            ("underruns", .integer(route.underruns)),
            ("underrun_ms", .real(route.missing * 1000, decimals: 1)),
            ("losses", .integer(route.losses)),
        ])
    }

    private static func json(of sketch: QuantileSketch) -> JSONValue {
        guard let values = sketch.quantiles([0.05, 0.5, 0.95]) else { return .null }
        return .object([
            ("median", .real(values[1], decimals: 3)),
            ("p5", .real(values[0], decimals: 3)),
            ("p95", .real(values[2], decimals: 3)),
            ("worst", .optional(sketch.worst, decimals: 3)),
            ("readings", .integer(sketch.count)),
        ])
    }
}
