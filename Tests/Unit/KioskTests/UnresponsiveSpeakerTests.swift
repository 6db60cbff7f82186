import MediaCore
import Playback
import SyncRendering
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Routing

/// Which outputs play while a speaker does not respond. The test provides the time; neither the player nor the speaker
/// finder is started.
@Suite struct UnresponsiveSpeakerTests {
    private let start = HostInstant.now
    private let kitchen: RecordingOutput
    private let card = RecordingOutput(name: "card")
    private let player: Player
    private let group: OutputGroup
    private let supervisor: KioskRouteSupervisor

    init() { self.init(kind: .bufferedSpeaker, timeout: nil) }

    private init(kind: AudioRouteKind, timeout: Duration?, fallbacks: [String] = []) {
        kitchen = RecordingOutput(name: "Kitchen", kind: kind)
        group = OutputGroup(members: [card], codecs: SyntheticCodecs())
        player = Player(
            components: Player.Components(
                open: { (_, _) throws(MediaError) in throw MediaError(.cannotOpen, "there is no film") },
                codecs: SyntheticCodecs(),
                makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) },
                audioOutput: group),
            options: PlayerOptions(), events: EventLog(clock: MonotonicClock())
        ) { _ in }
        supervisor = KioskRouteSupervisor(
            player: player, group: group, registry: OutputRegistry([ToyProvider([:])]),
            tiers: OutputTiers(wanted: ["kitchen"], fallbacks: fallbacks), at: start, answerTimeout: timeout
        ) { _ in }
        _ = supervisor.handle(.found("local", [card]), at: start)
        _ = supervisor.handle(.found("kitchen", [kitchen]), at: start)
    }

    private func after(_ seconds: Double) -> HostInstant { start.advanced(by: .seconds(seconds)) }
    private var heard: [String]? { supervisor.tiers.choice?.audible }

    /// Adds the speaker to the group and returns its ID.
    private func id() async throws -> OutputID {
        _ = await group.change(to: [kitchen])
        return OutputID(try #require(group.number(of: kitchen)))
    }

    private func lose(at seconds: Double) async throws {
        let remark = supervisor.handleOutput(try await id(), isUnresponsive: true, at: after(seconds))
        #expect(remark?.text == "Kitchen does not answer" && remark?.level == .warning)
        #expect(supervisor.problems == ["Kitchen does not answer"])
        supervisor.performDueWork(at: after(seconds))
    }

    @Test func aBufferedSpeakerIsNotReplacedWhileItMayStillPlay() async throws {
        try await lose(at: 10)
        supervisor.performDueWork(at: after(44))
        #expect(heard == ["kitchen"] && supervisor.nextDeadline == nil)
        player.shutDown()
    }

    @Test func itIsReplacedWhenItsOwnerWaitsNoLonger() async throws {
        let other = Self(kind: .bufferedSpeaker, timeout: .seconds(12))
        try await other.lose(at: 10)
        #expect(other.supervisor.nextDeadline == other.after(17))
        other.supervisor.performDueWork(at: other.after(16.9))
        #expect(other.heard == ["kitchen"])
        other.supervisor.performDueWork(at: other.after(17))
        #expect(other.heard == ["local"])
        other.player.shutDown()
    }

    @Test func theOnlyOutputIsAudibleAfterItWasToBeReopened() {
        supervisor.want(OutputTiers(wanted: ["local"], fallbacks: []), at: start)
        #expect(supervisor.outputNames == "card")
        supervisor.reopen()
        #expect(supervisor.outputNames == "card")
        player.shutDown()
    }

    @Test func aFilmDoesNotWaitForASpeakersClockBesideTheOutputOfThisComputer() {
        #expect(group.startsWithoutLateMembers)
        player.shutDown()
    }

    @Test func aRealtimeSpeakerIsReplacedAtOnce() async throws {
        let other = Self(kind: .realtimeSpeaker, timeout: nil)
        try await other.lose(at: 10)
        #expect(other.heard == ["local"])
        other.player.shutDown()
    }

    @Test func oneThatAnswersAgainHasTheSoundAgain() async throws {
        let other = Self(kind: .realtimeSpeaker, timeout: nil)
        try await other.lose(at: 10)
        let remark = other.supervisor.handleOutput(try await other.id(), isUnresponsive: false, at: other.after(20))
        #expect(remark?.text == "Kitchen answers again")
        #expect(other.heard == ["kitchen"] && other.supervisor.problems.isEmpty)
        other.player.shutDown()
    }

    /// Its next session begins without the state of the last one.
    @Test(arguments: [AudioRouteKind.realtimeSpeaker, .bufferedSpeaker], [[], ["kitchen"]])
    func oneThatDidNotAnswerWhenItLeftIsHeardWhenItIsWantedAgain(
        _ kind: AudioRouteKind, _ fallbacks: [String]
    ) async throws {
        let other = Self(kind: kind, timeout: nil)
        try await other.lose(at: 10)
        other.supervisor.want(OutputTiers(wanted: ["local"], fallbacks: fallbacks), at: other.after(20))
        other.supervisor.want(OutputTiers(wanted: ["kitchen"], fallbacks: []), at: other.after(30))
        _ = other.supervisor.handle(.found("kitchen", [other.kitchen]), at: other.after(31))
        other.supervisor.performDueWork(at: other.after(32))
        #expect(other.heard == ["kitchen"] && other.supervisor.problems.isEmpty)
        other.player.shutDown()
    }

    /// A calibration and a repair close all outputs and open them again; the next session reports only changes.
    @Test(arguments: [true, false]) func oneThatDidNotAnswerWhenTheOutputsWereClosedIsHeardWhenTheyAreOpenAgain(
        _ isCalibration: Bool
    ) async throws {
        let other = Self(kind: .realtimeSpeaker, timeout: nil)
        try await other.lose(at: 10)
        #expect(other.heard == ["local"])
        if isCalibration { other.supervisor.release { _ in } } else { other.supervisor.reopen() }
        _ = await other.group.change(to: [other.kitchen, other.card])
        if isCalibration { _ = other.supervisor.restoreChosen() }
        _ = other.supervisor.handle(.found("local", [other.card]), at: other.after(20))
        let choice = try #require(other.supervisor.tiers.choice)
        _ = other.supervisor.handle(.changed(.changed(at: nil, without: []), choice), at: other.after(20))
        other.supervisor.performDueWork(at: other.after(30))
        #expect(other.heard == ["kitchen"] && other.supervisor.problems.isEmpty)
        other.player.shutDown()
    }

    /// Each fallback that replaces another takes it out of the group, which therefore does not reconnect it.
    @Test(arguments: [[], ["hall"]]) func aLostFallbackIsSearchedForAgain(_ fallbacks: [String]) async throws {
        let other = Self(kind: .realtimeSpeaker, timeout: nil, fallbacks: fallbacks)
        let (name, fallback) = fallbacks.first.map { ($0, RecordingOutput(name: "Hall")) } ?? ("local", other.card)
        _ = other.supervisor.handle(.found(name, [fallback]), at: other.start)
        try await other.lose(at: 10)
        #expect(other.heard == [name])
        _ = await other.group.change(to: [fallback])
        let id = OutputID(try #require(other.group.number(of: fallback)))
        for isLost in [true, false] { _ = other.supervisor.handleOutput(id, isLost: isLost, at: other.after(15)) }
        #expect(other.heard == [name] && other.supervisor.nextDeadline == nil)
        _ = other.supervisor.handleOutput(id, isLost: true, at: other.after(20))
        #expect(other.heard == (fallbacks.isEmpty ? [] : ["local"]))
        other.supervisor.performDueWork(at: other.after(36))
        #expect(other.supervisor.tiers.sought == [name])
        _ = other.supervisor.handle(.found(name, [fallback]), at: other.after(37))
        #expect(other.heard == [name])
        other.player.shutDown()
    }

    /// Its connection was closed: a new connection restores it, not a late response.
    @Test func oneThatIsLostMeanwhileIsNoAnswer() async throws {
        try await lose(at: 10)
        kitchen.state.withLock { $0.failure = OutputError(.lost, "gone") }
        let id = try await id()
        #expect(supervisor.handleOutput(id, isLost: true, at: after(40))?.text == "'Kitchen' is lost")
        #expect(supervisor.handleOutput(id, isUnresponsive: false, at: after(45)) == nil)
        #expect(heard == ["local"] && supervisor.problems == ["Kitchen does not play"])
        player.shutDown()
    }
}

/// With a playlist of one film the kiosk waits for its server; with a longer one it plays another film meanwhile.
@Suite struct SlowServerRepairTests {
    private let start = HostInstant.now

    /// Returns the repair stages during a hold, with a beat per second; data arrive until second `last`.
    private func repairs(seconds: Int, arriving last: Int, hasOther: Bool) -> [Int: RepairLadder.Stage] {
        var (liveness, ladder, stages) = (Liveness(), RepairLadder(), [Int: RepairLadder.Stage]())
        for second in 0...seconds {
            let now = start.advanced(by: .seconds(second))
            var beat = Liveness.Beat()
            (beat.isExpected, beat.isWaiting, beat.turns) = (true, true, second)
            beat.readUntil = MediaTime(value: Int64(min(second, last)), timescale: 10)
            liveness.observe(beat, at: now)
            guard case .stalled(let cause, _) = liveness.verdict else { continue }
            let item = RepairLadder.Item(
                "http://slow.mp4", isRemote: true,
                isArriving: liveness.hasArrived(within: RepairLadder.serverPause, at: now), hasOther: hasOther)
            guard let stage = ladder.next(for: cause, of: item, at: now) else { continue }
            stages[second] = stage
            liveness.forgive(at: now)
        }
        return stages
    }

    @Test func theOnlyFilmIsNotOpenedAgainWhileItsDataArrive() {
        #expect(repairs(seconds: 600, arriving: 600, hasOther: false).isEmpty)
    }

    @Test func theOnlyFilmIsOpenedAgainOnceNothingHasArrivedForAMinute() {
        let stages = repairs(seconds: 100, arriving: 20, hasOther: false)
        #expect(stages == [80: .anchor])
    }

    @Test func aLongerListPlaysTheNextFilmWithinFifteenSeconds() {
        #expect(repairs(seconds: 15, arriving: 600, hasOther: true) == [13: .next])
    }
}
