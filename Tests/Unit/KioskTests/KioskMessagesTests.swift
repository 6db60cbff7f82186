import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk

/// How often the messages of a kiosk are logged.
@Suite struct KioskMessagesTests {
    @Test func aWarningIsLoggedOnceAnHourUnlessItsCauseWasRepaired() {
        let (clock, logged) = (ManualClock(HostInstant(nanoseconds: 1_000_000_000)), Lock<[String]>([]))
        let log = KioskLog(maxLevel: .info, journal: nil) { _, text in logged.withLock { $0.append(text) } }
        let messages = KioskMessages(log, clock: clock)
        func lines(_ level: LogLevel, after pause: Duration) -> [String] {
            clock.advance(by: pause)
            logged.withLock { $0 = [] }
            messages.say(level, "a")
            return logged.withLock { $0 }
        }
        #expect(lines(.warning, after: .zero) == ["a"])
        #expect(lines(.error, after: .seconds(3599)) == [])
        #expect(lines(.error, after: .seconds(1)) == ["a (1 more time since the last line)"])
        messages.forget("a")
        #expect(lines(.warning, after: .seconds(1)) == ["a"])
        #expect(lines(.info, after: .zero) == ["a"])
        logged.withLock { $0 = [] }
        messages.sayAlways(.warning, "a", KioskNote())
        #expect(logged.withLock { $0 } == ["a"])
    }
}
