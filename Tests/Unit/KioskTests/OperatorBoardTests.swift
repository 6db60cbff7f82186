import MediaCore
import ScreenOutput
import Testing

@testable import Kiosk

/// The text of the operator's display.
struct OperatorBoardTests {
    private func playing() -> OperatorDashboard {
        var health = KioskHealth(
            at: HostInstant(nanoseconds: 0), shown: .playing, uptime: .zero,
            configuration: KioskHealth.Configuration(loaded: WallTime(seconds: 0)))
        health.item = KioskHealth.Item(
            "Sunrise", index: 1, began: WallTime(seconds: 0), position: MediaTime(value: 83_400, timescale: 1000))
        health.outputs = [KioskHealth.Output("Hall"), KioskHealth.Output("Foyer")]
        (health.offset, health.skew) = (.microseconds(-400), .microseconds(1250))
        (health.frames, health.dropped) = (2000, 3)
        var operatorBoard = OperatorDashboard(health: health)
        (operatorBoard.status, operatorBoard.next) = ("Plays 'Sunrise' (1 of 2)", "Noon")
        operatorBoard.duration = MediaTime(value: 300, timescale: 1)
        return operatorBoard
    }

    @Test func whatPlaysWhatFollowsHowMuchIsLeftAndWhoIsHeardAreRead() {
        let board = playing().content
        #expect(board.title == "Plays 'Sunrise' (1 of 2)")
        #expect(
            board.rows == [
                .init("Played", "01:23 of 05:00"), .init("Left", "03:37"), .init("Next", "Noon"),
                .init("Rooms", "Hall, Foyer"), .init("Lip sync", "sound 0.4 ms early"),
                .init("Between rooms", "1.3 ms"), .init("Pictures", "2000 shown, 3 dropped"),
            ])
    }

    @Test func faultsAreHighlighted() {
        var operatorBoard = playing()
        operatorBoard.health.fault = "no picture since 5 s"
        operatorBoard.health.outputs[1].isConnected = false
        operatorBoard.health.offset = .milliseconds(60)
        operatorBoard.health.configuration.refusal = "wall.toml line 1: playlist"
        #expect(
            operatorBoard.content.rows.filter(\.isTrouble) == [
                .init("Fault", "no picture since 5 s", isTrouble: true), .init("Lost", "Foyer", isTrouble: true),
                .init("Lip sync", "sound 60.0 ms late", isTrouble: true),
                .init("Configuration", "wall.toml line 1: playlist", isTrouble: true),
            ])
        #expect(operatorBoard.content.rows.contains(.init("Rooms", "Hall")))
    }

    @Test func aFilmOfUnknownLengthAndAKioskWithoutSoundSayLess() {
        var operatorBoard = playing()
        (operatorBoard.duration, operatorBoard.next, operatorBoard.hasAudio) = (nil, nil, false)
        #expect(
            operatorBoard.content.rows == [
                .init("Played", "01:23"), .init("Next", "nothing"), .init("Pictures", "2000 shown, 3 dropped"),
            ])
    }

    @Test func aKioskThatIsOffSaysSoAndNoPlace() {
        var operatorBoard = playing()
        operatorBoard.health.shown = .off("quiet hours")
        operatorBoard.status = "Quiet hours: screen and sound are off"
        #expect(operatorBoard.content.title == "Quiet hours: screen and sound are off")
        #expect(!operatorBoard.content.rows.contains { $0.label == "Left" })
    }
}
