/// Can speakers be found in the network? Avahi does that, and is spoken to over D-Bus.
enum DiscoveryCheck {
    /// Where both listen on every distribution that follows the file system standard.
    private static let bus = "/run/dbus/system_bus_socket"
    private static let avahi = "/run/avahi-daemon/socket"

    static func findings(bus: String = bus, avahi: String = avahi) -> [Finding] {
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
        return [Finding("discovery", .good, "avahi-daemon answers: speakers are found by themselves")]
    }

    private static func missing(_ text: String, _ remedy: String) -> Finding {
        Finding(
            "discovery", .missing, text + ": speakers are not found by themselves",
            remedy: remedy + "; or name a speaker by its address, airplay://HOST")
    }
}
