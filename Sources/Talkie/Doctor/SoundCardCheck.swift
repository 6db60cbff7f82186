internal import LocalOutput
internal import MediaCore
internal import SyncRendering

/// Which sound devices are there, and does the default one open?
enum SoundCardCheck {
    static func findings() -> [Finding] { [defaultDevice()] + [list()].compactMap { $0 } }

    private static func defaultDevice() -> Finding {
        do {
            let format = try SoundCardProbe.format(of: "default")
            return Finding(
                "sound card", .good,
                "the default device opens at \(format.sampleRate) Hz with \(format.channels) channels")
        } catch {
            return Finding("sound card", .missing, problem: error.message)
        }
    }

    private static func list() -> Finding? {
        // Converters and other programs' plugins have names, too, but no loudspeaker.
        let devices = SoundCardProbe.devices.filter {
            $0.name.contains("CARD=") || ["default", "sysdefault", "pulse", "pipewire"].contains($0.name)
        }
        guard !devices.isEmpty else { return nil }
        let names = devices.prefix(12).map(\.name).joined(separator: ", ")
        let rest = devices.count > 12 ? " and \(devices.count - 12) more (aplay -L)" : ""
        return Finding("sound devices", .good, names + rest)
    }
}
