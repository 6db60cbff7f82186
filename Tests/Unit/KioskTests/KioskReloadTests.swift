import Foundation
import MediaCore
import Playback
import Telemetry
import Testing

@testable import Kiosk
@testable import LocalOutput

/// Each key of the configuration at a reload: it is applied, or the kiosk says that it waits for the next start.
@Suite(.serialized, .timeLimit(.minutes(5))) struct KioskReloadTests {
    private typealias Change = @Sendable (inout KioskConfiguration, String) -> Void
    private typealias Effect = @Sendable (KioskRig) -> Bool

    private struct Case: Sendable {
        var films = ["long.mp4"]
        /// Called with the folder of the kiosk's films.
        var change: Change
        var isDone: Effect
    }

    private static func waits(_ key: String, _ change: @escaping Change) -> Case {
        Case(change: change) { $0.hasSaid("until the next start, these keys are as they were: \(key)") }
    }

    private static func screen(
        _ change: @escaping Change, _ isDone: @escaping @Sendable (ScreenArrangement) -> Bool
    ) -> Case {
        Case(change: change) { $0.screen.map { isDone($0.arrangement) } ?? false }
    }

    /// The parts of the day, now.
    private static func part(_ programme: KioskConfiguration.Programme) -> KioskConfiguration.DayPart {
        KioskConfiguration.DayPart(
            name: "evening", span: try! DaySpan(parsing: "22:00-23:00"), days: Set(1...7), programme: programme)
    }

    /// By the names of `KioskConfiguration`'s and `Programme`'s properties.
    private static let cases: [String: Case] = [
        "playlist": Case(change: { $0.programme.playlist = [$1 + "/other"] }) {
            $0.hasSaid("there is no file") && $0.hasSaid("other")
        },
        "order": Case(films: ["long1.mp4", "long2.mp4"], change: { fresh, _ in fresh.programme.order = .shuffled }) {
            $0.hasSaid("the list has 2 films now")
        },
        "speakers": Case(change: { fresh, _ in fresh.programme.speakers = ["kitchen"] }) {
            $0.hasSaid("the sound goes to kitchen")
        },
        "fallbacks": Case(change: { fresh, _ in fresh.programme.fallbacks = ["office"] }) {
            $0.director.sound?.tiers.fallbacks == ["office"]
        },
        "volume": Case(change: { fresh, _ in fresh.programme.volume = 40 }) { $0.player.state.volume == 40 },
        "parts": Case(change: { fresh, _ in fresh.parts = [part(fresh.programme)] }) {
            $0.hasSaid("now the part 'evening' of the day")
        },
        "loops": Case(films: ["1.mp4"], change: { fresh, _ in fresh.loops = false }) { $0.director.result == .done },
        "screen": waits("screen") { fresh, _ in fresh.screen = .number(1) },
        "operatorScreen": waits("operator_screen") { fresh, _ in fresh.operatorScreen = .other },
        "rotation": screen({ fresh, _ in fresh.rotation = 90 }) { $0.rotation == 90 },
        "overscan": screen({ fresh, _ in fresh.overscan = .insetBounds(4) }) { $0.overscan == .insetBounds(4) },
        "titleSafe": screen({ fresh, _ in fresh.titleSafe = 6 }) { $0.titleSafe == 6 },
        "mode": Case(change: { fresh, _ in fresh.mode = .preferred }) { rig in
            var commands: [ScreenControl.Command] = []
            rig.screen?.take(into: &commands)
            return commands.contains { if case .mode(.preferred, _) = $0 { true } else { false } }
        },
        "start": waits("start_at") { fresh, _ in fresh.start = .time(TimeOfDay(hour: 23, minute: 0)!) },
        "quietHours": Case(change: { fresh, _ in fresh.quietHours = [try! DaySpan(parsing: "22:00-23:00")] }) {
            $0.health.withLock { $0.shown == .off("quiet hours until 23:00") }
        },
        "slate": Case(films: [], change: { $0.slate = $1 + "/closed.png" }) {
            $0.opened.withLock { $0.contains("closed.png") }
        },
        "onBrokenItem": Case(films: ["bad.mp4"], change: { fresh, _ in fresh.onBrokenItem = .stop }) {
            rig in
            // Another list is tried at once.
            rig.write("bad-2.mp4")
            if case .broken? = rig.director.result { return true }
            return false
        },
        "imageDuration": Case(change: { fresh, _ in fresh.imageDuration = .seconds(3) }) {
            $0.imageDurations.withLock { $0 == [.seconds(3)] }
        },
        "speakerTimeout": Case(change: { fresh, _ in fresh.speakerTimeout = .seconds(8) }) {
            $0.director.sound?.answerTimeout == .seconds(8)
        },
        "hooks": Case(
            change: {
                $0.hooks.screenOff = "echo off > '\($1)/off'"
                $0.quietHours = [try! DaySpan(parsing: "22:00-23:00")]
            },
            isDone: { FileManager.default.fileExists(atPath: $0.folder + "/off") }),
        "metrics": waits("metrics") { fresh, _ in fresh.metrics = nil },
        "timeline": waits("timeline") { fresh, _ in fresh.timeline = .init(file: "/t") },
        "wall": waits("wall") { fresh, _ in fresh.wall = .init() },
        "fleet": waits("fleet") { fresh, _ in fresh.fleet = .init(host: "127.0.0.1", name: "hall") },
    ]

    /// Not keys of their own.
    private static let others: Set<String> = ["programme", "remarks", "lines"]

    @Test func everyKeyIsInTheTable() {
        let configuration = KioskConfiguration()
        let names = [Mirror(reflecting: configuration), Mirror(reflecting: configuration.programme)]
            .flatMap { $0.children.compactMap(\.label) }
        #expect(Set(names).subtracting(Self.others) == Set(Self.cases.keys))
    }

    @Test(arguments: cases.keys.sorted()) func aReloadAppliesEachKeyOrSaysThatItWaits(_ key: String) throws {
        let tried = try #require(Self.cases[key])
        let rig = KioskRig(films: tried.films, hasScreen: true)
        rig.start()
        let isKnown = rig.wait {
            tried.films.isEmpty ? rig.hasSaid("nothing is shown") : rig.opened.withLock { !$0.isEmpty }
        }
        #expect(isKnown)
        if tried.films == ["long.mp4"] { #expect(rig.wait { rig.player.state.phase == .playing }) }
        // Films are announced ahead; some of the list as it was are among them.
        if tried.films == ["1.mp4"] { #expect(rig.wait { rig.opened.withLock { $0.count } >= 4 }) }
        var fresh = rig.director.configuration
        tried.change(&fresh, rig.folder)
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("the configuration was read again") })
        #expect(rig.wait { tried.isDone(rig) }, "\(rig.said.withLock { $0 })")
        _ = rig.end()
    }

    @Test func theFirstSpeakersOfASilentKioskWaitForTheNextStart() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.programme.speakers = [] }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        var fresh = rig.director.configuration
        fresh.programme.speakers = ["kitchen"]
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("until the next start, these keys are as they were: speakers") })
        _ = rig.end()
    }

    @Test func aWallTakesOverItsLoop() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.wall = .init() }
        rig.start()
        let line: @Sendable () -> WallLine? = { rig.director.wall?.state.withLock { $0.follower?.line } }
        #expect(rig.wait { line()?.loops == true })
        let epoch = line()?.epoch
        var fresh = rig.director.configuration
        fresh.loops = false
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { line()?.loops == false })
        #expect(line()?.epoch == epoch)
        _ = rig.end()
    }

    @Test func theEdgesThatADisplayHidesAreLeftFreeUnlessTheConfigurationSaysOtherwise() {
        let rig = KioskRig(films: ["long.mp4"], hasScreen: true)
        rig.screen?.state.withLock { ($0.isVisible, $0.display) = (true, "TV") }
        rig.start()
        rig.mailbox.post(.screen(.visible(true)))
        #expect(rig.wait { rig.screen?.arrangement.overscan == .scale(3.5) })
        var fresh = rig.director.configuration
        fresh.overscan = ScreenArrangement.Overscan.none
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.screen?.arrangement.overscan == ScreenArrangement.Overscan.none })
        _ = rig.end()
    }
}
