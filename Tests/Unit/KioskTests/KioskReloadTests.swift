import Foundation
import MediaCore
import Playback
import Remote
import SyncRendering
import TalkieTestKit
import Telemetry
import Testing

@testable import Kiosk
@testable import ScreenOutput

/// Each key of the configuration at a reload: it is applied, or the kiosk reports that it takes effect at the next
/// start.
@Suite(.timeLimit(.minutes(10))) struct KioskReloadTests {
    private typealias Change = @Sendable (inout KioskConfiguration, String) -> Void
    private typealias Effect = @Sendable (KioskRig) -> Bool

    /// One reload: the change of the configuration, and whether it has taken effect.
    private struct Step: Sendable {
        /// Called with the kiosk's folder.
        var change: Change
        var isDone: Effect

        init(_ change: @escaping Change, _ isDone: @escaping Effect) { (self.change, self.isDone) = (change, isDone) }
    }

    /// A key that is changed, changed again, and removed or reset.
    private struct Case: Sendable {
        var films = ["long.mp4"]
        var steps: [Step]
    }

    private static let waiting = "these keys take effect at the next start: "

    /// Returns the steps of a key that takes effect at the next start; the last step restores its value at the start.
    private static func appliesAtNextStart(
        _ key: String, first: @escaping Change, second: @escaping Change, restoring back: @escaping Change
    )
        -> Case
    {
        let isReported: Effect = { $0.hasSaid(waiting + key) }
        return Case(steps: [
            Step(first, isReported), Step(second, isReported), Step(back) { !$0.hasSaid(waiting) },
        ])
    }

    /// Returns the steps of a key whose value is visible in the kiosk's parts.
    private static func applies<Value: Equatable & Sendable>(
        _ key: any WritableKeyPath<KioskConfiguration, Value> & Sendable, _ values: [Value],
        _ isDone: @escaping @Sendable (KioskRig, Value) -> Bool
    ) -> Case {
        Case(steps: values.map { value in Step({ fresh, _ in fresh[keyPath: key] = value }) { isDone($0, value) } })
    }

    /// Returns a part of the day that includes the current time.
    private static func part(_ name: String, _ fresh: KioskConfiguration) -> KioskConfiguration.DayPeriod {
        KioskConfiguration.DayPeriod(
            name: name, span: try! DaySpan(parsing: "22:00-23:00"), days: Set(1...7), settings: fresh.settings)
    }

    private static func channels(_ rig: KioskRig) -> [ChannelSelection] {
        rig.player.audioOutputs.map { rig.player.channels(of: $0) }
    }

    private static func time(_ hour: Int) -> KioskConfiguration.Start { .time(TimeOfDay(hour: hour, minute: 0)!) }

    /// Returns a step that writes an image next to the films and sets it as slate.
    private static func slate(_ name: String) -> Step {
        Step({ fresh, folder in
            _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: Data("picture".utf8))
            fresh.slate = "\(folder)/\(name)"
        }) { $0.opened.withLock { $0.last } == name }
    }

    private static let late = try! DaySpan(parsing: "22:00-23:00")

    /// By property names of `KioskConfiguration` and `Programme`.
    private static let cases: [String: Case] = [
        "playlist": Case(steps: [
            Step({ $0.settings.playlist = [$1 + "/other"] }) { $0.hasSaid("there is no file") && $0.hasSaid("other") },
            Step({ $0.settings.playlist = [$1 + "/third"] }) { $0.hasSaid("third") },
            Step({ $0.settings.playlist = [$1 + "/films"] }) { $0.hasSaid("the list now has one film") },
        ]),
        "order": Case(
            films: ["long1.mp4", "long2.mp4"],
            steps: [KioskConfiguration.Order.shuffled, .listed].map { order in
                Step({ fresh, _ in fresh.settings.order = order }) { $0.hasSaid("the list now has 2 films") }
            }),
        "speakers": Case(steps: [
            Step({ fresh, _ in fresh.settings.speakers = ["kitchen"] }) { $0.hasSaid("the sound goes to kitchen") },
            Step({ fresh, _ in fresh.settings.speakers = ["office"] }) { $0.hasSaid("the sound goes to office") },
            Step({ fresh, _ in fresh.settings.speakers = [] }) {
                $0.player.audioOutputs.map(\.name) == ["card"] && $0.card.state.withLock { $0.gains.last } == .some(0)
            },
            Step({ fresh, _ in fresh.settings.speakers = ["local"] }) {
                $0.hasSaid("the sound goes to card") && $0.card.state.withLock { $0.gains.last } != .some(0)
            },
        ]),
        "fallbacks": applies(\.settings.fallbacks, [["office"], ["kitchen"], []]) {
            $0.director.routeSupervisor?.tiers.fallbacks == $1
        },
        "languages": Case(steps: [
            Step({ fresh, _ in
                fresh.settings.speakers = ["local", "kitchen"]
                fresh.settings.languages = ["kitchen": ["de"]]
            }) { $0.player.allOutputs.map(\.output.name) == ["card", "kitchen"] && $0.player.audioOutputs.count == 1 },
            Step({ fresh, _ in fresh.settings.languages = ["kitchen": ["fr"]] }) {
                $0.director.routeSupervisor?.tiers.tracks == ["kitchen": .language("fr")]
            },
            Step({ fresh, _ in fresh.settings.languages = [:] }) {
                $0.player.audioOutputs.map(\.name) == ["card", "kitchen"]
            },
            Step({ fresh, _ in fresh.settings.speakers = ["local"] }) {
                $0.player.audioOutputs.map(\.name) == ["card"]
            },
        ]),
        "purposes": Case(steps: [
            Step({ fresh, _ in
                fresh.settings.speakers = ["local", "kitchen"]
                fresh.settings.purposes = ["kitchen": .description]
            }) { $0.player.allOutputs.map(\.output.name) == ["card", "kitchen"] && $0.player.audioOutputs.count == 1 },
            Step({ fresh, _ in fresh.settings.purposes = [:] }) {
                $0.player.audioOutputs.map(\.name) == ["card", "kitchen"]
            },
            Step({ fresh, _ in fresh.settings.speakers = ["local"] }) {
                $0.player.audioOutputs.map(\.name) == ["card"]
            },
        ]),
        "parts": Case(steps: [
            Step({ fresh, _ in
                fresh.settings.speakers = ["local", "kitchen"]
                fresh.settings.parts = ["kitchen": .left]
            }) { channels($0) == [.whole, .left] },
            Step({ fresh, _ in fresh.settings.parts = ["local": .right] }) { channels($0) == [.right, .whole] },
            Step({ fresh, _ in (fresh.settings.parts, fresh.settings.speakers) = ([:], ["local"]) }) {
                channels($0) == [.whole]
            },
        ]),
        "volume": applies(\.settings.volume, [40, 60, nil, 60]) { rig, volume in
            let gain = rig.card.state.withLock { $0.gains.last ?? nil }
            return rig.player.state.volume == volume ?? 100 && gain == volume.map { VolumeCurve.gain(volume: $0) }
        },
        "periods": Case(steps: [
            Step({ fresh, _ in fresh.periods = [part("evening", fresh)] }) {
                $0.hasSaid("part of the day: 'evening'")
            },
            Step({ fresh, _ in fresh.periods = [part("night", fresh)] }) {
                $0.hasSaid("part of the day: 'night'")
            },
            Step({ fresh, _ in fresh.periods = [] }) { $0.hasSaid("no part of the day applies") },
        ]),
        "loops": Case(
            films: ["1.mp4"], steps: [Step({ fresh, _ in fresh.loops = false }) { $0.director.result == .done }]),
        "screen": appliesAtNextStart(
            "screen", first: { fresh, _ in fresh.screen = .number(1) },
            second: { fresh, _ in fresh.screen = .number(2) },
            restoring: { fresh, _ in fresh.screen = nil }),
        "operatorScreen": appliesAtNextStart(
            "operator_screen", first: { fresh, _ in fresh.operatorScreen = .other },
            second: { fresh, _ in fresh.operatorScreen = .chosen(.number(1)) },
            restoring: { fresh, _ in fresh.operatorScreen = nil }),
        "rotation": applies(\.rotation, [90, 180, 0]) { $0.screen?.arrangement.rotation == $1 },
        // The display reports overscan.
        "overscan": applies(\.overscan, [.insetBounds(4), ScreenArrangement.Overscan.none, nil]) {
            $0.screen?.arrangement.overscan == $1 ?? .scale(3.5)
        },
        "titleSafe": applies(\.titleSafe, [6, 3, 0]) { $0.screen?.arrangement.titleSafe == $1 },
        "mode": applies(\.mode, [.preferred, .film, .current]) { rig, mode in
            var commands: [ScreenControl.Command] = []
            rig.screen?.moveCommands(into: &commands)
            return commands.contains { if case .mode(mode, _) = $0 { true } else { false } }
        },
        "start": appliesAtNextStart(
            "start_at", first: { fresh, _ in fresh.start = time(23) }, second: { fresh, _ in fresh.start = time(9) },
            restoring: { fresh, _ in fresh.start = .atOnce }),
        "quietHours": Case(steps: [
            Step({ fresh, _ in fresh.quietHours = [late] }) {
                $0.health.withLock { $0.shown == .off("quiet hours until 23:00") }
            },
            Step({ fresh, _ in fresh.quietHours = [try! DaySpan(parsing: "22:00-22:30")] }) {
                $0.health.withLock { $0.shown == .off("quiet hours until 22:30") }
            },
            Step({ fresh, _ in fresh.quietHours = [] }) { $0.health.withLock { $0.shown == .playing } },
        ]),
        "slate": Case(
            films: [],
            steps: [
                slate("closed.png"), slate("renamed.png"),
                Step({ fresh, _ in fresh.slate = nil }) { $0.player.state.items.isEmpty }, slate("closed.png"),
            ]),
        "onBrokenItem": Case(
            films: ["bad.mp4"],
            steps: [
                Step({ fresh, _ in fresh.onBrokenItem = .stop }) { rig in
                    // A changed list is tried at once.
                    rig.write("bad-2.mp4")
                    if case .broken? = rig.director.result { return true }
                    return false
                }
            ]),
        "imageDuration": applies(\.imageDuration, [.seconds(3), .seconds(5), .seconds(10)]) {
            $0.imageDurations.withLock { $0.last } == $1
        },
        "speakerTimeout": applies(\.speakerTimeout, [.seconds(8), .seconds(12), nil]) {
            $0.director.routeSupervisor?.answerTimeout == $1
        },
        "hooks": Case(steps: [
            Step({
                $0.hooks.screenOff = "echo off > '\($1)/off'"
                $0.quietHours = [late]
            }) { FileManager.default.fileExists(atPath: $0.folder + "/off") },
            Step({
                $0.hooks.screenOn = "echo on > '\($1)/on'"
                $0.quietHours = []
            }) { FileManager.default.fileExists(atPath: $0.folder + "/on") },
        ]),
        "metrics": appliesAtNextStart(
            "metrics", first: { fresh, _ in fresh.metrics = nil },
            second: { fresh, _ in fresh.metrics = try! HTTPAddress(parsing: "127.0.0.1:9") },
            restoring: { fresh, _ in fresh.metrics = KioskConfiguration.standardMetrics }),
        "controlGroup": appliesAtNextStart(
            "control", first: { fresh, _ in fresh.controlGroup = "a" },
            second: { fresh, _ in fresh.controlGroup = "b" },
            restoring: { fresh, _ in fresh.controlGroup = nil }),
        "remote": appliesAtNextStart(
            "remote", first: { fresh, _ in fresh.remote = .init() },
            second: { fresh, _ in fresh.remote?.tokenFile = "/t" }, restoring: { fresh, _ in fresh.remote = nil }),
        "timeline": appliesAtNextStart(
            "timeline", first: { fresh, _ in fresh.timeline = .init(file: "/t") },
            second: { fresh, _ in fresh.timeline = .init(file: "/u") }, restoring: { fresh, _ in fresh.timeline = nil }),
        "wall": appliesAtNextStart(
            "wall", first: { fresh, _ in fresh.wall = .init() }, second: { fresh, _ in fresh.wall?.chronyPort = 324 },
            restoring: { fresh, _ in fresh.wall = nil }),
        "fleet": appliesAtNextStart(
            "fleet", first: { fresh, _ in fresh.fleet = .init(host: "127.0.0.1", name: "hall") },
            second: { fresh, _ in fresh.fleet?.name = "foyer" }, restoring: { fresh, _ in fresh.fleet = nil }),
    ]

    /// Properties that are not keys.
    private static let others: Set<String> = ["settings", "remarks", "lines"]

    /// Reloads a changed configuration and waits for the report; earlier messages are discarded.
    private static func reload(_ rig: KioskRig, _ change: (inout KioskConfiguration) -> Void) {
        var fresh = rig.director.settings.configuration
        change(&fresh)
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.said.withLock { $0 = [] }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("the configuration was reloaded") })
    }

    @Test func everyKeyIsInTheTable() {
        let configuration = KioskConfiguration()
        let names = [Mirror(reflecting: configuration), Mirror(reflecting: configuration.settings)]
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
        // Films are opened ahead, so some of the previous list follow the change.
        if tried.films == ["1.mp4"] { #expect(rig.wait { rig.opened.withLock { $0.count } >= 4 }) }
        for (number, step) in tried.steps.enumerated() {
            Self.reload(rig) { step.change(&$0, rig.folder) }
            #expect(rig.wait { step.isDone(rig) }, "reload \(number + 1): \(rig.said.withLock { $0 })")
        }
        _ = rig.end()
    }

    @Test func whatWaitsForTheNextStartIsReportedAtEveryReload() {
        let rig = KioskRig(films: ["long.mp4"])
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        Self.reload(rig) { $0.screen = .number(1) }
        #expect(rig.hasSaid(Self.waiting + "screen"))
        Self.reload(rig) { $0.settings.volume = 30 }
        #expect(rig.hasSaid(Self.waiting + "screen"))
        Self.reload(rig) { _ in }
        #expect(rig.hasSaid(Self.waiting + "screen"))
        _ = rig.end()
    }

    @Test func aStartThatIsMovedBeforeItHasComeDoesNotWait() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.start = Self.time(23) }
        rig.start()
        #expect(rig.wait { rig.director.hours.beginsAt != nil })
        Self.reload(rig) { $0.start = .atOnce }
        #expect(rig.wait { rig.player.state.phase == .playing })
        Self.reload(rig) { $0.settings.volume = 30 }
        #expect(!rig.hasSaid(Self.waiting))
        _ = rig.end()
    }

    @Test func theFirstSpeakersOfASilentKioskWaitForTheNextStart() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.settings.speakers = [] }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        var fresh = rig.director.settings.configuration
        fresh.settings.speakers = ["kitchen"]
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("these keys take effect at the next start: speakers") })
        _ = rig.end()
    }

    @Test func aWallTakesOverItsLoop() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.wall = .init() }
        rig.start()
        let line: @Sendable () -> WallTimeline? = { rig.director.playback.wall?.timeline }
        #expect(rig.wait { line()?.loops == true })
        let epoch = line()?.epoch
        var fresh = rig.director.settings.configuration
        fresh.loops = false
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { line()?.loops == false })
        #expect(line()?.epoch == epoch)
        _ = rig.end()
    }

    /// A time of day recurs daily, and a changed start waits for the next start of the kiosk.
    @Test func aWallsTimeContinuesWhenItsListChangesOnAnotherDay() {
        let rig = KioskRig(films: ["1.mp4"]) {
            $0.wall = .init()
            $0.start = Self.time(22)
        }
        rig.start()
        let line: @Sendable () -> WallTimeline? = { rig.director.playback.wall?.timeline }
        #expect(rig.wait { line()?.items.count == 1 })
        let epoch = line()?.epoch
        Self.reload(rig) { $0.start = .atOnce }
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 86_400) }
        rig.write("2.mp4")
        #expect(rig.wait { line()?.items.count == 2 })
        #expect(line()?.epoch == epoch)
        _ = rig.end()
    }

    @Test func theEdgesThatADisplayHidesAreLeftFreeUnlessTheConfigurationSaysOtherwise() {
        let rig = KioskRig(films: ["long.mp4"], hasScreen: true)
        rig.screen?.state.withLock { ($0.isVisible, $0.display) = (true, "TV") }
        rig.start()
        rig.mailbox.post(.screen(.visible(true)))
        #expect(rig.wait { rig.screen?.arrangement.overscan == .scale(3.5) })
        var fresh = rig.director.settings.configuration
        fresh.overscan = ScreenArrangement.Overscan.none
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.screen?.arrangement.overscan == ScreenArrangement.Overscan.none })
        _ = rig.end()
    }
}
