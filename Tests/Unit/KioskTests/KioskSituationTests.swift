import Playback
import Testing

@testable import Kiosk

/// What a kiosk says about what it shows.
@Suite struct KioskSituationTests {
    private let film = KioskSituation.Playing(
        item: PlaylistLoader.Item(address: "/films/a.mp4"), number: 2, count: 5)

    @Test func theFirstReasonCountsWhyNothingIsShown() {
        var all: [KioskSituation] = []
        var one = KioskSituation(playing: film, awaitedSource: "the network")
        all.append(one)
        one.awaitedSource = nil
        all.append(one)
        one.isHeld = true
        all.append(one)
        one.slate = .nothing("'b' is no film")
        all.append(one)
        one.slate = .asked("closed")
        all.append(one)
        one.start = "09:30"
        all.append(one)
        one.quietEnd = " until 07:00"
        all.append(one)
        #expect(
            all.map(\.shown) == [
                .waiting("the network: '/films/a.mp4'"), .playing, .paused, .nothing("'b' is no film"), .slate,
                .off("starts at 09:30"), .off("quiet hours until 07:00"),
            ])
        let plays = "Plays '/films/a.mp4' (2 of 5)"
        #expect(
            all.map { $0.summary() } == [
                "Waiting for the network: '/films/a.mp4' (2 of 5)", plays, plays,
                "Nothing is shown: 'b' is no film", plays, "Starts at 09:30",
                "Quiet hours: screen and sound are off until 07:00",
            ])
        #expect(all[1].summary(naming: { _ in "a" }) == "Plays 'a' (2 of 5)")
    }

    @Test func beforeFilmsAreFoundItSaysSo() {
        #expect(KioskSituation().summary() == "Searching for films")
        #expect(KioskSituation().shown == .nothing("no films have been found yet"))
        #expect(KioskSituation(slate: .nothing(nil)).summary() == "Nothing is shown: no films have been found yet")
    }
}
