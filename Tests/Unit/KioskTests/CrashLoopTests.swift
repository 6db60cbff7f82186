import Foundation
import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback
@testable import Storage

/// A kiosk whose process repeatedly crashes because of a film; each run is a separate process.
@Suite(.timeLimit(.minutes(10))) struct CrashLoopTests {
    /// Films and state that are kept across processes.
    private final class Folder {
        let path = NSTemporaryDirectory() + "talkie-crash-loop-\(UUID().uuidString)"

        init(_ films: [String]) {
            try! FileManager.default.createDirectory(atPath: path + "/films", withIntermediateDirectories: true)
            for film in films { KioskRig.write(film, in: path) }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private static func rig(_ path: String, isWall: Bool = false) -> KioskRig {
        KioskRig(in: path + "/", places: StateFolder(path: path + "/state")) {
            $0.settings.playlist = [path + "/films"]
            if isWall { $0.wall = .init() }
        }
    }

    /// Runs a kiosk until a film crashes it.
    private static func runUntilItCrashes(_ path: String, isWall: Bool = false) {
        let rig = rig(path, isWall: isWall)
        rig.start()
        _ = rig.wait { false }
    }

    /// Runs a kiosk and kills the process as soon as a film plays.
    private static func killWhilePlaying(_ path: String, _ film: String) {
        let rig = rig(path)
        rig.start()
        _ = rig.wait { rig.hasSaid("playing '\(film)'") && rig.player.state.phase == .playing }
        kill(getpid(), SIGKILL)
    }

    private static func hasSkipped(_ rig: KioskRig, _ film: String) -> Bool {
        rig.said.withLock { $0.contains { $0.contains(film) && $0.contains("it ended the program twice in a row") } }
    }

    @Test func aFilmThatEndsTheProgramWhileItIsOpenedAheadIsSkippedAfterTheSecondTime() async throws {
        let folder = Folder(["1.mp4", "ill.mp4", "z.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGILL)) { [path = path as String] in Self.runUntilItCrashes(path) }
        }
        let rig = Self.rig(path)
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "z.mp4" } >= 2 } }, "the third film is reached")
        #expect(rig.opened.withLock { $0.contains("1.mp4") && !$0.contains("ill.mp4") })
        #expect(Self.hasSkipped(rig, "ill.mp4"))
        #expect(rig.wait { rig.health.withLock { $0.skippedItems == 1 } })
        let health = rig.health.withLock { $0 }
        let sentence =
            "'\(path)/films/ill.mp4' is skipped for a day, or until its file changes: it ended the program twice in a row"
        #expect(health.degradations == [sentence] && rig.hasSaid(sentence))
        // What leaves the computer names no folder.
        let message = sentence.replacingOccurrences(of: "\(path)/films/", with: "")
        #expect(rig.director.stateMessage.problems == [message])
        guard case .well(let words) = health.verdict(at: rig.clock.now) else {
            Issue.record("it plays all the same")
            return
        }
        #expect(words.hasSuffix("; degraded: \(sentence)"))
        _ = rig.end()
    }

    @Test func aStackOverflowIsAFaultOfTheProgramToo() async throws {
        let folder = Folder(["1.mp4", "deep.mp4", "z.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGSEGV)) { [path = path as String] in Self.runUntilItCrashes(path)
            }
        }
        let rig = Self.rig(path)
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "z.mp4" } >= 2 } }, "the third film is reached")
        #expect(Self.hasSkipped(rig, "deep.mp4"))
        _ = rig.end()
    }

    @Test func theOnlyFilmThatEndsTheProgramIsASlate() async throws {
        let folder = Folder(["ill.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGILL)) { [path = path as String] in Self.runUntilItCrashes(path) }
        }
        let rig = Self.rig(path)
        rig.start()
        // Less than the minute after which the film is tried again.
        #expect(rig.wait(atMost: .seconds(5)) { rig.hasSaid("nothing is shown") })
        #expect(rig.opened.withLock { $0.isEmpty })
        // A new file of the same name plays at once.
        try FileManager.default.removeItem(atPath: path + "/films/ill.mp4")
        KioskRig.write("good.mp4", in: path)
        #expect(rig.wait(atMost: .seconds(5)) { rig.hasSaid("playing 'good.mp4'") })
        _ = rig.end()
    }

    @Test func theOnlyFilmThatEndsTheProgramIsTriedAgainAfterAMinute() async throws {
        let folder = Folder(["ill.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGILL)) { [path = path as String] in Self.runUntilItCrashes(path) }
        }
        let history = CrashRecord(StateFolder(path: path + "/state"), configuration: "wall.toml")
        history.begin(at: WallTime(seconds: 1_700_000_000))
        let film = PlaylistLoader.Item(address: path + "/films/ill.mp4")
        var exclusions = ItemExclusions(history)
        let (edition, now) = (FileEdition(of: film.address), HostInstant.now)
        var item = film
        item.edition = edition
        #expect(exclusions.admit([item], at: now).items == [])
        #expect(exclusions.admit([item], at: now.advanced(by: .seconds(60))).items == [item])
    }

    @Test func aFilmThatEndsTheProgramWhileAWallMeasuresItIsSkippedAfterTheSecondTime() async throws {
        let folder = Folder(["1.mp4", "ill.mp4", "z.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGILL)) { [path = path as String] in
                Self.runUntilItCrashes(path, isWall: true)
            }
        }
        let rig = Self.rig(path, isWall: true)
        rig.start()
        #expect(rig.wait { rig.director.playback.wall?.timeline?.items.count == 2 })
        #expect(Self.hasSkipped(rig, "ill.mp4"))
        // The other screens may show it.
        #expect(
            rig.wait { rig.health.withLock { $0.degradations.contains { $0.contains("out of sync with its wall") } } })
        _ = rig.end()
    }

    @Test func aFilmDuringWhichTheProgramIsKilledTwiceInARowPlaysAgain() async throws {
        let folder = Folder(["1.mp4", "long.mp4", "z.mp4"])
        let path = folder.path
        for _ in 0..<2 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                Self.killWhilePlaying(path, "long.mp4")
            }
        }
        let rig = Self.rig(path)
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing 'long.mp4'") })
        #expect(rig.wait { rig.hasSaid("playing 'z.mp4'") })
        #expect(rig.health.withLock { $0.skippedItems } == 0)
        _ = rig.end()
    }

    @Test func aKioskThatIsEndedAsItShouldBeSkipsNothing() throws {
        let folder = Folder(["long.mp4", "z.mp4"])
        for _ in 0..<3 {
            let rig = Self.rig(folder.path)
            rig.start()
            #expect(rig.wait { rig.hasSaid("playing 'long.mp4'") })
            _ = rig.end()
        }
        #expect(!Self.hasSkipped(Self.rig(folder.path), "long.mp4"))
    }
}
