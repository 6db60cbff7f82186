import MediaCore
import Playback
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Storage

/// Films whose audio cannot be decoded ("dead…", 20 s) among good ones of a minute, on outputs that buffer a second, as
/// a card, and a minute, as a speaker, which accepts packets undecoded.
@Suite struct UndecodableFilmTests {
    /// An output.
    enum Output: CaseIterable {
        case card
        case speaker
        case speakerThatAcceptsPackets
    }

    /// Returns a kiosk that plays files in this order.
    private func rig(_ films: [String], on output: Output) -> KioskRig {
        KioskRig(
            films: films, depth: .seconds(output == .card ? 1 : 50), capacity: .seconds(output == .card ? 1 : 60),
            passesPackets: output == .speakerThatAcceptsPackets
        ) {
            // In a folder, the order is that of the names.
            guard films.count > 1 else { return }
            let folder = $0.settings.playlist[0]
            $0.settings.playlist = films.map { "\(folder)/\($0)" }
        }
    }

    /// Advances a kiosk whose card plays what it has accepted.
    private func run(
        _ rig: KioskRig, atMost limit: Duration = .seconds(400), plays: () -> Bool = { true }, until isSo: () -> Bool
    ) -> Bool {
        var last = rig.clock.now
        return rig.wait(atMost: limit, step: .milliseconds(100)) {
            if plays() { rig.card.play(frames: Int((rig.clock.now - last).inSeconds * 48_000)) }
            last = rig.clock.now
            return isSo()
        }
    }

    private func count(_ text: String, _ rig: KioskRig) -> Int { rig.said.withLock { $0.count { $0.contains(text) } } }

    @Test(arguments: Output.allCases) func itIsLeftInTimeNamedAndExcludedAndHealthDoesNotFlap(_ output: Output) throws {
        let dead = "dead.mp4"
        let rig = rig(["long1.mp4", dead, "long2.mp4"], on: output)
        rig.start()
        #expect(run(rig) { rig.hasSaid("playing '\(dead)'") })
        let began = rig.clock.now
        var (hasFault, faults) = (false, 0)
        #expect(
            run(rig) {
                let isNow = rig.health.withLock { $0.fault != nil }
                if isNow, !hasFault { faults += 1 }
                hasFault = isNow
                return rig.hasSaid("playing 'long2.mp4'")
            })
        #expect(rig.clock.now - began <= .seconds(15))
        #expect(run(rig) { rig.hasSaid("\(dead)' is skipped for a day") })
        let ofFilm = rig.said.withLock { $0.filter { $0.contains(dead) && !$0.contains("playing") } }
        #expect(ofFilm.count == 2, "it is named with its reason, then excluded: \(ofFilm)")
        #expect(faults <= 1)
        #expect(run(rig) { self.count("playing 'long2.mp4'", rig) == 2 })
        #expect(count("playing '\(dead)'", rig) <= 2, "it is opened again once")
        #expect(!rig.hasSaid("long1.mp4' is skipped") && !rig.hasSaid("long2.mp4' is skipped"))
        #expect(rig.health.withLock { $0.fault } == nil)
        _ = rig.end()
    }

    @Test(arguments: Output.allCases) func severalInARowAreExcludedAndTheGoodOneAfterThemIsNot(_ output: Output) {
        let rig = rig(["dead1.mp4", "dead2.mp4", "dead3.mp4", "long.mp4"], on: output)
        rig.start()
        let dead = ["dead1", "dead2", "dead3"]
        #expect(
            run(rig) { dead.allSatisfy { rig.hasSaid("\($0).mp4' is skipped for a day") } },
            "\(rig.said.withLock { $0 })")
        #expect(rig.director.result == nil && !rig.hasSaid("long.mp4' is skipped"))
        #expect(dead.allSatisfy { count("playing '\($0).mp4'", rig) <= 2 })
        _ = rig.end()
    }

    @Test(arguments: Output.allCases) func theOnlyFilmIsExcludedOnceTheTestSoundHasPlayedAndAFilmThatComesPlays(
        _ output: Output
    ) {
        let rig = rig(["dead.mp4"], on: output)
        rig.start()
        #expect(run(rig) { rig.hasSaid("playing 'dead.mp4'") })
        #expect(run(rig, atMost: .seconds(15)) { rig.hasSaid("dead.mp4' was left") })
        #expect(run(rig) { rig.hasSaid("dead.mp4' is skipped for a day") }, "\(rig.said.withLock { $0 })")
        #expect(rig.director.result == nil && rig.hasSaid("the outputs are tested with silence"))
        let isSlate = run(rig, atMost: .seconds(5)) {
            if case .nothing(let reason) = rig.health.withLock({ $0.shown }) {
                reason.contains("no other item is left")
            } else {
                false
            }
        }
        #expect(isSlate)
        let attempts = count("playing 'dead.mp4'", rig)
        _ = run(rig, atMost: .seconds(600)) { false }
        #expect(count("playing 'dead.mp4'", rig) == attempts)
        #expect(rig.said.withLock { $0.count { $0.hasPrefix("'") && $0.contains("is skipped for a day") } } == 1)
        rig.write("long.mp4")
        #expect(run(rig) { rig.health.withLock { $0.shown == .playing } } && rig.hasSaid("playing 'long.mp4'"))
        _ = rig.end()
    }

    @Test func aFilmThatEndsAtItsStartIsNamedAndTheNextOnePlays() {
        let rig = rig(["none.mp4", "long.mp4"], on: .card)
        rig.start()
        #expect(run(rig) { rig.hasSaid("playing 'long.mp4'") })
        _ = run(rig, atMost: .seconds(5)) { false }
        #expect(count("“none.mp4” cannot be decoded", rig) == 1, "\(rig.said.withLock { $0 })")
        _ = rig.end()
    }

    @Test func ifTheTestSoundDoesNotAdvanceEitherTheKioskEndsAndTheOnlyFilmIsNotAtFault() {
        let rig = rig(["dead.mp4"], on: .card)
        rig.start()
        #expect(run(rig, plays: { false }) { rig.director.result != nil })
        #expect(rig.hasSaid("the outputs are tested with silence") && !rig.hasSaid("is skipped"))
        guard case .needsRestart = rig.join() else { return _ = Issue.record("\(rig.said.withLock { $0 })") }
        let crashes = CrashRecord(StateFolder(path: rig.folder + "/state"), configuration: "wall.toml")
        crashes.begin(at: WallTime(seconds: 1_700_000_000))
        #expect(!crashes.history.isSuspect(CrashHistory.key(of: rig.folder + "/films/dead.mp4")))
    }

    /// The sound server stops before the film is due, and plays again once the kiosk has left some films.
    @Test func whileTheSoundServerIsDeadNothingIsExcluded() {
        let rig = rig(["long1.mp4", "dead.mp4", "long2.mp4"], on: .card)
        rig.start()
        #expect(run(rig) { rig.player.state.position > MediaTime(value: 50, timescale: 1) })
        var isDead = true
        let isLeft = run(rig, plays: { !isDead }) {
            rig.director.result != nil || count("the next film is played", rig) >= 2
        }
        #expect(isLeft && !rig.hasSaid("is skipped"), "\(rig.said.withLock { $0 })")
        isDead = false
        guard rig.director.result == nil else { return _ = rig.join() }
        #expect(run(rig) { rig.hasSaid("dead.mp4' is skipped for a day") })
        #expect(run(rig) { rig.health.withLock { $0.fault } == nil })
        #expect(!rig.hasSaid("long1.mp4' is skipped") && !rig.hasSaid("long2.mp4' is skipped"))
        _ = rig.end()
    }
}
