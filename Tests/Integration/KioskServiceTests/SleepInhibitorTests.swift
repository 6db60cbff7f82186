import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk

/// Sleep inhibition on a real message bus, with python3-dbusmock in place of logind and the desktop portal.
@Suite(
    .serialized, .enabled(if: MessageBus.isWanted, "no dbus-daemon or python3-dbusmock here"), .timeLimit(.minutes(1)))
struct SleepInhibitorTests {
    private final class Told: Sendable {
        let events = Lock<[SleepInhibitor.Event]>([])
        let signal = Signal()

        func record(_ item: SleepInhibitor.Event) {
            events.withLock { $0.append(item) }
            signal.raise()
        }

        func has(_ wanted: [SleepInhibitor.Event]) -> Bool {
            let deadline = HostInstant.now.advanced(by: .seconds(20))
            while events.withLock({ $0 }) != wanted {
                guard HostInstant.now < deadline else { return false }
                signal.wait(until: deadline)
                signal.clear()
            }
            return true
        }
    }

    private func inhibitor(
        _ told: Told, system: MessageBus?, session: MessageBus? = nil
    ) throws -> SleepInhibitor {
        let nowhere = "unix:path=/nonexistent"
        return try SleepInhibitor(
            why: "Films are shown",
            buses: SleepInhibitor.Buses(system: system?.address ?? nowhere, session: session?.address ?? nowhere),
            tell: told.take)
    }

    /// Returns an inhibitor that holds logind's lock.
    private func kept(by bus: MessageBus) throws -> (Told, SleepInhibitor) {
        try bus.serveLogind()
        let told = Told()
        let inhibitor = try inhibitor(told, system: bus)
        try inhibitor.start()
        #expect(told.has([.kept(.system(what: "sleep:idle"))]))
        return (told, inhibitor)
    }

    @Test func logindHoldsALockForAsLongAsTheKioskRuns() throws {
        let bus = try MessageBus()
        let (_, inhibitor) = try kept(by: bus)
        #expect(try bus.locks().contains("sleep:idle"))
        #expect(try bus.locks().contains("Films are shown"))
        inhibitor.stop()
        #expect(bus.eventually { try bus.locks().contains("Films are shown") == false })
    }

    @Test func thatTheComputerSleptIsHeard() throws {
        let bus = try MessageBus()
        let (told, inhibitor) = try kept(by: bus)
        defer { inhibitor.stop() }
        try bus.announce(sleeps: true)
        try bus.announce(sleeps: false)
        #expect(told.has([.kept(.system(what: "sleep:idle")), .fallsAsleep, .woke]))
    }

    @Test func whereThereIsNoLogindTheDesktopIsAsked() throws {
        let desktop = try MessageBus()
        try desktop.servePortal()
        let told = Told()
        let inhibitor = try inhibitor(told, system: nil, session: desktop)
        try inhibitor.start()
        defer { inhibitor.stop() }
        #expect(told.has([.kept(.portal)]))
        // Flags 4 (suspend) and 8 (idle) of the portal.
        #expect(try desktop.log().contains("Inhibit \"\" 12 {\"reason\": \"Films are shown\"}"))
    }

    @Test func aMissingSleepInhibitorIsReportedOnce() throws {
        let told = Told()
        let inhibitor = try inhibitor(told, system: nil)
        try inhibitor.start()
        #expect(told.has([.refused(SystemCause.text(ENOENT))]))
        inhibitor.stop()
        #expect(told.events.withLock { $0.count } == 1)
    }

    @Test func aBusThatEndsAndReturnsHoldsTheLockAgain() throws {
        let bus = try MessageBus()
        let (_, inhibitor) = try kept(by: bus)
        defer { inhibitor.stop() }
        bus.end()
        try bus.begin()
        try bus.serveLogind()
        #expect(bus.eventually { try bus.locks().contains("Films are shown") })
    }
}
