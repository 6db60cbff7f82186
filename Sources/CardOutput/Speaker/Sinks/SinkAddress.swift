internal import CALSA
internal import MediaCore
internal import SyncRendering

/// The device name `sink:NAME`: a sink of the sound server, by its name there.
enum SinkAddress {
    static let prefix = "sink:"

    /// Returns the sink's name in a device name; nil for ALSA's names.
    static func name(in device: String) -> String? {
        device.hasPrefix(prefix) ? String(device.dropFirst(prefix.count)) : nil
    }

    private static let timeout = Duration.milliseconds(500)
    private static let deviceName = "talkie_sink"

    /// Opens a stream to a sink; returns ALSA's code.
    ///
    /// ALSA's own names of the plugins have no argument for a sink everywhere, hence definitions. With `pipewire` the
    /// reported delays are exact, with `pulse` late by up to one cycle of PipeWire's graph.
    ///
    /// - Throws: `unavailable` for a sink that the server does not have: PulseAudio would play on another one.
    static func open(_ name: String, _ handle: inout OpaquePointer?) throws(OutputError) -> Int32 {
        guard let view = SoundServer.shared?.view(within: timeout) else {
            throw OutputError(
                .unavailable,
                "the sound server does not respond; start it, or choose a sound card")
        }
        guard view.sinks.contains(where: { $0.name == name }) else {
            throw OutputError(
                .unavailable, "the sound server has no sink \"\(name)\"; connect the device, or choose another output")
        }
        // PipeWire's plugin reaches this computer's server only.
        if view.isPipeWire, view.host == nil,
            open(definition: "type pipewire playback_node \(quoted(name))", &handle) >= 0
        {
            return 0
        }
        return open(definition: "type pulse device \(quoted(name))", &handle)
    }

    private static func open(definition text: String, _ handle: inout OpaquePointer?) -> Int32 {
        var configuration: OpaquePointer?
        let code = snd_config_load_string(&configuration, "pcm.\(deviceName) { \(text) }", 0)
        guard code >= 0, let configuration else { return code }
        defer { snd_config_delete(configuration) }
        return snd_pcm_open_lconf(&handle, deviceName, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK, configuration)
    }

    /// Returns a string of ALSA's configuration language. By scalar: in a character a combining mark would hide the
    /// quote before it, which ended the string.
    static func quoted(_ text: String) -> String {
        var quoted = "\"".unicodeScalars
        for scalar in text.unicodeScalars where scalar.value >= 0x20 {
            if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
            quoted.append(scalar)
        }
        quoted.append("\"")
        return String(quoted)
    }
}
