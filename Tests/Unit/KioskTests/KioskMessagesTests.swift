import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk

/// How often the messages of a kiosk are logged.
@Suite struct KioskMessagesTests {
    @Test func aWarningIsLoggedOnceAnHourUnlessItsCauseWasRepaired() {
        let (clock, logged) = (ManualClock(HostInstant(nanoseconds: 1_000_000_000)), Lock<[String]>([]))
        let log = KioskLog(most: .info, journal: nil) { _, text in logged.withLock { $0.append(text) } }
        let messages = KioskMessages(log, clock: clock)
        func isLogged(_ level: LogLevel, after pause: Duration) -> Bool {
            clock.advance(by: pause)
            logged.withLock { $0 = [] }
            messages.say(level, "a")
            return logged.withLock { $0 == ["a"] }
        }
        #expect(isLogged(.warning, after: .zero))
        #expect(!isLogged(.error, after: .seconds(3599)))
        #expect(isLogged(.error, after: .seconds(1)))
        messages.forget("a")
        #expect(isLogged(.warning, after: .seconds(1)))
        #expect(isLogged(.info, after: .zero))
        logged.withLock { $0 = [] }
        messages.sayAlways(.warning, "a", KioskNote())
        #expect(logged.withLock { $0 } == ["a"])
    }
}
