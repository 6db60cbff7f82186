import Glibc
import MediaCore
import Sockets
import Testing

@testable import Kiosk

@Suite struct ServiceManagerTests {
    /// Returns a unique name in the abstract socket namespace.
    private static func freshName() -> String { "@talkie-test-\(getpid())-\(UInt64.random(in: 0 ... .max))" }

    /// Returns a socket that receives the notifications for a name.
    private func ear(_ name: String) throws -> LocalDatagramSocket {
        let address = try #require(LocalSocketAddress(name))
        return try #require(LocalDatagramSocket(receivingAt: address))
    }

    private func manager(_ name: String, _ more: [String: String] = [:]) -> ServiceManager {
        ServiceManager(environment: ["NOTIFY_SOCKET": name].merging(more) { $1 }, process: 42)
    }

    @Test func theManagerReceivesItsProtocolsMessages() throws {
        let name = Self.freshName()
        let ear = try ear(name)
        let manager = manager(name)
        #expect(manager.isPresent)
        manager.notify(.ready, .status("playing\nREADY=0"), .mainProcess(42))
        #expect(ear.receive() == "READY=1\nSTATUS=playing\u{FFFD}READY=0\nMAINPID=42")
        manager.notify(.reloading(at: HostInstant(nanoseconds: 12_345_678_999)))
        #expect(ear.receive() == "RELOADING=1\nMONOTONIC_USEC=12345678")
        manager.notify(.alive)
        #expect(ear.receive() == "WATCHDOG=1")
        manager.notify(.stopping)
        #expect(ear.receive() == "STOPPING=1")
        #expect(ear.receive() == nil)
    }

    @Test func aPathIsAnAddressToo() throws {
        let path = "/tmp/talkie-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let ear = try ear(path)
        defer { unlink(path) }
        manager(path).notify(.ready)
        #expect(ear.receive() == "READY=1")
    }

    @Test func aReturnedManagerReceivesTheLastState() throws {
        let name = Self.freshName()
        let manager = manager(name)
        manager.notify(.ready, .status("one"))
        manager.notify(.alive)
        manager.notify(.status("two"))
        let ear = try ear(name)
        manager.notify(.alive)
        #expect(ear.receive() == "READY=1\nSTATUS=two\nWATCHDOG=1")
        #expect(ear.receive() == nil)
    }

    @Test func aManagerThatDoesNotReadDoesNotBlock() throws {
        let name = Self.freshName()
        let ear = try ear(name)
        let manager = manager(name)
        // The socket's queue holds fewer datagrams (net.unix.max_dgram_qlen).
        for number in 0..<5000 { manager.notify(.status("\(number)")) }
        while ear.receive() != nil {}
        manager.notify(.alive)
        #expect(ear.receive() == "STATUS=4999\nWATCHDOG=1")
    }

    @Test func withoutAManagerNothingIsSent() {
        let manager = ServiceManager(environment: ["WATCHDOG_USEC": "1000000"], process: 42)
        #expect(!manager.isPresent && manager.watchdogTime == nil && manager.objection == nil)
        manager.notify(.ready)
    }

    @Test func theWatchdogIsForTheProcessThatItNames() {
        let name = Self.freshName()
        #expect(manager(name, ["WATCHDOG_USEC": "30000000"]).watchdogTime == .seconds(30))
        #expect(manager(name, ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]).watchdogTime == .seconds(30))
        #expect(manager(name, ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]).watchdogTime == nil)
        #expect(manager(name).watchdogTime == nil)
    }

    @Test(arguments: ["0", "-1", "soon", "9223372036854775807"])
    func anInvalidIntervalIsReportedAndDisablesTheWatchdog(_ text: String) {
        let manager = manager(Self.freshName(), ["WATCHDOG_USEC": text])
        #expect(manager.watchdogTime == nil)
        #expect(manager.objection?.contains("'\(text)'") == true)
    }

    @Test(arguments: ["relative/path", "vsock:2:1", "@", "/" + String(repeating: "x", count: 200)])
    func anInvalidAddressIsReported(_ text: String) {
        let manager = manager(text)
        #expect(!manager.isPresent && manager.objection != nil)
        manager.notify(.ready)
    }

    /// A process of its own: others read the environment meanwhile, which setenv(3) does not allow.
    @Test func programsThatAreStartedDoNotSpeakInItsName() async {
        await #expect(processExitsWith: .success) {
            setenv("NOTIFY_SOCKET", "@talkie-test-nobody", 1)
            setenv("WATCHDOG_USEC", "2000000", 1)
            setenv("WATCHDOG_PID", "\(getpid())", 1)
            let manager = ServiceManager.readFromEnvironment()
            #expect(manager.isPresent && manager.watchdogTime == .seconds(2))
            #expect(getenv("NOTIFY_SOCKET") == nil && getenv("WATCHDOG_USEC") == nil && getenv("WATCHDOG_PID") == nil)
        }
    }
}

@Suite struct WatchdogTests {
    /// A watchdog in virtual time, in seconds since its creation.
    private struct ServiceManagerFixture {
        private let start = HostInstant(nanoseconds: 5_000_000_000)
        private var dog: Watchdog

        init(timeout: Double) throws { dog = try #require(Watchdog(timeout: .seconds(timeout), at: start)) }

        var next: Double { (dog.next - start).inSeconds }
        var end: Double { (dog.end - start).inSeconds }

        mutating func gives(at seconds: Double, isAlive: Bool = true) -> Bool {
            dog.isSignDue(at: start.advanced(by: .seconds(seconds)), isAlive: isAlive)
        }
    }

    @Test func aSignIsGivenAtHalfOfTheTime() throws {
        var rig = try ServiceManagerFixture(timeout: 30)
        #expect(rig.next == 15 && rig.end == 30)
        let given = [14.9, 15, 15, 29, 30].map { rig.gives(at: $0) }
        #expect(given == [false, true, false, false, true])
        #expect(rig.next == 45 && rig.end == 60)
    }

    @Test func withoutLifeThereIsNoSign() throws {
        var rig = try ServiceManagerFixture(timeout: 8)
        var moment = 0.0
        while moment < 60 {
            let isGiven = rig.gives(at: moment, isAlive: false)
            #expect(!isGiven)
            #expect(rig.next > moment, "whoever waits for it sleeps")
            moment += 0.5
        }
        #expect(rig.end == 8)
    }

    @Test func aRecoveredSessionIsInTime() throws {
        var rig = try ServiceManagerFixture(timeout: 8)
        let first = rig.gives(at: 4, isAlive: false)
        #expect(!first && rig.next == 5)
        let second = rig.gives(at: 5)
        #expect(second && rig.end == 13)
    }

    @Test func withoutAnIntervalThereIsNoDeadline() {
        #expect(Watchdog(timeout: nil, at: HostInstant(nanoseconds: 0)) == nil)
        #expect(Watchdog(timeout: .zero, at: HostInstant(nanoseconds: 0)) == nil)
    }
}
