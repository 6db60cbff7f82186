internal import CardOutput
internal import Glibc
internal import Sockets

/// Checks for a sound server, so that other programs can play during a film.
enum SoundServerCheck {
    static func findings() -> [Finding] {
        var servers: [String] = []
        if let runtime = value(of: "XDG_RUNTIME_DIR") {
            if UnixSocket.answers(at: runtime + "/pipewire-0") { servers.append("PipeWire") }
            if UnixSocket.answers(at: runtime + "/pulse/native") { servers.append("PulseAudio's protocol") }
        }
        if let server = value(of: "PULSE_SERVER") {
            let path = server.hasPrefix("unix:") ? String(server.dropFirst(5)) : server.hasPrefix("/") ? server : nil
            if let path, UnixSocket.answers(at: path) {
                servers.append("PulseAudio at \(path)")
            } else {
                return [
                    Finding(
                        "sound server", path == nil ? .limited : .missing,
                        path == nil
                            ? "PULSE_SERVER names \(server), which is not on this computer and adds its own delay"
                            : "PULSE_SERVER names \(server), which does not answer",
                        remedy: "unset PULSE_SERVER, or start that server")
                ]
            }
        }
        guard servers.isEmpty else { return [finding(of: servers, devices: SoundCardProbe.devices.map(\.name))] }
        return [
            Finding(
                "sound server", .limited, "none; the film uses the sound card exclusively",
                remedy: "start pipewire-pulse or pulseaudio to hear other programs too")
        ]
    }

    static func finding(of servers: [String], devices: [String]) -> Finding {
        let names = servers.joined(separator: " and ")
        guard servers.contains("PipeWire"), !devices.contains("pipewire") else {
            return Finding("sound server", .good, names)
        }
        return Finding(
            "sound server", .limited,
            "\(names); PipeWire is reached through PulseAudio's ALSA plugin, and sound is late by up to one cycle of its"
                + " graph (5 ms, in virtual machines 21 ms)",
            remedy: "install pipewire-alsa")
    }

    private static func value(of name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
