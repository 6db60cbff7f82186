import AirPlay
import AirPlayTransport
import Foundation
import Glibc
import PTP
import Sockets
import TalkieTestKit
import Testing

@testable import MediaCore
@testable import TalkieApp

@Suite struct DoctorTests {
    let folder = TemporaryFolder()

    /// Returns a listening socket.
    private func listen(at path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        precondition(code == 0 && Glibc.listen(descriptor, 1) == 0)
        return descriptor
    }

    @Test func discoveryNamesTheOneThatDoesNotAnswer() throws {
        let (bus, avahi) = (folder.path("bus"), folder.path("avahi"))
        var finding = try #require(DiscoveryCheck.findings(bus: bus, avahi: avahi).first)
        #expect(finding.verdict == .missing && finding.remedy?.contains("dbus") == true)
        let busSocket = listen(at: bus)
        finding = try #require(DiscoveryCheck.findings(bus: bus, avahi: avahi).first)
        #expect(finding.verdict == .missing && finding.remedy?.contains("avahi-daemon") == true)
        let avahiSocket = listen(at: avahi)
        // Both listen, but the daemon did not respond.
        finding = try #require(DiscoveryCheck.findings(bus: bus, avahi: avahi).first)
        #expect(finding.verdict == .missing && finding.remedy?.contains("restart avahi-daemon") == true)
        close(busSocket)
        // The socket's file remains, but nothing listens.
        #expect(DiscoveryCheck.findings(bus: bus, avahi: avahi).first?.verdict == .missing)
        close(avahiSocket)
        #expect(!UnixSocket.answers(at: String(repeating: "x", count: 200)))
    }

