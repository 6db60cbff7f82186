internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// The rows of the statistics page.
struct StatisticsPage {
    /// The player's state with current offset, dropped frames and underruns.
    var state: PlayerState
    /// The file or address, without credentials.
    var address: String
    /// The video codec and its decoder.
    var decoder: String?
    var screen: ScreenControl.Status?
    /// The outputs of all audio tracks with their identifiers and volumes.
    var outputs: [(id: OutputID, output: any AudioOutput, volume: Double?)] = []

    var page: InfoPage { InfoPage(.statistics, rows: rows) }

    private var rows: [InfoPage.Row] {
        var rows = [InfoPage.Row(name: "File", text: PrintableText.of(address))]
        func add(_ name: String, _ fields: [String?]) {
            let fields = fields.compactMap { $0 }.filter { !$0.isEmpty }
            if !fields.isEmpty { rows.append(InfoPage.Row(name: name, text: fields.joined(separator: ", "))) }
        }
        add("Position", [StatusText.position(state), state.speed == 1 ? nil : "×\(Decimals.short(state.speed))"])
        if state.hasVideo {
            let format = state.displayedVideoFormat
            let rate = format?.frameRate.map { Double($0.numerator) / Double(max(1, $0.denominator)) }
            add(
                "Video",
                [
                    decoder, format.map { "\($0.size.width)×\($0.size.height)" },
                    rate.map { Decimals.short($0) + " fps" },
                ])
            add(
                "Display",
                [screen?.area.map { "\($0.width)×\($0.height)" }, screen.flatMap(pacing), screen?.presentation])
            add("Frames", ["\(screen?.shown ?? 0) shown", "\(state.droppedFrames) dropped"])
        }
        if let track = state.audioTrack {
            add("Audio", [track.particulars, track.audioFormat.map { "\($0.sampleRate) Hz" }, track.languageName])
        }
        if state.hasAudio, state.hasVideo {
            let underruns = state.underruns == 0 ? nil : "underruns: \(state.underruns)"
            add("A-V", [state.offset.map { Decimals.signed($0.inMilliseconds, 1) + " ms" } ?? "?", underruns])
        }
        if let track = state.subtitleTrack { add("Subtitles", [track.name, track.subtitleFormat?.parameters.codec]) }
        add(
            "Cache",
            [
                ahead(of: state.loadedUntil, "read"), ahead(of: state.handedUntil, "in the output"),
                state.readAhead.map(serverCache),
            ])
        for (id, output, volume) in outputs {
            let problem = state.outputProblems.lazy.filter { $0.output == id }.compactMap(\.phrase).first
            add(
                "Output",
                [
                    PrintableText.of(output.name), volume.map { "\(Decimals.text($0, 0))%" },
                    problem ?? "latency \(Decimals.text(output.latency.delay.inMilliseconds, 1)) ms",
                ])
        }
        return rows
    }

    private func serverCache(_ progress: ReadAheadProgress) -> String {
        let size = Decimals.text(Double(progress.byteCount) / Double(1 << 20), 1) + " MiB"
        return "read ahead: " + size + (progress.duration.map { " (\(Decimals.text($0.inSeconds, 0)) s)" } ?? "")
    }

    private func pacing(_ status: ScreenControl.Status) -> String? {
        guard case .fixed(let period, _) = status.refresh, period > .zero else { return nil }
        return Decimals.text(1 / period.inSeconds, 2) + " Hz"
    }

    private func ahead(of until: MediaTime?, _ fields: String) -> String? {
        guard let until else { return nil }
        return Decimals.text(max(0, (until - state.timelineOffset - state.position).seconds), 1) + " s " + fields
    }
}
