import Foundation
import Glibc
import MediaCore
import ServiceSupervisor
import Testing

/// The supervisor of the tests with a program that behaves as its arguments say.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ServiceSupervisorTests {
    private static let probe = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("service-probe.py").path

    private func supervisor(
        _ mode: String, _ change: (inout ServiceSupervisor.Unit) -> Void = { _ in }
    ) throws -> ServiceSupervisor {
        var unit = ServiceSupervisor.Unit("/usr/bin/python3", [Self.probe, mode])
        unit.restartDelay = .milliseconds(20)
        change(&unit)
        return try ServiceSupervisor(unit)
    }

    private func starts(_ entries: [ServiceSupervisor.Entry]) -> Int {
        entries.count { if case .started = $0.event { true } else { false } }
    }

    @Test func aProcessThatReportsItsHealthKeepsRunning() throws {
        let supervisor = try supervisor("live") { $0.watchdog = .seconds(2) }
        try supervisor.start()
        #expect(
            supervisor.wait(within: .seconds(20)) { _ in
                supervisor.notifications.filter { $0 == "WATCHDOG=1" }.count >= 6
            })
        supervisor.reload()
        #expect(supervisor.wait(within: .seconds(20)) { _ in supervisor.notifications.contains("RELOADING=1") })
        supervisor.stop()
        #expect(supervisor.notifications.first == "READY=1" && supervisor.notifications.contains("STOPPING=1"))
        let events = supervisor.entries.map(\.event)
        #expect(starts(supervisor.entries) == 1 && !events.contains(.watchdogMissed))
        #expect(events.last == .exited(status: 0) && supervisor.hasEnded)
    }

    @Test func aSilentProcessIsAbortedAndRestarted() throws {
        let supervisor = try supervisor("silent") { ($0.watchdog, $0.maxStarts) = (.milliseconds(300), 2) }
        try supervisor.start()
        #expect(supervisor.wait(within: .seconds(20)) { _ in supervisor.hasEnded })
        let events = supervisor.entries.map(\.event)
        #expect(starts(supervisor.entries) == 2)
        #expect(events.count { $0 == .watchdogMissed } == 2 && events.count { $0 == .killed(signal: SIGABRT) } == 2)
        let ready = try #require(supervisor.entries.first { $0.event == .notified(["READY=1", "STATUS=silent"]) })
        let missed = try #require(supervisor.entries.first { $0.event == .watchdogMissed })
        #expect(missed.at - ready.at >= .milliseconds(300))
    }

    @Test func aProcessThatIgnoresSignalsIsKilled() throws {
        let supervisor = try supervisor("deaf") {
            ($0.watchdog, $0.stopTimeout) = (.milliseconds(200), .milliseconds(200))
        }
        try supervisor.start()
        #expect(supervisor.wait(within: .seconds(20)) { $0.contains { $0.event == .killed(signal: SIGKILL) } })
        supervisor.stop()
        #expect(supervisor.entries.map(\.event).contains(.forced))
    }

    @Test func aFailedProcessIsRestartedUnlikeASuccessfulOne() throws {
        let failing = try supervisor("fail") { $0.maxStarts = 3 }
        try failing.start()
        #expect(failing.wait(within: .seconds(20)) { _ in failing.hasEnded })
        #expect(failing.entries.map(\.event).count { $0 == .exited(status: 69) } == 3)
        let finishing = try supervisor("finish")
        try finishing.start()
        #expect(finishing.wait(within: .seconds(20)) { _ in finishing.hasEnded })
        #expect(starts(finishing.entries) == 1)
    }

    @Test func aKillFromOutsideIsAFailure() throws {
        let supervisor = try supervisor("silent") { $0.maxStarts = 2 }
        try supervisor.start()
        #expect(supervisor.wait(within: .seconds(20)) { _ in supervisor.notifications.contains("READY=1") })
        supervisor.send(SIGKILL)
        #expect(supervisor.wait(within: .seconds(20)) { self.starts($0) == 2 })
        supervisor.stop()
    }
}
