import Foundation
import Glibc
import Testing

@testable import Talkie

@Suite struct DoctorTests {
    let folder = TemporaryFolder()

    /// A socket that listens, until closed.
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
        #expect(DiscoveryCheck.findings(bus: bus, avahi: avahi).first?.verdict == .good)
        close(busSocket)
        // The file remains; nobody is behind it.
        #expect(DiscoveryCheck.findings(bus: bus, avahi: avahi).first?.verdict == .missing)
        close(avahiSocket)
        #expect(!UnixSocket.answers(at: String(repeating: "x", count: 200)))
    }

    @Test func aPortThatSomebodyHoldsIsTold() {
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
        #expect(PortCheck.bindFailure(UInt16(bigEndian: address.sin_port)) == EADDRINUSE)
    }

    @Test func aSlowClockIsALimit() {
        #expect(ClockCheck.finding(source: "tsc", reading: .nanoseconds(25)).verdict == .good)
        let slow = ClockCheck.finding(source: "hpet", reading: .microseconds(2))
        #expect(slow.verdict == .limited && slow.remedy != nil)
    }

    @Test func everyFindingThatIsNotGoodComesWithItsRemedy() {
        // The checks that look at this machine and need no display.
        let findings =
            SoundCardCheck.findings() + SoundServerCheck.findings() + DecoderCheck.findings()
            + PriorityCheck.findings() + ClockCheck.findings() + PortCheck.findings() + DiscoveryCheck.findings()
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
