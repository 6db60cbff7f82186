internal import AirPlay
internal import AirPlayTransport
internal import Discovery
internal import MediaCore
internal import Sockets

/// Checks discovery of speakers: avahi-daemon, accessed over D-Bus.
enum DiscoveryCheck {
    /// The standard socket paths.
    private static let bus = "/run/dbus/system_bus_socket"
    private static let avahi = "/run/avahi-daemon/socket"
    /// A daemon reports what it knows within this time.
    private static let timeout: Duration = .seconds(2)

    /// Browses the real network.
    static func findings() -> [Finding] {
        do throws(DiscoveryError) {
            return findings(try SpeakerBrowser(), until: .now.advanced(by: timeout))
        } catch {
            return [Finding("discovery", .missing, "\(error.message): speakers are not found automatically")]
        }
    }

    static func findings(
        _ source: any SpeakerSource, until deadline: HostInstant, bus: String = bus, avahi: String = avahi
    ) -> [Finding] {
        let snapshot = source.wait(until: deadline) { snapshot in
            if case .unavailable = snapshot.availability { return true }
            return snapshot.isSettled
        }.snapshot
        guard case .available = snapshot.availability else { return findings(bus: bus, avahi: avahi) }
        let names = snapshot.entries.map { "'\($0.name)'" }
        guard !names.isEmpty else {
            return [Finding("discovery", .good, "avahi-daemon answers; no speaker is announced at present")]
        }
        let some = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
        return [Finding("discovery", .good, "avahi-daemon answers; announced: \(some)")]
    }

    /// Returns which of the two does not respond.
    static func findings(bus: String, avahi: String) -> [Finding] {
        if !UnixSocket.answers(at: bus) {
            return [
                missing("the system's D-Bus does not answer", "sudo apt install dbus, then sudo systemctl start dbus")
            ]
        }
        if !UnixSocket.answers(at: avahi) {
            return [
                missing(
                    "avahi-daemon does not answer",
                    "sudo apt install avahi-daemon, then sudo systemctl start avahi-daemon")
            ]
        }
        return [
            missing("avahi-daemon does not answer over D-Bus", "sudo systemctl restart avahi-daemon")
        ]
    }

    private static func missing(_ text: String, _ remedy: String) -> Finding {
        Finding(
            "discovery", .missing, text + ": speakers are not found automatically",
            remedy: remedy + "; or name a speaker by its address, airplay://HOST")
    }
}
