import MediaCore
import Sockets
import Synchronization
import TalkieTestKit
import Testing

@testable import PTP

/// PTP messages are not authenticated: a message with a speaker's address may be forged.
@Suite struct ForgedTimeTests {
    private let world = HandTurnedClock()
    private let theirs = ClockIdentity(rawValue: 0xA1B2_C3FF_FED4_E5F6)

    /// The best quality of all masters, and 5000 s ahead.
    private func forger(_ identity: ClockIdentity = ClockIdentity(rawValue: 0xBAD)) -> HandTurnedClock.Voice {
        var quality = GrandmasterQuality.sender(identity)
        quality.priority1 = 0
        return .init(identity: identity, ahead: .seconds(5000), announces: quality)
    }

    private var master: HandTurnedClock.Voice {
        .init(identity: theirs, ahead: .seconds(3), announces: .sender(theirs))
    }

    /// Pauses playback that used our time.
    private func pauseOnOurTime() {
        world.instance.add(world.speaker)
        world.instance.recordStreamSetUp(world.speaker)
        world.pass(2)
        world.instance.setPlaying(true, for: world.speaker)
        world.pass(2)
        world.instance.setPlaying(false, for: world.speaker)
    }

    /// Pauses playback that used the speaker's clock.
    private func pauseOnTheirTime() throws {
        world.instance.add(world.speaker)
        world.instance.recordStreamSetUp(world.speaker)
        world.pass(3, master)
        world.instance.setPlaying(true, for: world.speaker)
        world.pass(10, master)
        world.instance.setPlaying(false, for: world.speaker)
        try #require(world.instance.peer(world.speaker)?.isFollowed == true)
        try #require(world.instance.timeline(for: world.speaker)?.grandmaster == theirs)
    }

