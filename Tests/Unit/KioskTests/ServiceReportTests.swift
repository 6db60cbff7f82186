import MediaCore
import Testing

@testable import Kiosk

/// The notifications to the service manager, and their times.
@Suite struct ServiceReportTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)

    private func at(_ seconds: Double) -> HostInstant { start.advanced(by: .seconds(seconds)) }

    @Test func aStateIsReportedWhenItChangesAndReadinessOnce() {
        var report = ServiceReport(watchdogTime: nil, at: start)
        #expect(report.nextDeadline == nil)
        #expect(
            report.notifications(status: "Looks for films", isReady: false, isAlive: true, at: start)
                == [.status("Looks for films")])
        #expect(
            report.notifications(status: "Plays 'a'", isReady: true, isAlive: true, at: at(1))
                == [.status("Plays 'a'"), .ready])
        #expect(report.notifications(status: "Plays 'a'", isReady: true, isAlive: true, at: at(2)).isEmpty)
        #expect(
            report.notifications(status: "Plays 'b'", isReady: false, isAlive: true, at: at(3))
                == [.status("Plays 'b'")])
    }

    @Test func aSignIsSentAtHalfTheTimeWhilePlaybackIsAlive() {
        var report = ServiceReport(watchdogTime: .seconds(8), at: start)
        func signs(_ seconds: ClosedRange<Int>, isAlive: Bool) -> [Int] {
            seconds.filter { second in
                report.notifications(status: "", isReady: false, isAlive: isAlive, at: at(Double(second))) == [.alive]
            }
        }
        #expect(report.nextDeadline == at(4))
        #expect(signs(1...8, isAlive: true) == [4, 8])
        #expect(signs(9...20, isAlive: false).isEmpty)
        #expect(signs(21...22, isAlive: true) == [21])
    }
}
