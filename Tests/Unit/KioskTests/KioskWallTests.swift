import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback

/// What a kiosk of a wall measures, plays and waits for.
@Suite struct KioskWallTests {
    private let clocks = WallRig()
    /// Its player executes no command.
    private let rig = KioskRig()
    private var wall: KioskWall { KioskWall(rig.director.stage, clock: clocks.wall, report: { _ in }, post: { _ in }) }
    private let length = FilmExtent(end: MediaTime(value: 10, timescale: 1))

    @Test func aFileIsMeasuredOnceUnlessItsLengthMayHaveChanged() throws {
        let (measured, posted) = (Lock<[String]>([]), Lock<[KioskWall.Measured]>([]))
        var stage = rig.director.stage
        stage.measure = { [length] (address) throws(MediaError) in
            measured.withLock { $0.append(address) }
            guard address != "bad" else { throw MediaError(.cannotOpen, "'bad' is no film") }
            return length
        }
        let wall = KioskWall(
            stage, clock: clocks.wall, report: { _ in }, post: { result in posted.withLock { $0.append(result) } })
        func measure() throws {
            try wall.measure(["a", "bad", "b"].map { PlaylistLoader.Item(address: $0) }, programme: 3)
        }
        try measure()
        try measure()
        #expect(measured.withLock { $0 } == ["a", "bad", "b", "bad"])
        wall.forgetExtents()
        try measure()
        #expect(measured.withLock { $0 } == ["a", "bad", "b", "bad", "a", "bad", "b"])
        for news in posted.withLock({ $0 }) {
            #expect(
                news.programme == 3 && news.items.map(\.address) == ["a", "b"] && news.extents == [length, length])
            #expect(news.failures == ["'bad' is no film"])
        }
    }

    @Test func aWallIsStartedOnceItsItemsAndItsTimeAreKnownAndNotMuchBeforeItBegins() {
        let wall = wall
        let measured = KioskWall.Measured(programme: 1, items: [PlaylistLoader.Item(address: "a")], extents: [length])
        let epoch = WallRig.epoch.advanced(by: .seconds(100))
        func start() -> KioskWall.Start { wall.start(at: clocks.clock.now) }
        #expect(start() == .unknown)
        #expect(!wall.play(KioskWall.Measured(programme: 1), from: epoch, loops: true) && wall.line == nil)
        #expect(wall.play(measured, from: epoch, loops: true) && wall.line?.epoch == epoch)
        #expect(start() == .unknown, "the time of the wall is not known")
        clocks.run(for: .seconds(10))
        #expect(start() == .begins(WallTime(seconds: 1_800_000_100)))
        clocks.run(for: .seconds(65))
        #expect(start() == .started)
    }

    @Test func aChangeOfTheLoopKeepsTheTimeOfTheWall() {
        let wall = wall
        wall.setLoops(false)
        let measured = KioskWall.Measured(programme: 1, items: [PlaylistLoader.Item(address: "a")], extents: [length])
        #expect(wall.play(measured, from: WallRig.epoch, loops: true))
        wall.setLoops(false)
        #expect(wall.line == WallLine(epoch: WallRig.epoch, items: [length], loops: false))
    }
}
