internal import MediaCore
internal import SyncRendering

/// The responses of the metrics server.
enum MetricsText {
    /// The version of the text format since 2014.
    static let type = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns all metrics in the text format of Prometheus.
    static func metrics(_ health: KioskHealth, at now: HostInstant) -> String {
        let health = health.withoutFolders
        let verdict = health.verdict(at: now)
        var isWell = false
        if case .well = verdict { isWell = true }
        var families = [
            MetricFamily(
                "talkie_build_info", .gauge, help: "Version of Talkie.",
                samples: [.init(1, [.init("version", Release.version)])]),
            MetricFamily("talkie_healthy", .gauge, help: "1 while the kiosk is healthy.", value: isWell ? 1 : 0),
            MetricFamily(
                "talkie_shown", .gauge, help: "What is shown: 1 for the current state.", samples: shown(health.shown)),
            MetricFamily(
                "talkie_uptime_seconds", .gauge, help: "Time since the process started.", value: health.uptime.inSeconds
            ),
            MetricFamily(
                "talkie_restarts_total", .counter, help: "Number of restarts of the process.",
                value: Double(health.restarts)),
            MetricFamily(
                "talkie_picture_age_seconds", .gauge, help: "Time since a picture became visible.",
                value: health.sinceFrame?.inSeconds),
            MetricFamily(
                "talkie_sound_age_seconds", .gauge, help: "Time since an output accepted sound.",
                value: health.sinceAudio?.inSeconds),
            MetricFamily(
                "talkie_av_offset_seconds", .gauge, help: "Sound minus picture: positive when sound is late.",
                value: health.offset?.inSeconds),
            MetricFamily(
                "talkie_room_skew_seconds", .gauge, help: "Largest difference between two outputs.",
                value: health.skew?.inSeconds),
            MetricFamily("talkie_pictures_total", .counter, help: "Pictures shown.", value: Double(health.frames)),
            MetricFamily(
                "talkie_dropped_pictures_total", .counter, help: "Pictures dropped.", value: Double(health.dropped)),
            MetricFamily(
                "talkie_degraded", .gauge, help: "Number of degradations while the kiosk plays.",
                value: Double(health.degradations.count)),
            MetricFamily(
                "talkie_skipped_items", .gauge, help: "Items of the list that are not played at present.",
                value: Double(health.skippedItems)),
            MetricFamily(
                "talkie_broken_items_total", .counter, help: "Items that were not played, or not completely.",
                value: Double(health.problemCount)),
            MetricFamily(
                "talkie_repairs_total", .counter, help: "Repairs made.",
                samples: health.repairs.sorted { $0.key < $1.key }.map {
                    .init(Double($0.value), [.init("stage", $0.key)])
                }),
        ]
        families += outputs(health.outputs)
        families += item(health.item)
        families += configuration(health.configuration)
        return MetricFamily.text(of: families + health.more)
    }

    /// Returns status and body of `/healthz`.
    static func healthz(_ health: KioskHealth, at now: HostInstant) -> (status: Int, text: String) {
        switch health.withoutFolders.verdict(at: now) {
        case .well(let text): (200, "ok \(PrintableText.of(text))\n")
        case .ill(let reason): (503, PrintableText.of(reason) + "\n")
        }
    }

    private static func shown(_ shown: KioskHealth.Shown) -> [MetricFamily.Sample] {
        KioskHealth.Shown.names.map { .init($0 == shown.name ? 1 : 0, [.init("state", $0)]) }
    }

    private static func outputs(_ outputs: [KioskHealth.Output]) -> [MetricFamily] {
        // Prometheus rejects two samples with the same name and labels.
        var names: [String] = []
        for output in outputs {
            var (name, number) = (output.name, 1)
            while names.contains(name) { (name, number) = ("\(output.name) (\(number + 1))", number + 1) }
            names.append(name)
        }
        let named = zip(names, outputs)
        func samples(_ value: (KioskHealth.Output) -> Double?) -> [MetricFamily.Sample] {
            named.compactMap { name, output in value(output).map { .init($0, [.init("output", name)]) } }
        }
        return [
            MetricFamily(
                "talkie_output_connected", .gauge, help: "1 while the output is connected.",
                samples: samples { $0.isConnected ? 1 : 0 }),
            MetricFamily(
                "talkie_output_offset_seconds", .gauge, help: "Offset of its sound: positive when late.",
                samples: samples { $0.error?.inSeconds }),
            MetricFamily(
                "talkie_output_buffer_seconds", .gauge, help: "Buffered sound ahead of the playhead.",
                samples: samples { $0.buffered?.inSeconds }),
            MetricFamily(
                "talkie_output_underruns_total", .counter, help: "Number of underruns.",
                samples: samples { Double($0.underruns) }),
            MetricFamily(
                "talkie_output_clock", .gauge, help: "State of its clock: 1 for the current state.",
                samples: named.flatMap { name, output -> [MetricFamily.Sample] in
                    guard let clock = output.clock else { return [] }
                    return SpeakerClockState.allCases.map {
                        .init($0 == clock ? 1 : 0, [.init("output", name), .init("state", $0.name)])
                    }
                }),
        ]
    }

    private static func item(_ item: KioskHealth.Item?) -> [MetricFamily] {
        guard let item else { return [] }
        return [
            MetricFamily(
                "talkie_item_info", .gauge, help: "The item that started last.",
                samples: [.init(1, [.init("name", item.name)])]),
            MetricFamily(
                "talkie_item_index", .gauge, help: "Its position in the list, from 1.", value: Double(item.index)),
            MetricFamily(
                "talkie_item_start_time_seconds", .gauge, help: "When it started, in seconds since 1970.",
                value: Double(item.began.seconds)),
            MetricFamily(
                "talkie_item_position_seconds", .gauge, help: "Playback position in it.", value: item.position?.seconds),
        ]
    }

    private static func configuration(_ configuration: KioskHealth.Configuration) -> [MetricFamily] {
        [
            MetricFamily(
                "talkie_configuration_load_time_seconds", .gauge,
                help: "When the active configuration was loaded, in seconds since 1970.",
                value: Double(configuration.loaded.seconds)),
            MetricFamily(
                "talkie_configuration_refused_total", .counter, help: "Configurations that were rejected.",
                value: Double(configuration.refusals)),
            MetricFamily(
                "talkie_configuration_good", .gauge,
                help: "0 while the configuration on the disk is not the active one.",
                value: configuration.refusal == nil ? 1 : 0),
        ]
    }
}
