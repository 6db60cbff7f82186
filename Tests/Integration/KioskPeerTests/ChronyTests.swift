import Glibc
import Kiosk
import MediaCore
import TalkieTestKit
import Testing

@testable import RouteTestSupport

/// The reports of a real chronyd: one instance serves time, the other reads it with a manipulated clock
/// (Tools/experiments/clock_bend.c).
@Suite(
    .serialized, .repeatedWhenTheMachineStalls,
    .enabled(if: Chrony.obstacle == nil || getenv("CI") != nil, "\(Chrony.obstacle ?? "")"))
struct ChronyTests {
    @Test func aClockThatIsAheadAndFastIsKnownByItsSignAndItsRate() throws {
        let chrony = try Chrony(ahead: 370_000_000, partsPerMillion: 50)
        let reader = ChronyReader(port: chrony.port)
        var last: ChronyTracking?
        #expect(
            eventually(.seconds(30)) {
                if case .report(let tracking) = reader.read() { last = tracking }
                return (last?.frequency).map { abs($0 - 50) < 5 } ?? false && last?.isSynchronised == true
            })
        let report = try #require(last)
        // The expected correction. This process has an unmodified clock, so the error accumulated by the manipulated
        // one is known.
        let gained = Double(HostInstant.now.nanoseconds - chrony.origin) * 50e-6
        let off = report.correction.inSeconds + (370_000_000 + gained) * 1e-9
        #expect(abs(off) < 1e-3, "\(report.correction), off by \(off) s")
        #expect(report.stratum == 9 && report.uncertainty < .milliseconds(50))
        chrony.end()
        guard case .absent(let why) = reader.read() else { return #expect(Bool(false), "nobody is left") }
        #expect(why.contains("506 Cannot talk to daemon"))
    }

    @Test func whereChronyIsSilentTheReasonIsSaid() throws {
        guard case .absent(let why) = ChronyReader(port: try Mosquitto.freePort()).read() else {
            return #expect(Bool(false))
        }
        #expect(why.contains("chronyc says"))
    }
}

/// Two chronyd instances on loopback that do not set the clock (`-x`).
final class Chrony {
    private static let program = "/usr/sbin/chronyd"
    static var obstacle: String? {
        if geteuid() != 0 { return "chronyd wants root" }
        return access(program, X_OK) == 0 ? nil : "\(program) is not installed"
    }

    /// Command port of the instance with the manipulated clock.
    let port: Int
    /// Monotonic time at which the manipulated clock starts to be fast, in nanoseconds.
    let origin = HostInstant.now.nanoseconds
    private let folder: String
    private var processes: [ChildProcess] = []

    init(ahead: Int64, partsPerMillion: Double) throws {
        var template = Array("/tmp/tkchrony-XXXXXX".utf8CString)
        folder = String(cString: mkdtemp(&template))
        let (time, commands) = (try Mosquitto.freePort(), try Mosquitto.freePort())
        port = try Mosquitto.freePort()
        let source = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let library = "\(folder)/bend.so"
        let compiler = try ChildProcess(
            "/usr/bin/cc",
            ["-shared", "-fPIC", "-O2", "-o", library, "/\(source)/Tools/experiments/clock_bend.c", "-ldl"])
        guard compiler.wait() else { throw ValueError("clock_bend.c cannot be compiled") }
        let common = "bindcmdaddress /\nbindcmdaddress 127.0.0.1\n"
        try start(
            "a",
            "local stratum 8\nallow 127.0.0.0/8\nport \(time)\ncmdport \(commands)\nbindaddress 127.0.0.1\n\(common)")
        try start(
            "b", "server 127.0.0.1 port \(time) iburst minpoll 0 maxpoll 1\nport 0\ncmdport \(port)\n\(common)",
            [
                "LD_PRELOAD": library, "CLOCK_BEND_PPM": "\(partsPerMillion)", "CLOCK_BEND_OFFSET": "\(ahead)",
                "CLOCK_BEND_ORIGIN": "\(origin)",
            ])
    }

    deinit { end() }

    func end() {
        for process in processes { process.end() }
        processes.removeAll()
        for name in ["a.conf", "b.conf", "a.pid", "b.pid", "bend.so"] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    private func start(_ name: String, _ settings: String, _ environment: [String: String] = [:]) throws {
        let path = "\(folder)/\(name).conf"
        guard let file = fopen(path, "w") else { throw ValueError("cannot write \(path)") }
        fputs("\(settings)pidfile \(folder)/\(name).pid\n", file)
        fclose(file)
        processes.append(
            try ChildProcess(Self.program, ["-x", "-d", "-U", "-u", "root", "-f", path], environment: environment))
    }
}
