internal import AirPlay
internal import AirPlayTransport
internal import Glibc
internal import MediaCore

/// Checks whether speakers can reach this computer: PTP on UDP 319 and 320, retransmit and NTP requests on a fixed
/// range.
///
/// The rules in the kernel are readable by root only, so this reads the files of the two common firewall programs. Many
/// distributions make these readable by root only, too.
enum FirewallCheck {
    struct Files {
        var ufw = "/etc/ufw/ufw.conf"
        var ufwRules = "/etc/ufw/user.rules"
        var firewalld = "/run/firewalld.pid"
        var firewalldConfiguration = "/etc/firewalld/firewalld.conf"
        /// The folders of zones, the user's first.
        var firewalldZones = ["/etc/firewalld/zones", "/usr/lib/firewalld/zones"]
        var read: (String) throws(FileBytes.Failure) -> [UInt8] = { (path) throws(FileBytes.Failure) in
            try FileBytes.readRegular(path, maxBytes: 4 << 20)
        }

        /// Returns the contents of a file, empty if it is missing; nil if it is readable by root only.
        fileprivate func contents(_ path: String) -> [UInt8]? {
            do throws(FileBytes.Failure) { return try read(path) } catch { return error.code == EACCES ? nil : [] }
        }

        /// Returns the value of a setting without spaces; nil if the file does not have it.
        fileprivate func setting(_ name: String, in bytes: [UInt8]) -> Substring? {
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.filter { $0 != " " } }
            return lines.last { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
        }
    }

    typealias Ports = ClosedRange<UInt16>
    private static let required = [319...320, SenderPorts.range]

    static func findings(_ files: Files = Files()) -> [Finding] {
        let (first, last) = (SenderPorts.range.lowerBound, SenderPorts.range.upperBound)
        let ports = "UDP 319, 320 and \(first) to \(last)"
        func finding(_ name: String, _ allowed: [Ports]?, _ remedy: String) -> Finding {
            guard let allowed else {
                return Finding(
                    "firewall", .limited,
                    "\(name) is active; its rules must allow \(ports) and are readable by root only",
                    remedy: "`sudo talkie doctor` checks them")
            }
            let isAllowed = required.joined().allSatisfy { port in allowed.contains { $0.contains(port) } }
            return isAllowed
                ? Finding("firewall", .good, "\(name) allows \(ports)")
                : Finding(
                    "firewall", .limited, "\(name) is active and does not allow all of \(ports), which speakers use",
                    remedy: remedy)
        }
        if files.setting("ENABLED", in: files.contents(files.ufw) ?? [])?.lowercased() == "yes" {
            return [
                finding(
                    "ufw", files.contents(files.ufwRules).map(ports(ofRules:)),
                    "sudo ufw allow 319:320/udp && sudo ufw allow \(first):\(last)/udp && sudo ufw allow 5353/udp")
            ]
        }
        if files.contents(files.firewalld) != [] {
            return [
                finding(
                    "firewalld", defaultZone(files).map(ports(ofZone:)),
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

    // MARK: ufw

    /// Returns the UDP ports that rules of ufw accept, in the format of iptables-restore(8).
    private static func ports(ofRules bytes: [UInt8]) -> [Ports] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").flatMap { line -> [Ports] in
            let words = line.split(separator: " ")
            func value(of option: Substring) -> Substring? {
                words.firstIndex(of: option).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
            }
            guard words.starts(with: ["-A", "ufw-user-input"]), value(of: "-j") == "ACCEPT",
                value(of: "-p") ?? "udp" == "udp", value(of: "--sport") ?? value(of: "--sports") == nil
            else { return [] }
            let ports = value(of: "--dport") ?? value(of: "--dports") ?? "0:65535"
            return ports.split(separator: ",").compactMap { range($0, separator: ":") }
        }
    }

    // MARK: firewalld

    /// Returns the file of the zone for connections without one; nil if it is readable by root only.
    private static func defaultZone(_ files: Files) -> [UInt8]? {
        guard let configuration = files.contents(files.firewalldConfiguration) else { return nil }
        let zone = files.setting("DefaultZone", in: configuration) ?? "public"
        for folder in files.firewalldZones {
            guard let bytes = files.contents("\(folder)/\(zone).xml") else { return nil }
            if !bytes.isEmpty { return bytes }
        }
        return []
    }

    /// Returns the UDP ports that a zone opens (firewalld.zone(5)), without its rich rules.
    private static func ports(ofZone bytes: [UInt8]) -> [Ports] {
        var (ports, scanner, isInRule) = ([Ports](), MarkupScanner(bytes), false)
        while let piece = scanner.next() {
            switch piece {
            case .open("rule", _): isInRule = true
            case .close("rule"): isInRule = false
            case .open(let name, let bytes) where !isInRule:
                let attributes = String(decoding: bytes, as: UTF8.self)
                func value(of attribute: String) -> Substring? {
                    let parts = attributes.split(separator: "\"", omittingEmptySubsequences: false)
                    return zip(parts, parts.dropFirst()).first { $0.0.hasSuffix(" \(attribute)=") }?.1
                }
                if name == "zone", value(of: "target") == "ACCEPT" { return [0...65535] }
                guard name == "port", value(of: "protocol") == "udp", let port = value(of: "port") else { continue }
                if let range = range(port, separator: "-") { ports.append(range) }
            case .malformed: return ports
            default: break
            }
        }
        return ports
    }

    /// Parses one port, or the first and last of a range.
    private static func range(_ text: Substring, separator: Character) -> Ports? {
        let ends = text.split(separator: separator).compactMap { UInt16($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return nil }
        return first...last
    }
}
