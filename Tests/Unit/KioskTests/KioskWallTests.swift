import Foundation
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

    @Test func aFileIsMeasuredOnceUnlessItsLengthMayHaveChanged() {
        let (measured, posted) = (Lock<[String]>([]), Lock<[KioskWall.Measured]>([]))
        var stage = rig.director.stage
        stage.measure = { [length] (address) throws(MediaError) in
            measured.withLock { $0.append(address) }
            guard address != "bad" else { throw MediaError(.cannotOpen, "'bad' is no film") }
            return length
        }
        let wall = KioskWall(
            stage, clock: clocks.wall, report: { _ in }, post: { result in posted.withLock { $0.append(result) } })
        func measure() {
            wall.measure(["a", "bad", "b"].map { PlaylistLoader.Item(address: $0) }, search: 3)
        }
        measure()
        measure()
        #expect(measured.withLock { $0 } == ["a", "bad", "b", "bad"])
        wall.forgetExtents()
        measure()
        #expect(measured.withLock { $0 } == ["a", "bad", "b", "bad", "a", "bad", "b"])
        for news in posted.withLock({ $0 }) {
            #expect(
                news.search == 3 && news.items.map(\.address) == ["a", "b"] && news.extents == [length, length])
            #expect(news.failures == ["'bad' is no film"])
        }
    }

    @Test func aFilmThatCanBeMeasuredAtLastReplacesTheImageOfTheSlate() {
        let rig = KioskRig(films: ["long-stick.mp4"], hasScreen: true) { $0.wall = .init() }
        rig.configure { $0.slate = "\(rig.folder)/closed.png" }
        _ = FileManager.default.createFile(atPath: "\(rig.folder)/closed.png", contents: Data("picture".utf8))
        rig.isStickPulled.withLock { $0 = true }
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.last == "closed.png" } })
        // The thread that reads the wall's time is real.
        let limit = HostInstant.now.advanced(by: .seconds(60))
        while !rig.hasSaid("The wall uses"), HostInstant.now < limit {
            _ = rig.wait(atMost: .zero) { false }
            usleep(10_000)
        }
        rig.isStickPulled.withLock { $0 = false }
        #expect(rig.wait { rig.health.withLock { $0.shown == .playing } })
        _ = rig.end()
    }

    @Test func whatCannotBeMeasuredIsMeasuredAgainAfterGrowingDelaysWithoutAChangeOfTheList() {
        let (measured, posted) = (Lock<[String]>([]), Lock<[KioskWall.Measured]>([]))
        let isServerRunning = Lock(false)
        var stage = rig.director.stage
        stage.measure = { [length] (address) throws(MediaError) in
            measured.withLock { $0.append(address) }
            if address == "b", !isServerRunning.withLock({ $0 }) { throw MediaError(.cannotOpen, "no server of 'b'") }
            return length
        }
        let wall = KioskWall(
            stage, clock: clocks.wall, report: { _ in }, post: { result in posted.withLock { $0.append(result) } })
        func play(_ number: Int) -> KioskWall.Change {
            wall.play(posted.withLock { $0[number] }, from: WallRig.epoch, loops: true)
        }
        wall.measure(["a", "b"].map { PlaylistLoader.Item(address: $0) }, search: 1)
        #expect(play(0) == .replaced && wall.failures == ["no server of 'b'"])
        for (number, seconds) in [10, 20, 40, 60, 60].enumerated() {
            #expect(wall.nextMeasurement == rig.clock.now.advanced(by: .seconds(seconds)))
            rig.clock.advance(by: .seconds(seconds))
            wall.performDueWork()
            #expect(wall.nextMeasurement == nil && play(number + 1) == .unchanged && wall.timeline?.items.count == 1)
        }
        isServerRunning.withLock { $0 = true }
        rig.clock.advance(by: .seconds(60))
        wall.performDueWork()
        #expect(play(6) == .replaced && wall.timeline?.items.count == 2)
        #expect(wall.failures.isEmpty && wall.nextMeasurement == nil)
        #expect(measured.withLock { $0 } == ["a"] + Array(repeating: "b", count: 7))
    }

    @Test func onlyTheResultOfTheLatestMeasurementIsPlayed() {
        let posted = Lock<[KioskWall.Measured]>([])
        let wall = KioskWall(
            rig.director.stage, clock: clocks.wall, report: { _ in },
            post: { result in posted.withLock { $0.append(result) } })
        func play(_ number: Int) -> KioskWall.Change {
            wall.play(posted.withLock { $0[number] }, from: WallRig.epoch, loops: true)
        }
        for name in ["a", "b"] { wall.measure([PlaylistLoader.Item(address: name)], search: 1) }
        #expect(play(0) == .unchanged && wall.timeline == nil)
        #expect(play(1) == .replaced)
        // The player's list is empty, and the same item comes again.
        wall.cancelMeasurement()
        #expect(play(1) == .unchanged)
        wall.measure([PlaylistLoader.Item(address: "b")], search: 1)
        #expect(play(2) == .replaced)
    }

    @Test func aFilmWhoseServerStartsAfterTheKioskIsPlayedTooAndHealthReportsItsAbsence() {
        let rig = KioskRig(films: ["long.mp4", "stick.mp4"]) { $0.wall = .init() }
        rig.isStickPulled.withLock { $0 = true }
        rig.start()
        #expect(rig.wait { rig.director.playback.wall?.timeline?.items.count == 1 })
        #expect(
            rig.wait(atMost: .seconds(2)) {
                rig.health.withLock { $0.skippedItems == 1 && $0.degradations.first == "there is no 'stick.mp4'" }
            })
        rig.isStickPulled.withLock { $0 = false }
        #expect(rig.wait(atMost: PlaylistRetry.delay) { rig.director.playback.wall?.timeline?.items.count == 2 })
        #expect(rig.wait(atMost: .seconds(2)) { rig.health.withLock { $0.skippedItems == 0 } })
        _ = rig.end()
    }

    @Test func aWallIsStartedOnceItsItemsAndItsTimeAreKnownAndNotMuchBeforeItBegins() {
        let wall = wall
        let measured = KioskWall.Measured(search: 1, items: [PlaylistLoader.Item(address: "a")], extents: [length])
        let epoch = WallRig.epoch.advanced(by: .seconds(100))
        func start() -> KioskWall.Start { wall.start(at: clocks.clock.now) }
        #expect(start() == .unknown)
        #expect(wall.play(KioskWall.Measured(search: 1), from: epoch, loops: true) == .unplayable)
        #expect(wall.timeline == nil)
        #expect(wall.play(measured, from: epoch, loops: true) == .replaced && wall.timeline?.epoch == epoch)
        #expect(start() == .unknown, "the time of the wall is not known")
        clocks.run(for: .seconds(10))
        #expect(start() == .begins(WallTime(seconds: 1_800_000_100)))
        clocks.run(for: .seconds(65))
        #expect(start() == .started)
    }

    @Test func aChangeOfTheLoopKeepsTheTimeOfTheWall() {
        let wall = wall
        wall.setLoops(false)
        let measured = KioskWall.Measured(search: 1, items: [PlaylistLoader.Item(address: "a")], extents: [length])
        #expect(wall.play(measured, from: WallRig.epoch, loops: true) == .replaced)
        wall.setLoops(false)
        #expect(wall.timeline == WallTimeline(epoch: WallRig.epoch, items: [length], loops: false))
    }
}
