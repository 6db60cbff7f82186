internal import MediaCore
internal import SyncRendering

/// The responses of the metrics server.
enum MetricsText {
    /// The version of the text format since 2014.
    static let type = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns all metrics in the text format of Prometheus.
    static func metrics(_ health: KioskHealth, at now: HostInstant) -> String {
        let verdict = health.verdict(at: now)
        var isWell = false
        if case .well = verdict { isWell = true }
        var families = [
            MetricFamily(
                "talkie_build_info", .gauge, "Version of Talkie.",
                [.init(1, [.init("version", Release.version)])]),
            MetricFamily("talkie_healthy", .gauge, "1 while the kiosk is healthy.", isWell ? 1 : 0),
            MetricFamily("talkie_shown", .gauge, "What is shown: 1 for the current state.", shown(health.shown)),
            MetricFamily("talkie_uptime_seconds", .gauge, "Time since the process started.", health.uptime.inSeconds),
            MetricFamily(
                "talkie_restarts_total", .counter, "Number of restarts of the process.", Double(health.restarts)),
            MetricFamily(
                "talkie_picture_age_seconds", .gauge, "Time since a picture became visible.",
                health.sincePicture?.inSeconds),
            MetricFamily(
                "talkie_sound_age_seconds", .gauge, "Time since an output accepted sound.", health.sinceSound?.inSeconds
            ),
            MetricFamily(
                "talkie_av_offset_seconds", .gauge, "Sound minus picture: positive when sound is late.",
                health.offset?.inSeconds),
            MetricFamily(
                "talkie_room_skew_seconds", .gauge, "Largest difference between two outputs.", health.skew?.inSeconds),
            MetricFamily("talkie_pictures_total", .counter, "Pictures shown.", Double(health.pictures)),
            MetricFamily("talkie_dropped_pictures_total", .counter, "Pictures dropped.", Double(health.dropped)),
            MetricFamily(
                "talkie_degraded", .gauge, "Number of degradations while the kiosk plays.",
                Double(health.degradations.count)),
            MetricFamily(
                "talkie_skipped_items", .gauge, "Items of the list that are not played at present.",
                Double(health.skippedItems)),
            MetricFamily(
                "talkie_repairs_total", .counter, "Repairs made.",
                health.repairs.sorted { $0.key < $1.key }.map { .init(Double($0.value), [.init("stage", $0.key)]) }),
        ]
        families += outputs(health.outputs)
        families += item(health.item)
        families += configuration(health.configuration)
        return MetricFamily.text(of: families + health.more)
    }

    /// Returns status and body of `/healthz`.
    static func healthz(_ health: KioskHealth, at now: HostInstant) -> (status: Int, text: String) {
        switch health.verdict(at: now) {
        case .well(let words): (200, "ok \(PrintableText.of(words))\n")
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
                "talkie_output_connected", .gauge, "1 while the output is connected.",
                samples { $0.isConnected ? 1 : 0 }),
            MetricFamily(
                "talkie_output_offset_seconds", .gauge, "Offset of its sound: positive when late.",
                samples { $0.error?.inSeconds }),
            MetricFamily(
                "talkie_output_buffer_seconds", .gauge, "Buffered sound ahead of the playhead.",
                samples { $0.buffered?.inSeconds }),
            MetricFamily(
                "talkie_output_underruns_total", .counter, "Number of underruns.", samples { Double($0.underruns) }),
            MetricFamily(
                "talkie_output_clock", .gauge, "State of its clock: 1 for the current state.",
                named.flatMap { name, output -> [MetricFamily.Sample] in
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
                "talkie_item_info", .gauge, "The item that started last.", [.init(1, [.init("name", item.name)])]),
            MetricFamily("talkie_item_index", .gauge, "Its position in the list, from 1.", Double(item.index)),
            MetricFamily(
                "talkie_item_start_time_seconds", .gauge, "When it started, in seconds since 1970.",
                Double(item.began.seconds)),
            MetricFamily("talkie_item_position_seconds", .gauge, "Playback position in it.", item.position?.seconds),
        ]
    }

    private static func configuration(_ configuration: KioskHealth.Configuration) -> [MetricFamily] {
        [
            MetricFamily(
                "talkie_configuration_load_time_seconds", .gauge,
                "When the active configuration was loaded, in seconds since 1970.",
                Double(configuration.loaded.seconds)),
            MetricFamily(
                "talkie_configuration_refused_total", .counter, "Configurations that were rejected.",
                Double(configuration.refusals)),
            MetricFamily(
                "talkie_configuration_good", .gauge, "0 while the configuration on the disk is not the active one.",
                configuration.refusal == nil ? 1 : 0),
        ]
    }
}
