internal import CardOutput
internal import Glibc
internal import MediaCore
internal import Sockets

/// Checks for a sound server, so that other programs can play during a film.
enum SoundServerCheck {
    static func findings() -> [Finding] {
        var servers: [String] = []
        if let runtime = value(of: "XDG_RUNTIME_DIR") {
            if UnixSocket.answers(at: runtime + "/pipewire-0") { servers.append("PipeWire") }
            if UnixSocket.answers(at: runtime + "/pulse/native") { servers.append("PulseAudio's protocol") }
        }
        if let text = value(of: "PULSE_SERVER") {
            let machine = TextFile.firstLine(of: "/etc/machine-id") ?? ""
            let addresses = Self.addresses(in: text, machine: machine, host: LocalAddresses.hostName)
            // The first one that answers is used.
            let found = addresses.first { $0 == .elsewhere || $0.answer != nil }
            guard let server = found?.answer else {
                let isElsewhere = found != nil
                return [
                    Finding(
                        "sound server", isElsewhere ? .limited : .missing,
                        isElsewhere
                            ? "PULSE_SERVER names \(text), which is not on this computer and adds its own delay"
                            : "PULSE_SERVER names \(text), which does not answer",
                        remedy: "unset PULSE_SERVER, or start that server")
                ]
            }
            servers.append("PulseAudio at \(server)")
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

    /// A server that `PULSE_SERVER` names.
    enum ServerAddress: Equatable {
        /// A socket of this computer, by its path.
        case socket(String)
        /// A TCP port of this computer.
        case port(String)
        case elsewhere

        /// The server's address if it is on this computer and, for a socket, a process listens; nil otherwise.
        fileprivate var answer: String? {
            switch self {
            case .socket(let path): UnixSocket.answers(at: path) ? path : nil
            case .port(let address): address
            case .elsewhere: nil
            }
        }
    }

    /// Returns the servers of `PULSE_SERVER` that apply to this computer: a list separated by spaces, in which
    /// `{machine}` restricts an address to one computer (PulseAudio, "Server String").
    static func addresses(in text: String, machine: String, host: String) -> [ServerAddress] {
        text.split(separator: " ").compactMap { word in
            var address = word
            if address.first == "{", let end = address.firstIndex(of: "}") {
                guard address[..<end].dropFirst() == machine else { return nil }
                address = address[end...].dropFirst()
            }
            if address.hasPrefix("unix:") { return .socket(String(address.dropFirst(5))) }
            if address.hasPrefix("/") { return .socket(String(address)) }
            var name = address
            for scheme in ["tcp:", "tcp4:", "tcp6:"] where name.hasPrefix(scheme) {
                name = name.dropFirst(scheme.count)
            }
            if name.first == "[" {
                name = name.dropFirst().prefix { $0 != "]" }
            } else if name.count(where: { $0 == ":" }) == 1 {
                name = name.prefix { $0 != ":" }
            }
            let isHere = ["localhost", "::1", host].contains(String(name)) || name.hasPrefix("127.")
            return isHere ? .port(String(address)) : .elsewhere
        }
    }

    private static func value(of name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
