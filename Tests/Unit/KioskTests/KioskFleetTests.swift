import MediaCore
import Playback
import TalkieTestKit
import Testing

@testable import Kiosk

/// What a kiosk of a fleet logs and publishes.
@Suite struct KioskFleetTests {
    private let logged = Lock<[String]>([])

    private func fleet() -> KioskFleet {
        let log = KioskLog(maxLevel: .info, journal: nil) { [logged] _, text in logged.withLock { $0.append(text) } }
        return KioskFleet(screenshot: { nil }, messages: KioskMessages(log, clock: ManualClock(.now)))
    }

    @Test func aCommandIsLoggedWithItsValueUpToALimit() throws {
        let table = ControlTable.kiosk { _, _ in }
        let (fleet, start) = (fleet(), HostInstant(nanoseconds: 1_000_000_000))
        fleet.logCommand(try table.request(["set", "volume", "40"]), at: start)
        for _ in 1...CommandLog.maxLines { fleet.logCommand(try table.request(["slate", "a secret"]), at: start) }
        #expect(logged.withLock { $0.count } == CommandLog.maxLines)
        #expect(logged.withLock { $0.prefix(2) } == ["command: set volume 40", "command: slate"])
        fleet.logCommand(try table.request(["playlist-next"]), at: start.advanced(by: CommandLog.interval))
        #expect(logged.withLock { $0.last } == "command: playlist-next (1 more commands since the last line)")
    }

    @Test func withoutABrokerNoStateIsComposed() {
        let fleet = fleet()
        var isComposed = false
        func state() -> KioskStateMessage {
            isComposed = true
            return KioskStateMessage()
        }
        fleet.publish(state())
        fleet.stop()
        #expect(!isComposed && logged.withLock { $0.isEmpty })
    }
}
