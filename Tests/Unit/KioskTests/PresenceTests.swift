import MediaCore
import Testing

@testable import Kiosk

/// Which frames and audio of the statistics reached a viewer.
@Suite struct PresenceTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)
    private func second(_ number: Int) -> HostInstant { start.advanced(by: .seconds(number)) }

    @Test func picturesCountWhileAWindowIsVisible() {
        var presence = Presence()
        for number in 0...9 {
            // The window is closed from second 4 to second 6, and playback continues.
            let isVisible = !(4...6).contains(number)
            presence.observe(
                shown: number * 25, lastShown: second(number), isVisible: isVisible, isHeard: true, at: second(number))
            #expect(presence.fault(at: second(number)) == nil, "a window that is made anew is no fault")
        }
        #expect(presence.frames == 6 * 25)
        #expect(presence.lastFrame == second(9))
    }

    @Test func aDisplayThatIsGoneIsAFaultWithinSixSecondsAndSoIsSoundThatNothingPlays() {
        var presence = Presence()
        for number in 0...8 {
            presence.observe(
                shown: number, lastShown: nil, isVisible: number < 2, isHeard: number < 5, at: second(number))
        }
        #expect(presence.fault(at: second(8)) == "no display: no visible window for 6 s")
        presence.observe(shown: 9, lastShown: second(9), isVisible: true, isHeard: false, at: second(9))
        #expect(presence.fault(at: second(9)) == "no sound: no output connected for 4 s")
        presence.observe(shown: 10, lastShown: second(10), isVisible: true, isHeard: true, at: second(10))
        #expect(presence.fault(at: second(10)) == nil)
        for number in 11...20 {
            presence.observe(shown: 11, lastShown: nil, isVisible: nil, isHeard: nil, at: second(number))
        }
        #expect(presence.fault(at: second(20)) == nil, "neither is wanted")
    }
}
