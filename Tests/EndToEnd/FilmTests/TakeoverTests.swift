import MediaCore
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// A speaker that another sender takes over.
@Suite(
    .serialized, .timeLimit(.minutes(3)), .repeatedWhenTheMachineStalls,
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct TakeoverTests {
    private static let paused = "Paused. Play to take the output back, or choose another one."

    /// The second sender uses NTP, because the ports of PTP belong to the first one.
    @Test func aFilmPausesForTheSenderThatTakesItsSpeakerOverAndPlayTakesItBack() throws {
        let films = try FeatureFilms()
        let film = try films.slowFilm()
        let speaker = try ObservedPlayback.speaker(48)
        defer { speaker.stop() }
        var other: TerminalProcess?
        var standing: ObservedPlayback.Stretch?
        var isOtherPaused = false
        var first = ObservedPlayback.Setup("--speaker", speaker.url, film)
        first.isOver = { playback in
            guard let last = playback.seen.last else { return false }
            guard let second = other else {
                guard speaker.record.spans.reduce(0, { $0 + $1.frames }) > 44_100 else { return false }
                other = TerminalProcess(
                    ["play", "--no-video", "--speaker", speaker.url + ";route=ntp", film],
                    environment: ["XDG_STATE_HOME": films.scratch.path("other")])
                return false
            }
            guard let stood = standing else {
                // While the film plays, each colour lasts for four seconds.
                guard last.to - last.from > 6 else { return false }
                standing = last
                playback.pressOnce("p")
                return false
            }
            guard last.second != stood.second else { return false }
            isOtherPaused = second.see(Self.paused)
            return true
        }
        let run = try ObservedPlayback.play([first])[0]
        let seconds = run.seen.map(\.second)
        #expect(standing != nil && seconds == Array(0..<seconds.count), "\(seconds), \(run.result.errors)")
        #expect(run.result.errors.contains("Another sender is now playing on"), "\(run.result.errors)")
        #expect(run.result.errors.contains(Self.paused), "\(run.result.errors)")
        #expect(isOtherPaused, "\(other?.output ?? "")")
        #expect(speaker.record.events.count { $0 == .takenOver } == 2)
        other?.type("q")
        #expect(other?.wait() == .status(0), "\(other?.output ?? "")")
    }

    @Test func aSpeakerThatKeepsTheOtherSenderRefusesUntilThatHasLeft() throws {
        let films = try FeatureFilms()
        let film = try films.slowFilm()
        var quirks = SpeakerQuirks()
        try quirks.set("taken-over=1:10")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.49")!, port: 0, clock: .required, quirks: quirks))
        defer { speaker.stop() }
        let player = TerminalProcess(
            ["play", "--no-video", "--speaker", speaker.url, film],
            environment: ["XDG_STATE_HOME": films.scratch.path("state")])
        var starts: Int { speaker.record.events.count { if case .anchor = $0 { true } else { false } } }
        #expect(player.see(Self.paused), "\(player.output)")
        #expect(player.output.contains("Another sender is now playing on"), "\(player.output)")
        player.discardOutput()
        player.type("p")
        #expect(player.see(Self.paused), "a refusal is reported again: \(player.output)")
        #expect(player.output.contains("Another sender is playing on"), "\(player.output)")
        let before = starts
        let limit = HostInstant.now.advanced(by: .seconds(40))
        while starts == before, HostInstant.now < limit {
            player.discardOutput()
            player.type("p")
            _ = player.see(Self.paused)
        }
        #expect(starts > before, "it is taken back: \(player.output)")
        player.type("q")
        #expect(player.wait() == .status(0), "\(player.output)")
    }
}
