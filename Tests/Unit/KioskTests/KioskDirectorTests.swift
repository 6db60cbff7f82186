import Foundation
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback
@testable import ScreenOutput
@testable import Storage

/// Playback, schedule and fault handling of a kiosk.
@Suite struct KioskDirectorTests {
    @Test func theFilmsOfAFolderPlayRoundAndRound() {
        let rig = KioskRig(films: ["1.mp4", "2.mp4"])
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.count } >= 5 })
        #expect(rig.end() == .asked(status: 143))
        #expect(rig.opened.withLock { Array($0.prefix(4)) } == ["1.mp4", "2.mp4", "1.mp4", "2.mp4"])
    }

    @Test func aFilmThatComesIsPlayedAndOneThatGoesIsNot() {
        let rig = KioskRig(films: ["1.mp4", "2.mp4"])
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.contains("2.mp4") } })
        rig.write("3.mp4")
        #expect(rig.wait { rig.opened.withLock { $0.contains("3.mp4") } })
        rig.remove("2.mp4")
        #expect(rig.wait { rig.hasSaid("the list now has 2 films") })
        rig.opened.withLock { $0 = [] }
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "1.mp4" } } >= 4 })
        // Items opened before the change may be among the first.
        #expect(!rig.opened.withLock { $0.suffix(4).contains("2.mp4") })
        _ = rig.end()
    }

    @Test func aBrokenFilmIsReportedOnceInEachPassAndIsAProblem() {
        let rig = KioskRig(films: ["1.mp4", "bad.mp4", "c.mp4"])
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "bad.mp4" } } >= 4 })
        #expect(rig.wait { rig.health.withLock { $0.skippedItems == 1 && $0.problemCount >= 3 } })
        let health = rig.health.withLock { $0 }
        #expect(health.degradations.count == 1 && health.degradations[0].contains("'bad.mp4' is no film"))
        #expect(rig.director.stateMessage.problems.count == 1)
        _ = rig.end()
        let (lines, attempts) = (
            rig.said.withLock { $0.count { $0.contains("'bad.mp4' is no film") } },
            rig.opened.withLock { $0.count { $0 == "bad.mp4" } }
        )
        #expect(lines >= 3 && lines <= attempts)
    }

    @Test func aBrokenFilmInTheMiddleIsNamedOnTheSlateForTenSeconds() {
        let rig = KioskRig {
            $0.settings.playlist = ["long1", "bad", "long2"].map { "http://server/\($0).mp4" }
            $0.onBrokenItem = .slate
        }
        rig.start()
        for pass in 1...2 {
            #expect(
                rig.wait {
                    guard case .nothing(let reason) = rig.health.withLock({ $0.shown }) else { return false }
                    return reason.contains("'bad.mp4' is no film")
                })
            let shown = rig.clock.now
            #expect(rig.wait { rig.said.withLock { $0.count { $0.contains("playing 'long2.mp4'") } } == pass })
            #expect(rig.clock.now - shown >= .seconds(8), "\(rig.said.withLock { $0 })")
            #expect(rig.wait { rig.health.withLock { $0.shown == .playing } })
        }
        _ = rig.end()
    }

    /// Waits for a slate with a text, and returns when it is replaced by a film.
    private func namesOnSlate(_ rig: KioskRig, _ text: String, until film: String) -> Duration? {
        let isShown = rig.wait {
            guard case .nothing(let reason) = rig.health.withLock({ $0.shown }) else { return false }
            return reason.contains(text)
        }
        let (shown, count) = (rig.clock.now, rig.said.withLock { $0.count { $0.contains("playing '\(film)'") } })
        let isReplaced = rig.wait { rig.said.withLock { $0.count { $0.contains("playing '\(film)'") } } > count }
        return isShown && isReplaced ? rig.clock.now - shown : nil
    }

    @Test func anIncompleteFilmIsNamedOnTheSlateAfterItsEnd() throws {
        let rig = KioskRig {
            $0.settings.playlist = ["long1", "cut", "long2"].map { "http://server/\($0).mp4" }
            $0.onBrokenItem = .slate
        }
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing 'cut.mp4'") })
        for _ in 1...2 {
            #expect(try #require(namesOnSlate(rig, "incomplete", until: "long2.mp4")) >= .seconds(8))
        }
        #expect(!rig.hasSaid("is skipped"))
        _ = rig.end()
    }

    @Test func anIncompleteFilmThatIsReportedAfterTheNextHasBegunIsNamedOnTheSlateToo() throws {
        let rig = KioskRig(films: ["1.mp4", "long2.mp4"]) { $0.onBrokenItem = .slate }
        rig.start()
        #expect(rig.wait { rig.player.state.current?.address.hasSuffix("1.mp4") ?? false })
        let first = try #require(rig.player.state.current)
        #expect(rig.wait { rig.hasSaid("playing 'long2.mp4'") })
        rig.said.withLock { $0 = [] }
        let failure = MediaFailure(error: TalkieError(.failed, "the file is incomplete"), position: .zero)
        rig.mailbox.post(.player(.incomplete(first, failure)))
        #expect(try #require(namesOnSlate(rig, "incomplete", until: "long2.mp4")) >= .seconds(8))
        #expect(rig.player.state.position < MediaTime(value: 1, timescale: 1), "it begins again")
        _ = rig.end()
    }

    @Test func anIncompleteFilmEndsTheKioskAtItsEndWhereThatIsWanted() {
        let rig = KioskRig(films: ["1.mp4", "cut.mp4", "z.mp4"]) { $0.onBrokenItem = .stop }
        rig.start()
        guard case .broken(let error) = rig.join() else {
            Issue.record("the kiosk continued")
            return
        }
        #expect(error.message.contains("incomplete") && rig.hasSaid("playing 'cut.mp4'"))
        #expect(!rig.hasSaid("playing 'z.mp4'"))
    }

    @Test func aFilmWithoutProgressIsNamedOnTheSlate() throws {
        let rig = KioskRig {
            $0.settings.playlist = ["1", "long"].map { "http://server/\($0).mp4" }
            $0.onBrokenItem = .slate
        }
        rig.unansweredOpenings.withLock { $0 = 1 }
        rig.start()
        let shown = namesOnSlate(rig, "1.mp4' was left", until: "long.mp4")
        #expect(try #require(shown, "\(rig.said.withLock { $0 })") >= .seconds(8))
        #expect(rig.wait { rig.health.withLock { $0.shown == .playing } })
        _ = rig.end()
    }

    @Test func aFilmWithoutProgressEndsTheKioskWhereThatIsWanted() {
        let rig = KioskRig {
            $0.settings.playlist = ["1", "long"].map { "http://server/\($0).mp4" }
            $0.onBrokenItem = .stop
        }
        rig.unansweredOpenings.withLock { $0 = 1 }
        rig.start()
        guard case .broken(let error) = rig.join() else {
            Issue.record("the kiosk continued")
            return
        }
        #expect(error.message.contains("1.mp4' was left"))
    }

    /// The broken film has another place in each of these orders.
    @Test(arguments: 3...9) func aShuffledListContinuesInItsOrderAfterTheSlate(_ count: Int) {
        let films = (1...count).map { "\($0).mp4" }
        let rig = KioskRig(films: films + ["bad.mp4"]) {
            $0.settings.order = .shuffled
            $0.onBrokenItem = .slate
        }
        rig.start()
        let played = { rig.played(among: films) }
        #expect(rig.wait { played().count >= count * 3 }, "\(played())")
        for pass in 0..<3 {
            #expect(Set(played().dropFirst(pass * count).prefix(count)).count == count, "each once: \(played())")
        }
        #expect(rig.hasSaid("nothing is shown: 'bad.mp4'"))
        _ = rig.end()
    }

    /// The broken film ends the first pass with some of these seeds.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func aShuffledListIsShuffledAgainAfterASlateAtItsEnd(_ seed: UInt64) {
        let films = (1...5).map { "\($0).mp4" }
        let rig = KioskRig(films: films + ["bad.mp4"], seed: seed) {
            $0.settings.order = .shuffled
            $0.onBrokenItem = .slate
        }
        rig.start()
        let played = { rig.played(among: films) }
        #expect(rig.wait { played().count >= 15 }, "\(played())")
        let passes = (0..<3).map { Array(played().dropFirst($0 * 5).prefix(5)) }
        #expect(passes.allSatisfy { Set($0).count == 5 } && Set(passes).count > 1, "\(passes)")
        _ = rig.end()
    }

    @Test(arguments: [true, false])
    func theListLoopsAgainOnceABrokenFilmIsRepairedOrRemoved(isRepaired: Bool) {
        let rig = KioskRig(films: ["long.mp4", "stick.mp4"]) { $0.onBrokenItem = .slate }
        rig.isStickPulled.withLock { $0 = true }
        rig.start()
        // Opened ahead while the film before it plays.
        #expect(rig.wait { rig.opened.withLock { $0.contains("stick.mp4") } && rig.player.state.phase == .playing })
        #expect(!rig.wait(atMost: .seconds(1)) { rig.player.state.phase != .playing })
        if isRepaired {
            rig.isStickPulled.withLock { $0 = false }
            rig.write("stick.mp4", "repaired")
        } else {
            rig.remove("stick.mp4")
        }
        #expect(rig.wait { rig.hasSaid("the list now has") })
        rig.opened.withLock { $0 = [] }
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "long.mp4" } } >= 3 })
        #expect(!rig.hasSaid("nothing is shown"))
        _ = rig.end()
    }

    @Test func theOnlyFilmWithoutMediaIsNamedAndNotSaidToPlay() {
        let rig = KioskRig(films: ["none.mp4"])
        rig.start()
        #expect(rig.wait { rig.health.withLock { $0.skippedItems == 1 } })
        var reasons: Set<String> = []
        _ = rig.wait(atMost: .seconds(60)) {
            if case .nothing(let reason) = rig.health.withLock({ $0.shown }) { reasons.insert(reason) }
            return false
        }
        #expect(reasons.count == 1 && reasons.first?.contains("none.mp4") == true, "\(reasons)")
        #expect(rig.said.withLock { $0.count { $0.contains("playing 'none.mp4'") } } <= 1)
        // A film that comes plays.
        rig.write("good.mp4")
        #expect(rig.wait { rig.hasSaid("playing 'good.mp4'") && rig.health.withLock { $0.shown == .playing } })
        _ = rig.end()
    }

    @Test func theSlateOfAnItemWithoutPictureNamesTheOutputsThatPlay() {
        let rig = KioskRig(films: ["long.mp4"], hasScreen: true) { $0.settings.speakers = ["kitchen"] }
        var (commands, text): ([ScreenControl.Command], String?) = ([], nil)
        func isShown(_ wanted: String) -> Bool {
            commands.removeAll()
            rig.screen?.moveCommands(into: &commands)
            for case .message(let message) in commands { text = message?.text }
            return text == wanted
        }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing && rig.hasSaid("the sound goes to kitchen") })
        #expect(rig.wait { isShown("long.mp4\n♪ kitchen") }, "\(text ?? "nothing")")
        #expect(!rig.wait(atMost: .seconds(5)) { !isShown("long.mp4\n♪ kitchen") }, "\(text ?? "nothing")")
        _ = rig.end()
    }

    @Test func aBrokenFilmEndsTheKioskWhereThatIsWanted() {
        let rig = KioskRig(films: ["1.mp4", "bad.mp4"]) { $0.onBrokenItem = .stop }
        rig.start()
        guard case .broken(let error) = rig.join() else {
            Issue.record("the kiosk continued")
            return
        }
        #expect(error.message.contains("bad.mp4"))
    }

    @Test func anEmptyFolderIsASlateUntilAFilmComes() {
        let rig = KioskRig()
        rig.start()
        #expect(rig.wait { rig.hasSaid("nothing is shown") })
        rig.write("1.mp4")
        #expect(rig.wait { rig.hasSaid("playing '1.mp4' (1 of 1)") })
        _ = rig.end()
    }

    /// The added film is listed after and before the one that cannot be played.
    @Test(arguments: ["good.mp4", "a.mp4"])
    func aListOfWhichNothingCanBePlayedIsTriedAgainWhenSomethingChanges(film: String) {
        let rig = KioskRig(films: ["bad.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("nothing is shown: 'bad.mp4' is no film") })
        rig.write(film)
        // Less than the ten seconds after which the list is tried again.
        #expect(rig.wait(atMost: PlaylistRetry.delay / 2) { rig.hasSaid("playing '\(film)'") })
        _ = rig.end()
    }

    @Test func quietHoursPauseTheFilmAndEndByThemselves() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.quietHours = [try! DaySpan(parsing: "22:20-22:30")] }
        // 22:13:20.
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        #expect(rig.wait { rig.player.state.phase == .paused })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        #expect(rig.wait { rig.player.state.phase == .playing })
        _ = rig.end()
    }

    @Test func commandsAreRunWhenTheScreenGoesOffAndOnAndAtTheStart() throws {
        let rig = KioskRig(films: ["long.mp4"]) { $0.quietHours = [try! DaySpan(parsing: "22:20-22:30")] }
        rig.configure {
            $0.hooks.screenOff = "echo off >> '\(rig.folder)/screen'"
            $0.hooks.screenOn = "echo on >> '\(rig.folder)/screen'"
        }
        rig.start()
        // The display may be in standby since the quiet hours of an earlier run.
        for run in ["on\n", "on\noff\n", "on\noff\non\n"] {
            #expect(rig.wait { (try? String(contentsOfFile: rig.folder + "/screen", encoding: .utf8)) == run })
            rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        }
        _ = rig.end()
    }

    @Test func aCommandThatFailsIsReportedWithoutItsText() {
        let rig = KioskRig(films: ["long.mp4"])
        rig.configure { $0.hooks.screenOn = "PASSWORD=secret; echo no such thing >&2; false" }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the command hooks.screen_on failed: no such thing") })
        #expect(!rig.hasSaid("secret"))
        _ = rig.end()
    }

    @Test(arguments: [10, nil]) func aStartWithinAPartOfTheDayHasItsVolume(volume: Double?) throws {
        // 22:13:20.
        let span = try DaySpan(parsing: "22:00-23:00")
        let rig = KioskRig(films: ["long.mp4"]) {
            var night = $0.settings
            night.volume = volume
            $0.settings.volume = 100
            $0.periods = [.init(name: "night", span: span, days: Set(1...7), settings: night)]
        }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        #expect(rig.player.state.volume == volume ?? 100)
        #expect(rig.card.state.withLock { $0.gains.last ?? nil } == volume.map { VolumeCurve.gain(volume: $0) })
        _ = rig.end()
    }

    @Test func itBeginsAtItsTime() {
        let rig = KioskRig(films: ["1.mp4"]) { $0.start = .time(TimeOfDay(hour: 22, minute: 20)!) }
        rig.start()
        #expect(rig.wait { rig.director.hours.beginsAt != nil })
        #expect(rig.opened.withLock { $0.isEmpty })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        #expect(rig.wait { rig.hasSaid("playing '1.mp4'") })
        _ = rig.end()
    }

    @Test func anInvalidConfigurationIsReportedAndTheOldOneKept() {
        let rig = KioskRig(films: ["1.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing") })
        rig.next.withLock {
            $0 = .failure(KioskConfigurationError(mistakes: [ConfigMistake("wall.toml", line: 3, "no such key")]))
        }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("wall.toml line 3: no such key") })
        let count = rig.opened.withLock { $0.count }
        #expect(rig.wait { rig.opened.withLock { $0.count } > count + 3 })
        _ = rig.end()
    }

    @Test func anotherProgrammeFollowsTheFilmThatPlays() {
        let rig = KioskRig(films: ["1.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing '1.mp4'") })
        var fresh = rig.director.settings.configuration
        rig.write("2.mp4")
        fresh.settings.playlist = [rig.folder + "/films/2.mp4"]
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        #expect(rig.wait { rig.hasSaid("playing '2.mp4' (1 of 1)") })
        _ = rig.end()
    }

    @Test func aListThatIsToLoopAgainLoopsWithoutAPause() {
        let rig = KioskRig(films: ["1.mp4", "2.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing '1.mp4'") })
        var fresh = rig.director.settings.configuration
        (fresh.settings.order, fresh.loops) = (.shuffled, false)
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        (fresh.settings.order, fresh.loops) = (.listed, true)
        rig.next.withLock { [fresh] in $0 = .success(fresh) }
        rig.mailbox.post(.request(.reload))
        rig.opened.withLock { $0 = [] }
        #expect(rig.wait { rig.opened.withLock { $0.count } >= 6 })
        #expect(!rig.hasSaid("nothing is shown"))
        _ = rig.end()
    }

    @Test func aBrokenFilmEndsTheKioskNotBeforeTheGoodOneBeforeItHasEnded() {
        let rig = KioskRig(films: ["1.mp4", "2.mp4", "bad.mp4"]) { $0.onBrokenItem = .stop }
        rig.start()
        guard case .broken = rig.join() else {
            Issue.record("the kiosk continued")
            return
        }
        #expect(rig.hasSaid("playing '1.mp4'") && rig.hasSaid("playing '2.mp4'"))
        #expect(rig.hasSaid("'bad.mp4' is no film"))
    }

    @Test func aStartInQuietHoursSwitchesTheScreenOff() throws {
        let rig = KioskRig(films: ["long.mp4"]) { $0.quietHours = [try! DaySpan(parsing: "22:10-22:30")] }
        rig.configure { $0.hooks.screenOff = "echo off > '\(rig.folder)/screen'" }
        rig.start()
        #expect(rig.wait { (try? String(contentsOfFile: rig.folder + "/screen", encoding: .utf8)) == "off\n" })
        #expect(rig.opened.withLock { $0.isEmpty })
        _ = rig.end()
    }

    @Test func aSlateFromAfarCoversTheReasonAndGivesItBack() {
        let rig = KioskRig(films: ["bad.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("nothing is shown: 'bad.mp4' is no film") })
        rig.perform("slate", "closed")
        #expect(rig.wait { rig.health.withLock { $0.shown == .slate } })
        rig.perform("set", "pause", "no")
        #expect(rig.wait { rig.health.withLock { $0.shown == .nothing("'bad.mp4' is no film") } })
        _ = rig.end()
    }

    @Test func aFolderThatIsRemovedAndMadeAgainIsFoundAtOnce() throws {
        let rig = KioskRig(films: ["1.mp4"])
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing '1.mp4'") })
        try FileManager.default.removeItem(atPath: rig.folder + "/films")
        #expect(rig.wait { rig.hasSaid("nothing is shown") })
        try FileManager.default.createDirectory(atPath: rig.folder + "/films", withIntermediateDirectories: false)
        rig.write("new.mp4")
        // Less than the minute after which everything is scanned without the event.
        #expect(rig.wait(atMost: .seconds(5)) { rig.hasSaid("playing 'new.mp4'") })
        _ = rig.end()
    }

    @Test func anotherFilmThatIsAskedForDuringAPauseIsPausedToo() {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4"])
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        let refused = Lock<[ControlError]>([])
        let reply: ControlReply = { if case .failure(let error) = $0 { refused.withLock { $0.append(error) } } }
        func isPaused(_ number: Int) -> Bool {
            rig.player.state.phase == .paused && rig.health.withLock { $0.shown == .paused && $0.item?.index == number }
        }
        rig.perform("set", "pause", "yes", reply: reply)
        #expect(rig.wait { isPaused(1) })
        rig.perform("playlist-next", reply: reply)
        #expect(rig.wait { isPaused(2) })
        rig.perform("playlist-prev", reply: reply)
        #expect(rig.wait { isPaused(1) })
        #expect(refused.withLock { $0.isEmpty })
        rig.perform("set", "pause", "no", reply: reply)
        #expect(rig.wait { rig.player.state.phase == .playing && rig.health.withLock { $0.shown == .playing } })
        _ = rig.end()
    }

    /// A kiosk with a window whose only film cannot be opened.
    private func rigWithoutAGoodFilm(slate: String) -> KioskRig {
        let rig = KioskRig(films: ["bad.mp4"], hasScreen: true)
        rig.configure { $0.slate = "\(rig.folder)/\(slate)" }
        _ = FileManager.default.createFile(atPath: "\(rig.folder)/\(slate)", contents: Data("picture".utf8))
        return rig
    }

    @Test func aFilmThatIsOpenedDuringAPauseIsPausedAlsoAfterAPictureOfTheSlate() {
        let rig = rigWithoutAGoodFilm(slate: "closed.png")
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.last == "closed.png" } })
        rig.perform("set", "pause", "yes")
        rig.director.playback.show(.nothing("another reason"))
        rig.write("long.mp4")
        #expect(rig.wait { rig.hasSaid("playing 'long.mp4'") })
        #expect(rig.wait { rig.player.state.phase == .paused })
        rig.perform("set", "pause", "no")
        #expect(rig.wait { rig.player.state.phase == .playing })
        _ = rig.end()
    }

    @Test func thePictureOfTheSlateIsShownAgainAfterEachAttempt() {
        let rig = rigWithoutAGoodFilm(slate: "closed.png")
        rig.start()
        #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "bad.mp4" } >= 3 && $0.last == "closed.png" } })
        _ = rig.end()
    }

    @Test func mediaThatWasLostIsTriedAgainAfterGrowingPausesUnderThePictureOfTheSlate() {
        let rig = KioskRig(hasScreen: true) { $0.settings.playlist = ["http://server/stick.mp4"] }
        rig.configure { $0.slate = "\(rig.folder)/closed.png" }
        _ = FileManager.default.createFile(atPath: "\(rig.folder)/closed.png", contents: Data("picture".utf8))
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        func pauses() -> [Double] {
            rig.isStickPulled.withLock { $0 = true }
            rig.opened.withLock { $0 = [] }
            #expect(rig.wait { rig.opened.withLock { $0.last == "closed.png" } })
            var instants = [rig.clock.now]
            while instants.count < 6 {
                let count = rig.opened.withLock { $0.count { $0 == "stick.mp4" } }
                #expect(rig.wait { rig.opened.withLock { $0.count { $0 == "stick.mp4" } } > count })
                instants.append(rig.clock.now)
            }
            rig.isStickPulled.withLock { $0 = false }
            #expect(
                rig.wait(atMost: .seconds(2)) {
                    let state = rig.player.state
                    return state.phase == .playing && state.current?.address.hasSuffix("stick.mp4") == true
                })
            return zip(instants.dropFirst(), instants).map { ($0 - $1).inSeconds }
        }
        // Steps of 20 ms; they begin again once the film has played.
        for _ in 1...2 {
            let pauses = pauses()
            let all = [0.1, 0.2, 0.4, 0.7, 0.7]
            #expect(zip(pauses, all).allSatisfy { abs($0 - $1) < 0.07 }, "\(pauses)")
        }
        _ = rig.end()
    }

    @Test(arguments: ["playlist-next", "playlist-prev"]) func inQuietHoursNoOtherFilmIsChosen(_ command: String) {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4"]) { $0.quietHours = [try! DaySpan(parsing: "22:20-22:30")] }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        #expect(rig.wait { rig.player.state.phase == .paused })
        let answer = Lock<Result<JSONValue, ControlError>?>(nil)
        rig.perform(command) { result in answer.withLock { $0 = result } }
        let refusal = ControlError(.unavailable, "nothing is scheduled at this time")
        #expect(rig.wait { answer.withLock { $0 == .failure(refusal) } })
        #expect(rig.opened.withLock { $0.count { $0 == "long1.mp4" } } == 1)
        #expect(rig.player.state.current?.address.hasSuffix("long1.mp4") == true)
        _ = rig.end()
    }

    @Test func aCommandForTheNextFilmDoesNotEndThePictureOfTheSlate() {
        let rig = rigWithoutAGoodFilm(slate: "long.png")
        rig.start()
        #expect(rig.wait { rig.player.state.current?.address.hasSuffix("long.png") == true })
        let answer = Lock<Result<JSONValue, ControlError>?>(nil)
        rig.perform("playlist-next") { result in answer.withLock { $0 = result } }
        #expect(rig.wait { answer.withLock { $0 == .failure(ControlError(.unavailable, "no film is shown")) } })
        #expect(rig.player.state.current?.address.hasSuffix("long.png") == true)
        _ = rig.end()
    }

    @Test func aRequestBeforeTheStartIsCarriedOutAtTheStart() {
        let kiosk = Kiosk(KioskConfiguration(), file: "wall.toml")
        kiosk.ask(.end(status: 130))
        let events = kiosk.mailbox.receive(until: HostInstant(nanoseconds: 0))
        #expect(events.contains { if case .request(.end(130)) = $0 { true } else { false } })
        let rig = KioskRig(films: ["long.mp4"])
        for event in events { rig.mailbox.post(event) }
        rig.start()
        #expect(rig.join() == .asked(status: 130))
        #expect(rig.opened.withLock { $0.isEmpty })
    }

    /// A process of its own: it has no descriptor left for the watch of the folders, which starts after the thread of
    /// the state.
    @Test func aStartThatFailsLeavesNoThreadBehind() async {
        await #expect(processExitsWith: .success) {
            let rig = KioskRig(films: ["long.mp4"])
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit()
            getrlimit(kind, &limit)
            var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
            setrlimit(kind, &none)
            #expect(throws: ExhaustionError.self) { try rig.director.start() }
            setrlimit(kind, &limit)
            // A thread that was joined may be listed for a moment.
            var threads = threadsOfTheKiosk()
            for _ in 0..<10_000 where !threads.isEmpty {
                sched_yield()
                threads = threadsOfTheKiosk()
            }
            #expect(threads.isEmpty)
        }
        /// Their names, as `ps -L` shows them.
        @Sendable func threadsOfTheKiosk() -> [String] {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
                .filter { $0.hasPrefix("kiosk") }
        }
    }

    @Test func anItemIsBlamedForAnEndThatItsRepairBrings() {
        let rig = KioskRig(films: ["long.mp4"])
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        let (director, now) = (rig.director, rig.clock.now)
        let film = rig.folder + "/films/long.mp4"
        // The player's thread does not run meanwhile.
        for second in 1...20 where director.result == nil { director.watchOver(at: now.advanced(by: .seconds(second))) }
        #expect(rig.join() == .needsRestart(Liveness.Cause.engine.rawValue))
        #expect(isSuspect(film, rig))
    }

    @Test func aFilmWhoseServerNeverAnswersIsPassedOverWithoutARestart() {
        let rig = KioskRig { $0.settings.playlist = ["http://server/1.mp4", "http://server/long.mp4"] }
        rig.unansweredOpenings.withLock { $0 = 1 }
        let started = rig.clock.now
        rig.start()
        #expect(rig.wait(atMost: .seconds(15)) { rig.hasSaid("playing 'long.mp4'") })
        #expect(rig.clock.now - started >= Liveness.waitingTimeout)
        #expect(rig.opened.withLock { $0.first } == "long.mp4")
        #expect(rig.end() == .asked(status: 143))
    }

    @Test func noItemIsBlamedForAnEndThatTheWindowBrings() {
        let rig = KioskRig(films: ["long.mp4"])
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        rig.director.end(.needsRestart("the window was lost"))
        _ = rig.join()
        #expect(!isSuspect(rig.folder + "/films/long.mp4", rig))
    }

    @Test(arguments: [true, false])
    func anItemThatIsLeftBeforeItsEndIsNotConsideredPlayed(isCommanded: Bool) {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4"])
        let film = rig.folder + "/films/long1.mp4"
        // It was open when the last process ended.
        let record = CrashRecord(StateFolder(path: rig.folder + "/state"), configuration: "wall.toml")
        record.recordOpening(film)
        record.recordFault()
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing 'long1.mp4'") && rig.health.withLock { $0.shown == .playing } })
        if isCommanded {
            rig.perform("playlist-next")
        } else {
            rig.director.playback.passOver(for: .frozen)
        }
        #expect(rig.wait { rig.hasSaid("playing 'long2.mp4'") && rig.player.state.phase == .playing })
        _ = rig.end()
        #expect(isSuspect(film, rig))
    }

    @Test func filmsThatAreLeftInARowAreTriedAgain() {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4", "long3.mp4"])
        rig.start()
        for film in ["long1.mp4", "long2.mp4"] {
            #expect(rig.wait { rig.hasSaid("playing '\(film)'") && rig.health.withLock { $0.shown == .playing } })
            rig.director.playback.passOver(for: .decoder)
        }
        #expect(rig.wait { rig.hasSaid("playing 'long3.mp4'") })
        rig.said.withLock { $0 = [] }
        #expect(rig.wait { rig.hasSaid("playing 'long1.mp4'") })
        #expect(!rig.hasSaid("is skipped for a day"))
        _ = rig.end()
    }

    @Test func aSlowFilmIsNotSkippedForADayBecauseAnEarlierPacketCannotBeDecoded() {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4"])
        rig.start()
        let second = MediaTime(value: 1, timescale: 1)
        #expect(rig.wait { rig.player.state.phase == .playing && rig.player.state.position > second })
        rig.engine.shared.update { list in
            list.record(undecodable: UndecodableAudio(start: .zero, duration: second))
        }
        rig.director.playback.passOver(for: .silence)
        #expect(rig.wait(atMost: .seconds(30)) { rig.hasSaid("long1.mp4' is played later: it arrives too slowly") })
        #expect(!rig.hasSaid("is skipped for a day"))
        _ = rig.end()
    }

    @Test func filmsAreOpenedAheadAgainOnceTheSuspectsHavePlayed() {
        let films = ["1.mp4", "2.mp4", "3.mp4"]
        let rig = KioskRig(films: films)
        // They were open when the last process ended.
        let record = CrashRecord(StateFolder(path: rig.folder + "/state"), configuration: "wall.toml")
        for film in films.prefix(2) { record.recordOpening("\(rig.folder)/films/\(film)") }
        record.recordFault()
        rig.start()
        let opened = { rig.opened.withLock { $0 } }
        #expect(rig.wait { opened().count >= 3 })
        // In this pass or the next one.
        #expect(
            rig.wait {
                let state = rig.player.state
                return state.phase == .playing && opened().count > 3 && opened().last != state.title
            })
        #expect(opened().prefix(3) == films[...])
        _ = rig.end()
    }

    @Test func aFilmThatWasOnlyOpenedAheadIsNoSuspectOnceItPlays() {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4", "long3.mp4"])
        let films = ["long1.mp4", "long2.mp4"].map { "\(rig.folder)/films/\($0)" }
        // They were open when the last process ended, the first one played.
        let record = CrashRecord(StateFolder(path: rig.folder + "/state"), configuration: "wall.toml")
        for film in films { record.recordOpening(film) }
        record.recordFault()
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing 'long2.mp4'") && rig.player.state.phase == .playing })
        #expect(rig.opened.withLock { $0 } == ["long1.mp4", "long2.mp4"], "each was opened alone")
        // It plays for a minute.
        #expect(rig.wait(atMost: .seconds(40)) { rig.opened.withLock { $0.count == 3 } })
        #expect(rig.player.state.title == "long2.mp4")
        _ = rig.end()
    }

    @Test func anItemThatIsLeftIsNotBlamedForAnEndDuringTheNextOne() {
        let rig = KioskRig(films: ["long1.mp4", "long2.mp4"])
        let film = rig.folder + "/films/long1.mp4"
        let places = StateFolder(path: rig.folder + "/state")
        // It was open when the last process ended.
        let before = CrashRecord(places, configuration: "wall.toml")
        before.recordOpening(film)
        before.recordFault()
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing 'long1.mp4'") && rig.health.withLock { $0.shown == .playing } })
        rig.perform("playlist-next")
        #expect(
            rig.wait {
                rig.hasSaid("playing 'long2.mp4'") && rig.player.state.position > MediaTime(value: 1, timescale: 1)
            }
        )
        // The next process, after a crash.
        rig.director.stage.crashes.recordFault()
        let crashes = CrashRecord(places, configuration: "wall.toml")
        crashes.begin(at: WallTime(seconds: 1_700_000_100))
        let (key, edition) = (CrashHistory.key(of: film), FileEdition(of: film)?.text ?? "")
        #expect(crashes.history.isSuspect(key) && !crashes.history.isSkipped(key, edition: edition))
        _ = rig.end()
    }

    /// Returns true if the next process of this kiosk opens a film alone.
    private func isSuspect(_ film: String, _ rig: KioskRig) -> Bool {
        let crashes = CrashRecord(StateFolder(path: rig.folder + "/state"), configuration: "wall.toml")
        crashes.begin(at: WallTime(seconds: 1_700_000_100))
        return crashes.history.isSuspect(CrashHistory.key(of: film))
    }

    @Test func theFleetReceivesNoTokensOfAddresses() {
        let rig = KioskRig { $0.settings.playlist = ["https://me:secret@host/long.mp4?token=hidden"] }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing && rig.health.withLock { $0.item != nil } })
        let message = rig.director.stateMessage
        #expect(message.title?.hasPrefix("long.mp4") == true)
        #expect(!message.json.contains("hidden") && !message.json.contains("secret"))
        #expect(rig.health.withLock { $0.item?.name.contains("hidden") } == false)
        #expect(!rig.hasSaid("hidden") && !rig.hasSaid("secret"))
        _ = rig.end()
    }

    @Test func theRecordHasTheNameOfEachOutput() throws {
        let record = NSTemporaryDirectory() + "talkie-kiosk-\(UUID().uuidString).jsonl"
        defer { try? FileManager.default.removeItem(atPath: record) }
        let rig = KioskRig(films: ["long.mp4"], timeline: record) {
            $0.settings.speakers = ["kitchen"]
            $0.settings.fallbacks = ["office"]
        }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to kitchen") })
        let number = try #require(rig.player.outputs?.number(of: rig.kitchen))
        rig.mailbox.post(.output(OutputID(number), isLost: true))
        #expect(rig.wait { rig.hasSaid("the sound goes to office instead") })
        _ = rig.end()
        var names: Set<String> = []
        for line in try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n") {
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if event?["event"] as? String == "route", let name = event?["name"] as? String { names.insert(name) }
        }
        #expect(names.isSuperset(of: ["kitchen", "office"]))
    }

    @Test func theRecordStatesTheEndOfAnItemThatIsPlayedAlone() throws {
        let first = KioskRig(films: ["1.mp4", "2.mp4"])
        let state = StateFolder(path: first.folder + "/kept")
        // It was open when the last process ended.
        let before = CrashRecord(state, configuration: "wall.toml")
        before.recordOpening(first.folder + "/films/1.mp4")
        before.recordFault()
        let record = first.folder + "/record.jsonl"
        let rig = KioskRig(places: state, timeline: record) { $0.settings.playlist = [first.folder + "/films"] }
        rig.start()
        #expect(rig.wait { rig.hasSaid("playing '2.mp4'") })
        _ = rig.end()
        let events = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").compactMap { line in
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let name = event?["event"] as? String == "film" ? event?["name"] as? String : event?["phase"] as? String
            return name.flatMap { name in ["1.mp4", "2.mp4", "ended"].first { name.hasSuffix($0) } }
        }
        #expect(events.prefix(3) == ["1.mp4", "ended", "2.mp4"], "\(events)")
    }

    /// Stores the position of a kiosk that was killed 30 s after the beginning of a film.
    private func killedKiosk(in film: String) throws -> (state: StateFolder, place: KioskResumePositions.Position) {
        let state = StateFolder(path: NSTemporaryDirectory() + "talkie-kept-\(UUID().uuidString)")
        let place = KioskResumePositions.Position(address: film, position: MediaTime(value: 30, timescale: 1))
        let kept = KioskResumePositions(state, configuration: "wall.toml", report: { _ in })
        kept.scheduleWrite(KioskResumePositions.Kept(position: place, starts: 4, hasEndedWell: false))
        kept.writePending()
        return (state, place)
    }

    @Test(arguments: [true, false])
    func aKioskThatWaitsKeepsItsPositionForItsFilmAndForItsNextStart(isQuiet: Bool) throws {
        let quiet = try DaySpan(parsing: "22:00-22:30")
        let first = KioskRig(films: ["1.mp4", "long.mp4", "z.mp4"])
        let (state, place) = try killedKiosk(in: first.folder + "/films/long.mp4")
        defer { try? FileManager.default.removeItem(atPath: state.path) }
        func start() -> KioskRig {
            let rig = KioskRig(places: state) {
                $0.settings.playlist = [first.folder + "/films"]
                if isQuiet { $0.quietHours = [quiet] } else { $0.start = .time(quiet.to) }
            }
            rig.start()
            // 22:13:20; the position is written every 15 s.
            #expect(!rig.wait(atMost: .seconds(20)) { rig.opened.withLock { !$0.isEmpty } })
            return rig
        }
        _ = start().end()
        let kept = KioskResumePositions(state, configuration: "wall.toml", report: { _ in }).read().kept
        #expect(kept == KioskResumePositions.Kept(position: place, starts: 5))
        let rig = start()
        first.write("another.mp4")
        #expect(rig.wait { rig.hasSaid("the list now has 4 films") })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 1200) }
        #expect(rig.wait { rig.player.state.phase == .playing })
        #expect(rig.opened.withLock { $0.first } == "long.mp4")
        #expect(rig.player.state.position >= place.position)
        _ = rig.end()
    }

    @Test func aKilledKioskResumesAtItsPosition() throws {
        let first = KioskRig(films: ["1.mp4", "long.mp4", "z.mp4"])
        let (places, _) = try killedKiosk(in: first.folder + "/films/long.mp4")
        defer { try? FileManager.default.removeItem(atPath: places.path) }
        let rig = KioskRig(places: places) { $0.settings.playlist = [first.folder + "/films"] }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing })
        #expect(rig.opened.withLock { $0.first } == "long.mp4")
        #expect(rig.player.state.position >= MediaTime(value: 30, timescale: 1))
        _ = rig.end()
        #expect(rig.hasSaid("it resumes at its last position"))
        #expect(rig.director.resume.restarts == 4)
    }

    @Test func aKioskThatWasKilledAfterItsTimeOfStartDoesNotWaitUntilTomorrow() throws {
        let first = KioskRig(films: ["long.mp4"])
        let (places, _) = try killedKiosk(in: first.folder + "/films/long.mp4")
        defer { try? FileManager.default.removeItem(atPath: places.path) }
        for wasKilled in [true, false] {
            // 22:13:20.
            let rig = KioskRig(places: places) {
                $0.settings.playlist = [first.folder + "/films"]
                $0.start = .time(TimeOfDay(hour: 22, minute: 0)!)
            }
            rig.start()
            #expect(rig.wait(atMost: .seconds(20)) { rig.player.state.phase == .playing } == wasKilled)
            _ = rig.end()
        }
    }

    @Test func aKioskThatWasKilledWhileItWaitedForTomorrowWaitsOn() throws {
        let first = KioskRig(films: ["long.mp4"])
        let (places, place) = try killedKiosk(in: first.folder + "/films/long.mp4")
        defer { try? FileManager.default.removeItem(atPath: places.path) }
        let kept = KioskResumePositions(places, configuration: "wall.toml", report: { _ in })
        kept.scheduleWrite(KioskResumePositions.Kept(position: place, starts: 4, hasEndedWell: true))
        kept.writePending()
        func start() -> KioskRig {
            let rig = KioskRig(places: places) {
                $0.settings.playlist = [first.folder + "/films"]
                $0.start = .time(TimeOfDay(hour: 22, minute: 0)!)
            }
            rig.start()
            #expect(!rig.wait(atMost: .seconds(20)) { rig.player.state.phase == .playing })
            return rig
        }
        let waits = start()
        let state = KioskResumePositions.Kept(position: place, starts: 5, hasEndedWell: false, isWaiting: true)
        // A thread of its own writes it.
        #expect(waits.wait(atMost: .seconds(3600)) { kept.read().kept == state })
        _ = waits.end()
        kept.scheduleWrite(state)
        kept.writePending()
        _ = start().end()
    }

    @Test func credentialsAndTokensOfAnAddressAreNotKeptAndItsFilmIsFoundAgain() throws {
        let rig = KioskRig()
        let folder = StateFolder(path: rig.folder + "/kept")
        let address = "https://me:secret@host/watch?v=2&token=hidden#part"
        let places = KioskResumePositions(folder, configuration: "wall.toml", report: { _ in })
        try places.start()
        places.scheduleWrite(
            KioskResumePositions.Kept(
                position: .init(address: address, position: MediaTime(value: 7, timescale: 1)), starts: 1))
        places.stop()
        for name in folder.list("") {
            let text = try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
            #expect(!text.contains("secret") && !text.contains("hidden") && !text.contains("me:"), "\(text)")
        }
        let place = try #require(places.read().kept.position)
        #expect(place.position == MediaTime(value: 7, timescale: 1))
        let others = ["https://host/watch?v=1", "/watch"]
        #expect(place.film(among: others + [address]) == address, "films that differ in the query only")
        let renewed = "https://me:other@host/watch?v=2&token=new"
        #expect(place.film(among: ["/watch", renewed]) == renewed, "a token that is another one now")
        #expect(place.film(among: ["/watch"]) == nil)
    }

    @Test func configurationsOfOneNameInTwoFoldersHaveAPlaceEachAndTheOldFileIsRead() throws {
        let rig = KioskRig()
        let folder = StateFolder(path: rig.folder + "/kept")
        var old = StateRecord(kind: "kiosk", version: 1)
        (old["starts"], old["ended"]) = ("3", "not")
        (old["film"], old["place"]) = ("/films/a.mp4", "30000")
        try folder.replace("kiosk-wall_toml", with: old)
        func places(_ side: String) throws -> KioskResumePositions {
            try FileManager.default.createDirectory(atPath: rig.folder + "/" + side, withIntermediateDirectories: true)
            let file = "\(rig.folder)/\(side)/wall.toml"
            try Data().write(to: URL(filePath: file))
            return KioskResumePositions(folder, configuration: file, report: { _ in })
        }
        let (left, right) = (try places("left"), try places("right"))
        let inherited = left.read().kept
        #expect(inherited.starts == 3 && inherited.position?.film(among: ["/films/a.mp4"]) != nil)
        for (places, film) in [(left, "/films/l.mp4"), (right, "/films/r.mp4")] {
            try places.start()
            places.scheduleWrite(KioskResumePositions.Kept(position: .init(address: film, position: .zero)))
            places.stop()
        }
        #expect(left.read().kept.position?.address == "/films/l.mp4")
        #expect(right.read().kept.position?.address == "/films/r.mp4")
    }

    @Test func whatHasNotChangedIsNotWrittenAgain() throws {
        let rig = KioskRig()
        let folder = StateFolder(path: rig.folder + "/kept")
        let places = KioskResumePositions(folder, configuration: "wall.toml", report: { _ in })
        func file() -> UInt64? {
            let name = folder.list("").first { $0.hasPrefix("kiosk-") }
            return name.flatMap { try? FileManager.default.attributesOfItem(atPath: "\(folder.path)/\($0)") }
                .flatMap { $0[.systemFileNumber] as? UInt64 }
        }
        let kept = KioskResumePositions.Kept(position: .init(address: "/a.mp4", position: .zero), starts: 1)
        places.scheduleWrite(kept)
        places.writePending()
        let first = file()
        #expect(first != nil)
        places.scheduleWrite(kept)
        places.writePending()
        // Each write creates a new file and renames it; the first one still exists at this point.
        #expect(file() == first)
        #expect(86_400 / ResumeState.interval.inSeconds < 6000)
    }

    @Test func aFailingDiskAndItsRecoveryAreReportedOnce() throws {
        let rig = KioskRig(films: [])
        let folder = rig.folder + "/kept"
        // A file in place of the folder: root may write anywhere else.
        try Data().write(to: URL(fileURLWithPath: folder))
        let reports = Lock<[String?]>([])
        let places = KioskResumePositions(StateFolder(path: folder), configuration: "wall.toml") { event in
            reports.withLock { $0.append(event) }
        }
        for starts in 1...2 {
            places.scheduleWrite(KioskResumePositions.Kept(starts: starts))
            places.writePending()
            #expect(reports.withLock { $0.count } == 1)
        }
        try FileManager.default.removeItem(atPath: folder)
        places.scheduleWrite(KioskResumePositions.Kept(starts: 3))
        places.writePending()
        let all = reports.withLock { $0 }
        #expect(all.count == 2)
        #expect(all.first.flatMap { $0 }?.hasPrefix("the kiosk's position cannot be stored: ") == true)
        #expect(all.last.flatMap { $0 } == nil)
        #expect(places.read().kept.starts == 3)
    }

    @Test func aSentenceIsLoggedOnceAnHourWithTheNumberOfOmittedOnesUnlessItWasMended() {
        var limiter = MessageRateLimiter()
        let start = HostInstant(nanoseconds: 1_000_000_000)
        let times = [0, 1, 3599, 3600, 7200]
        var lines = times.map { limiter.line(for: "a", at: start.advanced(by: .seconds($0))) }
        limiter.forget("a")
        lines.append(limiter.line(for: "a", at: start.advanced(by: .seconds(7201))))
        #expect(lines == ["a", nil, nil, "a (2 more times since the last line)", "a", "a"])
    }

    @Test func eachLossOfASpeakerIsLogged() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.settings.speakers = ["kitchen"] }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to kitchen") })
        let id = OutputID(rig.player.outputs!.number(of: rig.kitchen)!)
        func losses() -> Int { rig.said.withLock { $0.count { $0.contains("is lost") } } }
        rig.mailbox.post(.output(id, isLost: true))
        #expect(rig.wait { losses() == 1 })
        rig.mailbox.post(.output(id, isLost: false))
        let next = rig.clock.now.advanced(by: .seconds(61))
        #expect(rig.wait { rig.clock.now >= next })
        rig.mailbox.post(.output(id, isLost: true))
        #expect(rig.wait { losses() == 2 })
        _ = rig.end()
    }

    @Test func itsHealthSaysWhatIsShownAndWhereItIsOffOnPurpose() {
        let rig = KioskRig(films: ["long.mp4"]) { $0.quietHours = [try! DaySpan(parsing: "22:20-22:30")] }
        rig.start()
        #expect(
            rig.wait { rig.health.withLock { $0.shown == .playing && $0.item?.name.hasSuffix("long.mp4") == true } })
        rig.wall.withLock { $0 = WallTime(seconds: $0.seconds + 600) }
        #expect(rig.wait { rig.health.withLock { $0.shown == .off("quiet hours until 22:30") } })
        #expect(
            rig.health.withLock { $0.verdict(at: rig.clock.now) } == .well("off on purpose: quiet hours until 22:30"))
        _ = rig.end()
    }

    @Test func theSoundGoesToTheFallbackWhileASpeakerIsLostAndBack() {
        let rig = KioskRig(films: ["long.mp4"]) {
            $0.settings.speakers = ["kitchen"]
            $0.settings.fallbacks = ["office"]
        }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to kitchen") })
        #expect(rig.player.audioOutputs.map(\.name) == ["kitchen"])
        let number = rig.player.outputs!.number(of: rig.kitchen)!
        let id = OutputID(number)
        rig.mailbox.post(.output(id, isLost: true))
        #expect(rig.wait { rig.player.audioOutputs.map(\.name) == ["kitchen", "office"] })
        #expect(rig.wait { rig.health.withLock { $0.degradations == ["kitchen does not play"] && $0.fault == nil } })
        rig.mailbox.post(.output(id, isLost: false))
        #expect(rig.wait { rig.player.audioOutputs.map(\.name) == ["kitchen"] })
        #expect(rig.wait { rig.health.withLock { $0.degradations.isEmpty && $0.fault == nil } })
        _ = rig.end()
    }

    @Test func aSpeakerThatIsNotThereIsLookedForAndThisComputerPlaysMeanwhile() {
        let rig = KioskRig(films: ["long.mp4"], present: ["local"]) { $0.settings.speakers = ["toy:kitchen"] }
        rig.start()
        #expect(rig.wait { rig.hasSaid("no toy is in 'kitchen'; searching until it is available") })
        #expect(rig.wait { rig.hasSaid("the sound goes to card instead") })
        rig.toys.appear("kitchen")
        #expect(rig.wait { rig.player.audioOutputs.map(\.name) == ["kitchen"] })
        _ = rig.end()
    }

    @Test func aSpeakerThatRefusesIsTriedAgainEveryFifteenSecondsAndThisComputerPlaysMeanwhile() {
        let rig = KioskRig(films: ["long.mp4"], present: ["local"]) { $0.settings.speakers = ["toy:kitchen"] }
        rig.kitchen.state.withLock { $0.refusal = OutputError(.failed, "no") }
        func attempts() -> Int { rig.kitchen.state.withLock { $0.preparations } }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to card instead") })
        rig.card.state.withLock { $0.isClosed = false }
        rig.toys.appear("kitchen")
        #expect(rig.wait { attempts() > 0 })
        // Without a pause each iteration is an attempt; the limit ends the wait.
        _ = rig.wait(atMost: .seconds(14)) { attempts() > 9 }
        #expect(attempts() == 1)
        _ = rig.wait(atMost: .seconds(17)) { attempts() > 9 }
        #expect((2...3).contains(attempts()))
        #expect(rig.player.audioOutputs.map(\.name) == ["card"])
        #expect(rig.card.state.withLock { $0.gains.last != .some(0) && !$0.isClosed }, "it stays audible")
        rig.kitchen.state.withLock { $0.refusal = nil }
        #expect(rig.wait(atMost: .seconds(31)) { rig.player.audioOutputs.map(\.name) == ["kitchen"] })
        _ = rig.end()
    }

    /// Waits for a sentence about an event that a real thread reports. Virtual time does not advance meanwhile.
    private func waitForReport(_ rig: KioskRig, _ part: String) {
        let limit = HostInstant.now.advanced(by: .seconds(60))
        while !rig.wait(atMost: .zero, until: { rig.hasSaid(part) }), HostInstant.now < limit {
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
    }

    @Test func aSpeakerThatIsLostWhenItBecomesAFallbackIsSearchedFor() throws {
        let rig = KioskRig(films: ["long.mp4"]) { $0.settings.speakers = ["local", "kitchen"] }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to card, kitchen") })
        // The group does not retry one of this code.
        rig.kitchen.state.withLock { $0.failure = OutputError(.clockConflict, "gone") }
        waitForReport(rig, "'kitchen' is lost")
        let supervisor = try #require(rig.director.routeSupervisor)
        supervisor.want(OutputTiers(wanted: ["local"], fallbacks: ["kitchen"]), at: rig.clock.now)
        #expect(supervisor.tiers.sought == ["kitchen"])
        // It is found before it has left the group.
        for _ in 1...2 { rig.director.runIteration() }
        #expect(supervisor.tiers.presence["kitchen"] == .lost)
        rig.kitchen.state.withLock { $0.failure = nil }
        #expect(rig.wait(atMost: .seconds(20)) { supervisor.tiers.presence["kitchen"] == .present })
        _ = rig.end()
    }

    @Test(arguments: [OutputError.Code.busy, .notPermitted])
    func aSpeakerThatGaveUpIsTriedAgainAfterAMinute(code: OutputError.Code) {
        let rig = KioskRig(films: ["long.mp4"]) { $0.settings.speakers = ["kitchen"] }
        rig.start()
        #expect(rig.wait { rig.hasSaid("the sound goes to kitchen") })
        // A speaker that another sender takes back is left to it for twice as long.
        for rest in [60, code == .busy ? 120 : 60] {
            rig.said.withLock { $0 = [] }
            rig.mailbox.post(.output(OutputID(rig.player.outputs!.number(of: rig.kitchen)!), isLost: true))
            #expect(rig.wait { rig.player.audioOutputs.map(\.name) == ["kitchen", "card"] })
            rig.kitchen.state.withLock { $0.failure = OutputError(code, "kitchen gave up") }
            waitForReport(rig, "kitchen gave up")
            let lost = rig.clock.now
            #expect(rig.wait(atMost: .seconds(10)) { rig.player.audioOutputs.map(\.name) == ["card"] })
            #expect(
                rig.wait { rig.health.withLock { $0.degradations == ["kitchen does not play"] && $0.fault == nil } })
            rig.kitchen.state.withLock { $0.failure = nil }
            #expect(rig.wait(atMost: .seconds(rest + 10)) { rig.player.audioOutputs.map(\.name) == ["kitchen"] })
            #expect(rig.clock.now - lost >= .seconds(rest))
            #expect(rig.wait { rig.health.withLock { $0.degradations.isEmpty && $0.fault == nil } })
        }
        _ = rig.end()
    }

    @Test func freeMemoryIsReturnedEveryMinute() {
        let rig = KioskRig(films: ["long.mp4"])
        rig.start()
        _ = rig.wait(atMost: .seconds(185), step: .milliseconds(500)) { false }
        #expect(rig.releases.withLock { $0 } == 3)
        _ = rig.end()
    }
}