    @Test func aSpeakerThatWasHeardOnOurTimeIsNotTakenForAMasterInAPause() throws {
        pauseOnOurTime()
        world.pass(60, forger())
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == world.identity)
        #expect(world.ahead == 0)
        #expect(world.instance.readiness(of: world.speaker) == .ready, "the film can go on")
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == true, "and it is reported")
        world.pass(4)
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == false)
    }

    @Test func aForgedDelayRequestStallsNoSpeakerThatPlayedWithoutAny() {
        pauseOnOurTime()
        world.sendDelayRequest(from: 319)
        world.pass(6)
        #expect(world.instance.readiness(of: world.speaker) == .ready)
        #expect(world.instance.peer(world.speaker)?.readiness.probes == 0, "it is not remembered for later sessions")
    }

    @Test func aSpeakerThatRefusesOurStartsIsFollowedWheneverItDoes() throws {
        pauseOnOurTime()
        let yielded = world.instance.yield(to: world.speaker)
        #expect(yielded)
        world.pass(3, master)
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == theirs)
        #expect(world.instance.peer(world.speaker)?.hasRefusedOurTime == true)
    }

    @Test func eightSyncsOfEightClocksChangeNoTime() {
        world.instance.add(world.speaker)
        for number in 1...7 { world.pass(0.5, forger(ClockIdentity(rawValue: UInt64(number)))) }
        #expect(world.instance.peer(world.speaker)?.isFollowed == false)
        world.pass(2, master)
        #expect(world.instance.peer(world.speaker)?.isFollowed == true)
    }

    /// Apple's implementation may send from any port.
    @Test(arguments: [(UInt16(40000), UInt16(40001)), (320, 319)])
    func aSpeakerThatSendsFromOtherPortsIsFollowed(event: UInt16, general: UInt16) throws {
        world.instance.add(world.speaker)
        world.instance.recordStreamSetUp(world.speaker)
        var voice = master
        voice.ports = (event, general)
        world.pass(5, voice)
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == theirs)
        #expect(abs(try #require(world.ahead) - 3) < 0.001)
    }

    @Test func aSpeakerThatAsksFromAnotherPortIsAnswered() {
        world.instance.add(world.speaker)
        world.sendDelayRequest(from: 40000)
        #expect(world.instance.peer(world.speaker)?.readiness.probes == 1)
    }

    @Test(arguments: [(UInt16(319), UInt16(40001)), (40000, 320)])
    func ofASpeakerThatUsesThePortsOfPTPOtherPortsCountForNothing(event: UInt16, general: UInt16) {
        world.instance.add(world.speaker)
        var voice = master
        voice.ports = (event, general)
        world.pass(10, voice)
        #expect(world.instance.peer(world.speaker)?.master == nil)
        world.sendDelayRequest(from: 40000)
        world.sendDelayRequest(from: 319, on: .general)
        #expect(world.instance.peer(world.speaker)?.readiness.probes == 0)
        world.sendDelayRequest(from: 319)
        #expect(world.instance.peer(world.speaker)?.readiness.probes == 1)
    }

    /// A program without privileges on the speaker was first.
    @Test func theFirstMessageFromThePortsOfPTPDiscardsWhatOthersHaveShown() throws {
        world.instance.add(world.speaker)
        world.instance.recordStreamSetUp(world.speaker)
        var liar = forger()
        liar.ports = (40000, 40001)
        world.pass(5, liar)
        try #require(world.instance.peer(world.speaker)?.isFollowed == true)
        world.sendDelayRequest(from: 319)
        #expect(world.instance.peer(world.speaker)?.isFollowed == false)
        #expect(world.instance.peer(world.speaker)?.master == nil)
        #expect(world.instance.served.mayLead(ClockIdentity(rawValue: 7)), "another speaker may insist on its clock")
        world.pass(5, liar)
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == world.identity)
        #expect(world.ahead == 0)
    }

    /// The forger knows the master's identity and sequence numbers, and sends before or after it.
    @Test(arguments: [true, false]) func aForgerBesideTheTrueMasterMovesNothing(isFirst: Bool) throws {
        try pauseOnTheirTime()
        let epoch = world.instance.served.timeline.epoch
        let liar = forger(theirs)
        if isFirst { world.pass(30, liar, master) } else { world.pass(30, master, liar) }
        #expect(abs(try #require(world.ahead) - 3) < 0.001)
        #expect(world.instance.served.timeline.epoch == epoch)
        #expect(world.instance.readiness(of: world.speaker) == .ready)
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == true)
        world.pass(5, master)
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == false)
    }

    /// The Sync need not be forged: a Follow_Up that arrives before the true one is sufficient.
    @Test func aForgedFollowUpDoesNotTakeTheTrueOnesPlace() throws {
        try pauseOnTheirTime()
        var (first, second) = (master, forger(theirs))
        first.announces = nil
        second.speaksSync = false
        let epoch = world.instance.served.timeline.epoch
        var sequence: UInt16 = 5000
        for _ in 0..<160 {
            world.instance.engine.beat(&world.round)
            sequence &+= 1
            world.interleave(first, before: second, sequence)
            world.time.advance(by: .milliseconds(125))
        }
        #expect(world.instance.served.timeline.epoch == epoch)
        #expect(abs(try #require(world.ahead) - 3) < 0.001)
    }

    @Test func aMasterThatTrulyStepsIsBelievedAfterTwoSecondsAndItsAnchorsAreVoid() throws {
        try pauseOnTheirTime()
        world.instance.setPlaying(true, for: world.speaker)
        var stepped = master
        stepped.ahead = .seconds(7)
        let epoch = world.instance.served.timeline.epoch
        world.pass(1, stepped)
        #expect(world.instance.served.timeline.epoch == epoch)
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == true)
        world.pass(3, stepped)
        #expect(world.instance.served.timeline.epoch > epoch, "earlier times are void")
        #expect(abs(try #require(world.ahead) - 7) < 0.001)
        world.pass(3, stepped)
        #expect(world.instance.readiness(of: world.speaker) == .ready)
        #expect(world.instance.peer(world.speaker)?.isDoubted(at: world.time.now) == false)
    }

    /// Messages received while the master was active are no evidence for a time in which it is silent.
    @Test func forgedTimesDoNotCountDuringAShortSilenceOfTheMaster() throws {
        try pauseOnTheirTime()
        let epoch = world.instance.served.timeline.epoch
        world.pass(10, master, forger(theirs))
        world.pass(2)
        world.pass(0.25, forger(theirs))
        world.pass(0.25, master)
        #expect(world.instance.readiness(of: world.speaker) == .ready)
        #expect(world.instance.served.timeline.epoch == epoch)
        #expect(abs(try #require(world.ahead) - 3) < 0.001)
    }

    @Test func anotherGrandmasterIsFollowedOnceTheFirstIsSilent() throws {
        try pauseOnTheirTime()
        var other = master
        (other.identity, other.ahead) = (ClockIdentity(rawValue: 77), .seconds(9))
        other.announces = .sender(other.identity)
        world.pass(10, master, other)
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == theirs)
        world.pass(5, other)
        #expect(world.instance.timeline(for: world.speaker)?.grandmaster == other.identity)
        #expect(abs(try #require(world.ahead) - 9) < 0.001)
    }

    @Test func aFloodIsReadInShareSoThatTheBeatAndTheEndAreNotLate() {
        world.wire.backlog.store(100_000, ordering: .relaxed)
        world.instance.engine.receiveDatagrams(&world.round)
        let read = 100_000 - world.wire.backlog.load(ordering: .relaxed)
        #expect(read > 0 && read <= 64)
        world.instance.engine.requestStop()
        world.instance.engine.receiveDatagrams(&world.round)
        #expect(100_000 - world.wire.backlog.load(ordering: .relaxed) == read)
    }
}