    @Test func discoveryNamesTheSpeakersThatItHears() {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Kitchen"))))
        let finding = DiscoveryCheck.findings(network, until: network.clock.now.advanced(by: .seconds(2))).first
        #expect(finding?.verdict == .good && finding?.text.contains("'Kitchen'") == true)
        let silent = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
        #expect(
            DiscoveryCheck.findings(
                silent, until: silent.clock.now.advanced(by: .seconds(2)), bus: folder.path("no"), avahi: "no"
            ).first?.verdict == .missing)
    }

    @Test func thePortsAreCheckedOnEveryAddressAndTheirHolderIsNamed() throws {
        let addresses = [NetworkAddress("127.0.0.1")!, NetworkAddress("10.0.0.1")!, NetworkAddress("fd00::1")!]
        func finding(_ code: PTPError.Code, on bad: NetworkAddress) throws -> Finding {
            try #require(
                PortCheck.findings(
                    on: addresses,
                    check: { (address) throws(PTPError) in if address == bad { throw PTPError(code, "no.") } },
                    holder: { "ptp4l (77)" }
                ).first)
        }
        #expect(try finding(.portsBusy, on: addresses[1]).text.contains("ptp4l (77) holds UDP 319 or 320 on 10.0.0.1"))
        let forbidden = try finding(.notPermitted, on: addresses[0])
        #expect(forbidden.remedy?.contains("cap_sys_nice") == false)
        #expect(forbidden.remedy?.contains("sysctl net.ipv4.ip_unprivileged_port_start=319") == true)
        #expect(try finding(.portsBusy, on: NetworkAddress("10.0.0.2")!).verdict == .good)
        #expect(try finding(.portsBusy, on: addresses[2]).text.contains("holds UDP 319 or 320 on fd00::1"))
        let table = [
            "00000000000000000000000000000001 01 80 10 80       lo",
            "fe80000000000000000000000000000a 0002 40 20 80     eth0",
            "fd00000000000000000000000000000b 02 40 00 40     eth0", "fd", "",
        ].joined(separator: "\n")
        let found = PortCheck.addresses(in: table)
        #expect(found == [NetworkAddress("::1")!, NetworkAddress("fe80::a%2")!], "the third one is tentative")
    }

    @Test func theHolderOfAPortIsFoundInTheKernelsTable() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                #expect(bind(descriptor, pointer, length) == 0)
                #expect(getsockname(descriptor, pointer, &length) == 0)
            }
        }
        let holder = PortHolder.name(ofUDP: UInt16(bigEndian: address.sin_port))
        #expect(holder?.hasSuffix("(\(getpid()))") == true, "\(holder ?? "nobody")")
        #expect(PortHolder.inode(319, in: ["head", "1: 00000000:013G 0 0 0 0 0 0 0 0 5", "short"]) == nil)
        // A connection from this port (01, established) precedes the socket that listens on it.
        let table = [
            "head", "0: 0100007F:2328 0100007F:0050 01 0 0 0 0 0 7", "1: 00000000:2328 00000000:0000 0A 0 0 0 0 0 9",
        ]
        #expect(PortHolder.inode(9000, in: table, state: PortHolder.listening) == "9")
        #expect(PortHolder.inode(9000, in: table) == "7")
    }

    private var firewallFiles: FirewallCheck.Files {
        FirewallCheck.Files(
            ufw: folder.path("ufw"), ufwRules: folder.path("rules"), firewalld: folder.path("pid"),
            firewalldConfiguration: folder.path("conf"), firewalldZones: [folder.path("zones"), folder.path("more")])
    }

    @Test func anActiveUFWNeedsARuleForEachPort() throws {
        let (first, last) = (SenderPorts.range.lowerBound, SenderPorts.range.upperBound)
        func finding(_ rules: String...) throws -> Finding {
            folder.write(rules.map { "-A ufw-user-input \($0)\n" }.joined(), to: "rules")
            return try #require(FirewallCheck.findings(firewallFiles).first)
        }
        #expect(try finding().verdict == .good, "it is not active")
        folder.write("# comment\nENABLED=yes\n", to: "ufw")
        #expect(try finding().verdict == .limited)
        #expect(try finding().remedy?.contains("ufw allow \(first):\(last)/udp") == true)
        let range = "-p udp -m multiport --dports \(first):\(last) -j ACCEPT"
        #expect(try finding(range).verdict == .limited, "PTP is missing")
        #expect(try finding(range, "-p udp -m multiport --dports 319:320 -j ACCEPT").verdict == .good)
        #expect(try finding(range, "-p udp --dport 319 -j ACCEPT", "-p udp --dport 320 -j ACCEPT").verdict == .good)
        #expect(try finding(range, "-p udp --dport 319 -j ACCEPT").verdict == .limited)
        #expect(try finding(range, "-p tcp -m multiport --dports 319:320 -j ACCEPT").verdict == .limited)
        #expect(try finding(range, "-p udp -m multiport --dports 319:320 -j DROP").verdict == .limited)
        #expect(try finding("-s 192.168.0.0/16 -j ACCEPT").verdict == .good)
    }

    @Test func anActiveFirewalldNeedsItsDefaultZoneToAllowEachPort() throws {
        let (first, last) = (SenderPorts.range.lowerBound, SenderPorts.range.upperBound)
        func finding(_ zone: String, in name: String) throws -> Finding {
            folder.write("<?xml version=\"1.0\"?><zone>\(zone)</zone>", to: name)
            return try #require(FirewallCheck.findings(firewallFiles).first)
        }
        try FileManager.default.createDirectory(atPath: folder.path("zones"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: folder.path("more"), withIntermediateDirectories: true)
        folder.write("812\n", to: "pid")
        let ports = "<port port=\"\(first)-\(last)\" protocol=\"udp\"/><port port=\"319-320\" protocol=\"udp\"/>"
        let open = try finding(ports, in: "zones/public.xml")
        #expect(open.verdict == .good)
        folder.write("# comment\nDefaultZone=hall\n", to: "conf")
        let closed = try finding("<port port=\"1025-65535\" protocol=\"udp\"/>", in: "more/hall.xml")
        #expect(closed.verdict == .limited && closed.remedy?.contains("--add-port=\(first)-\(last)/udp") == true)
        #expect(try finding("<rule>\(ports)<reject/></rule>", in: "zones/hall.xml").verdict == .limited)
        #expect(try finding(ports, in: "zones/hall.xml").verdict == .good)
    }

    @Test(arguments: ["ufw", "pid"]) func rulesThatOnlyRootCanReadAreUnknown(firewall: String) throws {
        folder.write("ENABLED=yes\n", to: firewall)
        var files = firewallFiles
        files.read = { [read = files.read] (path) throws(FileBytes.Failure) in
            if path.hasSuffix("rules") || path.hasSuffix("conf") { throw FileBytes.Failure(code: EACCES) }
            return try read(path)
        }
        let finding = try #require(FirewallCheck.findings(files).first)
        #expect(finding.verdict == .limited && finding.text.contains("readable by root only"))
        #expect(finding.remedy == "`sudo talkie doctor` checks them")
    }

    @Test func serversOfPulseAudioAreHereOrElsewhere() {
        func addresses(_ text: String) -> [SoundServerCheck.ServerAddress] {
            SoundServerCheck.addresses(in: text, machine: "0123abcd", host: "hall")
        }
        #expect(addresses("unix:/run/a") == [.socket("/run/a")] && addresses("/run/a") == [.socket("/run/a")])
        let list = addresses("{0123abcd}unix:/run/a {ffff}unix:/run/b tcp:hall:4713")
        #expect(list == [.socket("/run/a"), .port("tcp:hall:4713")])
        for here in ["localhost", "tcp:localhost", "tcp4:127.0.0.1:4713", "tcp6:[::1]:4713", "::1", "hall"] {
            #expect(addresses(here) == [.port(here)])
        }
        for elsewhere in ["kitchen", "tcp:10.0.0.2", "tcp6:[fe80::1]:4713", "localhost.example:1"] {
            #expect(addresses(elsewhere) == [.elsewhere])
        }
    }

    @Test func capabilitiesAndRootAreReportedWithAlternatives() {
        func finding(_ isRoot: Bool, _ givenUp: UInt64, _ fileHasSome: Bool) -> Finding {
            CapabilityCheck.finding(
                isRoot: isRoot, givenUp: givenUp, fileHasSome: fileHasSome, file: "/nowhere/it's talkie")
        }
        #expect(finding(false, 0, false).verdict == .good)
        let service = finding(false, 1 << 10 | 1 << 23 | 1 << 40, false)
        #expect(service.verdict == .limited)
        #expect(service.text.contains("started with cap_net_bind_service, cap_sys_nice, number 40, dropped"))
        #expect(service.remedy == "remove AmbientCapabilities= from its service")
        let file = finding(true, 0, true)
        #expect(file.verdict == .limited && file.text.contains("the program file has some"))
        #expect(file.remedy == "`sudo setcap -r '/nowhere/it'\\''s talkie'` removes them from its file")
        #expect(finding(true, 0, false).text.contains("running as root"))
        #expect(Privileges.notice(ofGivenUp: 0, file: "/bin/true", hasSome: false) == nil)
        let notice = Privileges.notice(ofGivenUp: 1 << 10, file: "/bin/true", hasSome: true)
        #expect(notice?.contains("(cap_net_bind_service)") == true && notice?.contains("`talkie doctor`") == true)
        #expect(Privileges.names(of: .max) == "64 of them")
    }

    @Test func aSlowClockIsALimit() {
        #expect(ClockCheck.finding(source: "tsc", reading: .nanoseconds(25)).verdict == .good)
        let slow = ClockCheck.finding(source: "hpet", reading: .microseconds(2))
        #expect(slow.verdict == .limited && slow.remedy != nil)
    }

    @Test func everyFindingThatIsNotGoodComesWithItsRemedy() {
        // The checks of this machine that need no display.
        let findings =
            SoundCardCheck.findings() + SoundServerCheck.findings() + DecoderCheck.findings()
            + PriorityCheck.findings() + ClockCheck.findings() + CapabilityCheck.findings() + PortCheck.findings()
            + FirewallCheck.findings()
            + DiscoveryCheck.findings()
        #expect(findings.count >= 7)
        for finding in findings {
            #expect(!finding.text.isEmpty)
            if finding.verdict != .good { #expect(finding.remedy?.isEmpty == false, "\(finding.topic)") }
        }
    }

    @Test func theFindingsArePrintedForPeopleAndForPrograms() throws {
        let findings = [
            Finding("clock", .good, "tsc"), Finding("sound card", .missing, problem: "none was found; connect one"),
        ]
        #expect(
            Doctor.text(findings) == """
                good     clock       tsc
                missing  sound card  none was found
                                     → connect one

                """)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(Doctor.json(findings).formatted.utf8)) as? [String: Any])
        let second = try #require((json["findings"] as? [[String: Any]])?.last)
        #expect(second["verdict"] as? String == "missing" && second["remedy"] as? String == "connect one")
    }
}
