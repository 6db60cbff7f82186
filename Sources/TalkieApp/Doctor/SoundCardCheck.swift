internal import CardOutput
internal import MediaCore
internal import SyncRendering

/// Checks the sound devices and whether the default one opens.
enum SoundCardCheck {
    static func findings() -> [Finding] { [defaultDevice(), sink(), list()].compactMap { $0 } }

    private static func defaultDevice() -> Finding {
        do {
            let format = try SoundCardProbe.format(of: "default")
            return Finding(
                "sound card", .good,
                "the default device opens at \(format.sampleRate) Hz, \(format.layout.displayName)")
        } catch {
            return Finding("sound card", .missing, problem: error.message)
        }
    }

    /// Returns the sink of the default device, to which calibrations apply; nil if it does not open.
    // ignored: `defaultDevice` reports a device that does not open.
    private static func sink() -> Finding? { (try? SoundCardProbe.sink(of: "default")).map { finding(of: $0) } }

    static func finding(of knowledge: SinkKnowledge) -> Finding {
        switch knowledge {
        case .known(let sink):
            let name = sink.title == sink.name ? "" : " (\(sink.name))"
            return Finding("sound sink", .good, "the default device plays on '\(sink.title)'\(name)")
        case .unknown(let reason):
            return Finding(
                "sound sink", .limited,
                "the sink of the default device is unknown: \(reason); calibrations of this computer are not applied",
                remedy: reason.contains("libpulse")
                    ? "install libpulse0" : "use a card directly: --audio-device hw:… (aplay -L)")
        }
    }

    private static func list() -> Finding? {
        // Converter and plugin devices are not listed: they have names, but no loudspeaker.
        let devices = SoundCardProbe.devices.filter {
            $0.name.contains("CARD=") || ["default", "sysdefault", "pulse", "pipewire"].contains($0.name)
        }
        guard !devices.isEmpty else { return nil }
        let names = devices.prefix(12).map(\.name).joined(separator: ", ")
        let rest = devices.count > 12 ? " and \(devices.count - 12) more (aplay -L)" : ""
        return Finding("sound devices", .good, names + rest)
    }
}
