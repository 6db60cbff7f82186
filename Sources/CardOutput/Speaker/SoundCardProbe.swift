internal import CALSA
internal import Glibc
package import MediaCore
package import SyncRendering

/// Information about the sound devices of this computer. Plays nothing.
package enum SoundCardProbe {
    /// A device named in ALSA's configuration.
    package struct Device: Sendable, Hashable {
        /// The ALSA name.
        package var name: String
        /// The user-facing description, one line.
        package var description: String
    }

    /// A safety limit; configurations have fewer.
    private static let maxDevices = 200

    /// The playback devices named in ALSA's configuration, in its order. Reads files.
    package static var devices: [Device] {
        calsa_be_quiet()
        var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        guard snd_device_name_hint(-1, "pcm", &hints) == 0, let hints else { return [] }
        defer { snd_device_name_free_hint(hints) }
        var devices: [Device] = []
        var index = 0
        while let hint = hints[index], devices.count < maxDevices {
            index += 1
            // A missing IOID means both directions.
            if let direction = text("IOID", of: hint), direction != "Output" { continue }
            guard let name = text("NAME", of: hint), name != "null" else { continue }
            let description = (text("DESC", of: hint) ?? "").split(separator: "\n").joined(separator: ", ")
            devices.append(Device(name: name, description: description))
        }
        return devices
    }

    /// Returns the user-facing name of a device: the first line of ALSA's description, or else its ALSA name.
    package static func title(of device: String) -> String {
        let found = devices.first { $0.name == device }?.description.split(separator: ",").first
        return found.map(String.init) ?? device
    }

    /// Returns the replacement candidates for a lost device: the system default, then each card, in ALSA's order.
    static func substitutes(for device: String) -> [String] {
        (["default"] + devices.map(\.name).filter { $0.hasPrefix("sysdefault:CARD=") }).filter { $0 != device }
    }

    private static func text(_ key: String, of hint: UnsafeMutableRawPointer) -> String? {
        guard let value = snd_device_name_get_hint(hint, key) else { return nil }
        defer { free(value) }
        return String(cString: value)
    }

    /// The timeout for the sound server to report the sink of a stream.
    private static let sinkTimeout = Duration.seconds(1)

    /// Opens a device as for playback, queries its sink, and closes it. Plays nothing; may block for 1 s.
    ///
    /// - Throws: `OutputError` if it cannot be opened.
    package static func sink(of device: String) throws(OutputError) -> SinkKnowledge {
        let sinkFound = Signal()
        let finder = SinkFinder { _, now in if now.sink != nil || now == .noServer { sinkFound.raise() } }
        defer { finder.stop() }
        let opened = try ALSADevice(name: device)
        try opened.configure(opened.nearest(to: 48_000, layout: .stereo))
        finder.register(opened)
        if opened.way == .elsewhere, PulseLibrary.shared != nil {
            sinkFound.wait(until: .now.advanced(by: sinkTimeout))
        }
        return withExtendedLifetime(opened) { finder.knowledge(of: device) }
    }

    /// Opens a device, returns the format it would use for 48 kHz stereo, and closes it. May block.
    ///
    /// - Throws: `OutputError` if it cannot be opened or has no suitable format.
    package static func format(of device: String) throws(OutputError) -> PCMFormat {
        try ALSADevice(name: device).nearest(to: 48_000, layout: .stereo)
    }
}
