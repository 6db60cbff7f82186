internal import CALSA
internal import Glibc
public import MediaCore
public import SyncRendering

/// What can be said about this computer's sound devices without making a sound.
public enum SoundCardProbe {
    /// A device as ALSA's configuration names it.
    public struct Device: Sendable, Hashable {
        public var name: String
        /// For people, one line.
        public var description: String
    }

    /// More devices than a configuration sensibly names.
    private static let mostDevices = 200

    /// Every playback device that ALSA's configuration names, in its order.
    public static var devices: [Device] {
        calsa_be_quiet()
        var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        guard snd_device_name_hint(-1, "pcm", &hints) == 0, let hints else { return [] }
        defer { snd_device_name_free_hint(hints) }
        var devices: [Device] = []
        var index = 0
        while let hint = hints[index], devices.count < mostDevices {
            index += 1
            // Absent means both directions.
            if let direction = text("IOID", of: hint), direction != "Output" { continue }
            guard let name = text("NAME", of: hint), name != "null" else { continue }
            let words = (text("DESC", of: hint) ?? "").split(separator: "\n").joined(separator: ", ")
            devices.append(Device(name: name, description: words))
        }
        return devices
    }

    /// A device's name for people: the first line of what ALSA says of it.
    public static func title(of device: String) -> String {
        let found = devices.first { $0.name == device }?.description.split(separator: ",").first
        return found.map(String.init) ?? device
    }

    /// Devices that may take over from one that is lost: the system's default, then each card, in ALSA's order.
    public static func substitutes(for device: String) -> [String] {
        (["default"] + devices.map(\.name).filter { $0.hasPrefix("sysdefault:CARD=") }).filter { $0 != device }
    }

    private static func text(_ key: String, of hint: UnsafeMutableRawPointer) -> String? {
        guard let value = snd_device_name_get_hint(hint, key) else { return nil }
        defer { free(value) }
        return String(cString: value)
    }

    /// How long a sound server may take to say where a stream plays.
    private static let sinkPatience = Duration.seconds(1)

    /// Opens a device as for a film, asks where it would be heard, and closes it again. Makes no sound; may block for a
    /// second.
    ///
    /// - Throws: when it cannot be opened.
    public static func sink(of device: String) throws(OutputError) -> SinkKnowledge {
        let told = Signal()
        let finder = SinkFinder { _, now in if now.sink != nil || now == .noServer { told.raise() } }
        defer { finder.stop() }
        let opened = try ALSADevice(name: device)
        try opened.configure(opened.nearest(to: 48_000, layout: .stereo))
        finder.note(opened)
        if opened.way == .elsewhere, PulseLibrary.shared != nil { told.wait(until: .now.advanced(by: sinkPatience)) }
        return withExtendedLifetime(opened) { finder.knowledge(of: device) }
    }

    /// Opens a device, asks what it would take for a film's usual sound, and closes it again.
    public static func format(of device: String) throws(OutputError) -> PCMFormat {
        try ALSADevice(name: device).nearest(to: 48_000, layout: .stereo)
    }
}
