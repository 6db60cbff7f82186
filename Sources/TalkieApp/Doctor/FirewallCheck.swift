internal import AirPlay
internal import AirPlayTransport
internal import MediaCore

/// Checks whether speakers can reach this computer: PTP on UDP 319 and 320, retransmit and NTP requests on a fixed
/// range.
///
/// Firewall rules are readable by root only, so this checks for the two common firewall programs.
enum FirewallCheck {
    struct Files {
        var ufw = "/etc/ufw/ufw.conf"
        var ufwRules = "/etc/ufw/user.rules"
        var firewalld = "/run/firewalld.pid"
        var firewalldZones = ["/etc/firewalld/zones/public.xml", "/etc/firewalld/zones/home.xml"]
    }

    private static let first = SenderPorts.range.lowerBound
    private static let last = SenderPorts.range.upperBound

    static func findings(_ files: Files = Files()) -> [Finding] {
        let ports = "UDP 319, 320 and \(first) to \(last)"
        let isOn = TextFile.contents(files.ufw, limit: 65_536).split(separator: "\n")
            .contains { $0.filter { $0 != " " }.lowercased() == "enabled=yes" }
        if isOn {
            if TextFile.contents(files.ufwRules, limit: 4 << 20).contains("\(first):\(last)") {
                return [Finding("firewall", .good, "ufw allows \(ports)")]
            }
            return [
                limited(
                    "ufw", ports,
                    "sudo ufw allow 319:320/udp && sudo ufw allow \(first):\(last)/udp && sudo ufw allow 5353/udp")
            ]
        }
        if !TextFile.contents(files.firewalld, limit: 64).isEmpty {
            let zones = files.firewalldZones.map { TextFile.contents($0, limit: 1 << 20) }
            if zones.contains(where: { $0.contains("\(first)-\(last)") }) {
                return [Finding("firewall", .good, "firewalld allows \(ports)")]
            }
            return [
                limited(
                    "firewalld", ports,
                    "sudo firewall-cmd --permanent --add-service=mdns --add-port=319-320/udp "
                        + "--add-port=\(first)-\(last)/udp && sudo firewall-cmd --reload")
            ]
        }
        return [
            Finding(
                "firewall", .good,
                "neither ufw nor firewalld is active; other firewall rules must allow \(ports) from the speakers")
        ]
    }

    private static func limited(_ name: String, _ ports: String, _ remedy: String) -> Finding {
        Finding(
            "firewall", .limited,
            "\(name) is active and has no rule for speakers: \(ports) must be allowed", remedy: remedy)
    }
}
