import Foundation
import MediaCore
import Playback
import SyncRendering
import TalkieTestKit
import Testing

@testable import Remote

/// Sleep inhibition on a real message bus, with python3-dbusmock in place of logind and the desktop portal.
@Suite(
    .serialized, .enabled(if: PrivateMessageBus.isWanted, "no dbus-daemon or python3-dbusmock here"),
    .timeLimit(.minutes(1)))
struct SleepInhibitorTests {
    private final class ReceivedEvents: Sendable {
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

    /// The address of a bus that does not exist. Nothing can be created there.
    private static let nowhere = "unix:path=/proc/nonexistent"

    private func inhibitor(
        _ received: ReceivedEvents, system: PrivateMessageBus?, session: PrivateMessageBus? = nil
    ) throws -> SleepInhibitor {
        let nowhere = Self.nowhere
        return try SleepInhibitor(
            why: "Films are shown", scope: .sleep,
            buses: SleepInhibitor.Buses(system: system?.address ?? nowhere, session: session?.address ?? nowhere),
            onEvent: received.record)
    }

    /// Returns an inhibitor that holds logind's lock.
    private func kept(by bus: PrivateMessageBus) throws -> (ReceivedEvents, SleepInhibitor) {
        try bus.serveLogind()
        let received = ReceivedEvents()
        let inhibitor = try inhibitor(received, system: bus)
        try inhibitor.start()
        #expect(received.has([.kept(.system(what: "sleep:idle"))]))
        return (received, inhibitor)
    }

    @Test func logindHoldsALockForAsLongAsItIsNeeded() throws {
        let bus = try PrivateMessageBus()
        let (_, inhibitor) = try kept(by: bus)
        #expect(try bus.locks().contains("sleep:idle"))
        #expect(try bus.locks().contains("Films are shown"))
        inhibitor.setNeeded(false)
        #expect(bus.eventually { try bus.locks().contains("Films are shown") == false })
        inhibitor.setNeeded(true)
        #expect(bus.eventually { try bus.locks().contains("Films are shown") })
        inhibitor.stop()
        #expect(bus.eventually { try bus.locks().contains("Films are shown") == false })
    }

    @Test func thatTheComputerSleptIsHeard() throws {
        let bus = try PrivateMessageBus()
        let (received, inhibitor) = try kept(by: bus)
        defer { inhibitor.stop() }
        try bus.announce(sleeps: true)
        try bus.announce(sleeps: false)
        #expect(received.has([.kept(.system(what: "sleep:idle")), .fallsAsleep, .woke]))
    }

    @Test func whereThereIsNoLogindTheDesktopIsAsked() throws {
        let desktop = try PrivateMessageBus()
        try desktop.servePortal()
        let received = ReceivedEvents()
        let inhibitor = try inhibitor(received, system: nil, session: desktop)
        try inhibitor.start()
        defer { inhibitor.stop() }
        #expect(received.has([.kept(.portal)]))
        // Flags 4 (suspend) and 8 (idle) of the portal.
        #expect(try desktop.log().contains("Inhibit \"\" 12 {\"reason\": \"Films are shown\"}"))
    }

    @Test func aFilmInhibitsIdlenessOnlyAndOnlyFromItsStartOn() throws {
        let bus = try PrivateMessageBus()
        try bus.serveLogind()
        let received = ReceivedEvents()
        let inhibitor = try SleepInhibitor(
            why: "A film plays", scope: .idleness, isNeeded: false,
            buses: SleepInhibitor.Buses(system: bus.address, session: Self.nowhere),
            onEvent: received.record)
        try inhibitor.start()
        defer { inhibitor.stop() }
        #expect(received.events.withLock { $0.isEmpty })
        inhibitor.setNeeded(true)
        #expect(received.has([.kept(.system(what: "idle"))]))
        #expect(try bus.locks().contains("A film plays"))
    }

    private func makePlayer(_ onEvent: @escaping @Sendable (PlayerEvent) -> Void = { _ in }) -> Player {
        var options = PlayerOptions()
        options.playsVideo = false
        options.session = PlaybackSession()
        return Player(
            components: Player.Components(
                open: { (_, _) throws(MediaError) in SyntheticFilm(duration: MediaTime(value: 3600, timescale: 1)) },
                codecs: SyntheticCodecs(),
                makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) },
                audioOutput: RecordingOutput(capacity: 48_000 * 60)),
            options: options, events: EventLog(clock: MonotonicClock()), onEvent: onEvent)
    }

    @Test func aPlayerThatEndsInMidFilmInhibitsNothingAnyMore() throws {
        let bus = try PrivateMessageBus()
        try bus.serveLogind()
        let player = makePlayer()
        let inhibitor = try SleepInhibitor(
            player, reason: "A film plays", buses: SleepInhibitor.Buses(system: bus.address, session: Self.nowhere))
        try inhibitor.start()
        defer { inhibitor.stop() }
        player.open("film")
        #expect(bus.eventually { try bus.locks().contains("A film plays") })
        player.shutDown()
        #expect(bus.eventually { try bus.locks().contains("A film plays") == false })
    }

    /// The path of an application: a player, logind's signals, and the player's events.
    @Test func aFilmPausesWhenTheComputerSleepsAndStaysPaused() throws {
        let bus = try PrivateMessageBus()
        try bus.serveLogind()
        let seen = Lock<[PlaybackInterruption]>([])
        let player = makePlayer { event in
            if case .interruption(let interruption) = event { seen.withLock { $0.append(interruption) } }
        }
        defer { player.shutDown() }
        let inhibitor = try SleepInhibitor(
            player, reason: "A film plays", buses: SleepInhibitor.Buses(system: bus.address, session: Self.nowhere))
        try inhibitor.start()
        defer { inhibitor.stop() }
        #expect(try !bus.locks().contains("A film plays"))
        player.open("film")
        #expect(bus.eventually { try bus.locks().contains("A film plays") })
        try bus.announce(sleeps: true)
        #expect(bus.eventually { player.state.phase == .paused && player.state.interruption == .sleep })
        // A later interruption must not hide the sleep.
        player.beginInterruption()
        #expect(bus.eventually { player.state.interruption == .otherAudio })
        player.endInterruption(mayResume: true)
        try bus.announce(sleeps: false)
        #expect(bus.eventually { player.state.interruption == nil })
        #expect(player.state.phase == .paused)
        #expect(
            seen.withLock { $0 } == [
                .began(.sleep), .began(.otherAudio), .ended(.otherAudio, mayResume: true),
                .ended(.sleep, mayResume: false),
            ])
        #expect(bus.eventually { try bus.locks().contains("A film plays") == false })
    }

    @Test func aMissingSleepInhibitorIsReportedOnce() throws {
        let received = ReceivedEvents()
        let inhibitor = try inhibitor(received, system: nil)
        try inhibitor.start()
        #expect(received.has([.refused(SystemCause.text(ENOENT))]))
        inhibitor.stop()
        #expect(received.events.withLock { $0.count } == 1)
    }

    @Test func aBusThatEndsAndReturnsHoldsTheLockAgain() throws {
        let bus = try PrivateMessageBus()
        let (_, inhibitor) = try kept(by: bus)
        defer { inhibitor.stop() }
        bus.end()
        try bus.begin()
        try bus.serveLogind()
        #expect(bus.eventually { try bus.locks().contains("Films are shown") })
    }
}
