import MediaCore
import Playback
import Testing

@testable import Kiosk

@Suite struct WallLineTests {
    private let epoch = WallRig.epoch
    /// Three items of 10 s, 2.5 s (starting at second 3) and 7 1/3 s.
    private let items = [
        FilmExtent(end: MediaTime(value: 10, timescale: 1)),
        FilmExtent(start: MediaTime(value: 3, timescale: 1), end: MediaTime(value: 55, timescale: 10)),
        FilmExtent(end: MediaTime(value: 22, timescale: 3)),
    ]
    private var line: WallTimeline { WallTimeline(epoch: epoch, items: items)! }

    private func after(_ seconds: Double) -> WallInstant {
        epoch.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }
    private func words(_ place: WallTimeline.Position?) -> String {
        place.map { "\($0.item) at \(Decimals.short($0.position.seconds, atMost: 3))" } ?? "nothing"
    }

    @Test func everyMomentHasOnePlace() {
        #expect(words(line.position(at: after(-0.001))) == "nothing")
        #expect(words(line.position(at: after(0))) == "0 at 0")
        #expect(words(line.position(at: after(9.999))) == "0 at 9.999")
        #expect(words(line.position(at: after(10))) == "1 at 3")
        #expect(words(line.position(at: after(12.5))) == "2 at 0")
        let round = 10 + 2.5 + 22.0 / 3
        #expect(words(line.position(at: after(round + 0.5))) == "0 at 0.5")
        #expect(words(line.position(at: after(1000 * round + 11))) == "1 at 4")
    }

    @Test func aListThatIsPlayedOnceEnds() {
        let once = WallTimeline(epoch: epoch, items: items, loops: false)!
        #expect(words(once.position(at: after(19.8))) == "2 at 7.3")
        #expect(once.position(at: after(19.9)) == nil)
        #expect(once.meeting(notBefore: after(30)) == nil)
    }

    @Test func whatIsPerceivedNowBeganAtItsNearestPlaying() throws {
        let round = line.begin(of: 0, nearest: after(15))!
        #expect(epoch.duration(to: round).inSeconds > 19, "the next playing is nearer than the last")
        #expect(line.begin(of: 0, nearest: after(9)) == epoch)
        #expect(line.begin(of: 0, nearest: after(-100)) == epoch, "there is none before the first")
        #expect(line.begin(of: 3, nearest: epoch) == nil)
        for moment in stride(from: 0.0, to: 200, by: 0.37) {
            let place = try #require(line.position(at: after(moment)))
            #expect(line.begin(of: place.item, nearest: place.began) == place.began)
        }
    }

    @Test func aMeetingIsInTheMidstOfAnItemOrAtTheStartOfTheNext() throws {
        let before = try #require(line.meeting(notBefore: after(-60)))
        #expect(before.at == epoch && words(before.place) == "0 at 0")
        let midst = try #require(line.meeting(notBefore: after(4)))
        #expect(midst.at == after(4) && words(midst.place) == "0 at 4")
        let end = try #require(line.meeting(notBefore: after(9)))
        #expect(end.at == after(10) && words(end.place) == "1 at 3", "one second is not worth a start")
        let start = try #require(line.meeting(notBefore: after(10)))
        #expect(start.at == after(10) && words(start.place) == "1 at 3")
    }

    @Test func aListOfNothingIsNoLine() {
        #expect(WallTimeline(epoch: epoch, items: []) == nil)
        #expect(WallTimeline(epoch: epoch, items: [FilmExtent(end: .zero)]) == nil)
        let endless = FilmExtent(end: MediaTime(nanoseconds: .max))
        #expect(WallTimeline(epoch: epoch, items: [endless, endless]) == nil)
    }

    @Test func itemsOfNoLengthAreNeverPerceived() {
        let line = WallTimeline(epoch: epoch, items: [FilmExtent(end: .zero), items[0], FilmExtent(end: .zero)])!
        #expect(words(line.position(at: after(0))) == "1 at 0")
        #expect(words(line.position(at: after(10))) == "1 at 0")
    }

    @Test func yearsLaterItIsStillExact() throws {
        let frame = WallTimeline(
            epoch: epoch, items: [FilmExtent(end: MediaTime(value: 1001 * 250, timescale: 24000))])!
        let rounds: Int64 = 20_000_000
        let length = MediaTime(value: 1001 * 250, timescale: 24000).nanoseconds
        let moment = epoch.advanced(by: .nanoseconds(rounds * length))
        #expect(frame.begin(of: 0, nearest: moment) == moment)
        #expect(try #require(frame.position(at: moment)).position == .zero)
    }
}
