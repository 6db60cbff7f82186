import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// A real renderer with a group of recording outputs; film time is advanced manually, the feeders are real threads.
@Suite(.timeLimit(.minutes(10))) struct OutputGroupTests {
    private let clock = ManualClock()
    private let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
    private let synchronizer: RenderSynchronizer
    private let renderer: AudioRenderer
    private let events: EventLog

    init() {
        synchronizer = RenderSynchronizer(clock: clock)
        events = EventLog(clock: clock)
        renderer = AudioRenderer(codecs: SyntheticCodecs(), events: events)
        synchronizer.addRenderer(renderer)
    }

    private func group(_ members: [any AudioOutput]) -> OutputGroup {
        OutputGroup(members: members, codecs: SyntheticCodecs())
    }

    private var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    private func fill(from source: any SampleSource) throws {
        while renderer.isReadyForMoreMediaData, let buffer = try source.read() { renderer.enqueue(buffer) }
    }

    /// Waits for an effect of other threads.
    private func eventually(_ condition: () -> Bool) -> Bool {
        let limit = HostInstant.now.advanced(by: .seconds(10))
        while HostInstant.now < limit {
            if condition() { return true }
            HostInstant.now.advanced(by: .milliseconds(2)).sleep()
        }
        return condition()
    }

    @Test func aSpeakerGetsPacketsUntouchedAndTheCardTheSameSoundDecoded() throws {
        let speaker = RecordingOutput(passThroughCodec: "synthetic")
        let card = RecordingOutput(capacity: 1_000_000)
        renderer.setOutput(group([speaker, card]))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        #expect(eventually { renderer.routeName == "recording, recording" })
        try fill(from: sound)
        #expect(eventually { card.state.withLock { $0.samples.count > 90_000 } })
        #expect(eventually { speaker.state.withLock { $0.packets.count > 90 } })
        let samples = card.state.withLock { $0.samples }
        #expect(samples.enumerated().allSatisfy { SyntheticFilm.frame(ofValue: $1) == Int64($0) })
        #expect(speaker.state.withLock { $0.samples.isEmpty })
        #expect(eventually { (renderer.progress.acceptedUntil?.seconds ?? 0) > 1.9 })
    }

    @Test func aFullMemberDoesNotBlockOthersAndContinuesAtThePlayhead() throws {
        let quick = RecordingOutput(capacity: 10_000_000)
        let stuck = RecordingOutput(capacity: 4_096)
        renderer.setOutput(group([quick, stuck]))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        let source = sound
        try fill(from: source)
        #expect(eventually { quick.state.withLock { $0.samples.count > 90_000 } })
        // Ten seconds of film during which the second member accepts nothing.
        synchronizer.setRate(1, atHostTime: clock.now)
        for _ in 0..<20 {
            clock.advance(by: .milliseconds(500))
            try fill(from: source)
            let enqueued = renderer.progress.enqueuedUntil
            #expect(eventually { quick.acceptedUntil == enqueued })
        }
        #expect(eventually { quick.state.withLock { $0.samples.count > 550_000 } })
        stuck.play(frames: 10_000)
        #expect(eventually { stuck.state.withLock { $0.samples.count > 4_096 } })
        stuck.play(frames: 10_000)
        // It accepts at most the lateness limit and what its feeder held since.
        #expect(
            eventually {
                stuck.play(frames: 10_000)
                return stuck.state.withLock { ($0.starts.last?.seconds ?? 0) > 7.5 }
            })
        #expect(stuck.state.withLock { $0.samples.count } < 300_000)
    }

    /// A speaker places packets by their media time.
    @Test func everyOutputKnowsTheSpeed() throws {
        let outputs = [RecordingOutput(capacity: 1_000_000), RecordingOutput(capacity: 1_000_000)]
        renderer.setSpeed(1.5)
        renderer.setOutput(group(outputs))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        try fill(from: sound)
        for output in outputs { #expect(eventually { output.state.withLock { $0.speeds.last } == 1.5 }) }
        renderer.setSpeed(2)
        for output in outputs { #expect(eventually { output.state.withLock { $0.speeds.last } == 2 }) }
    }

    @Test func theEndOfTheInputReachesMembersThatWaitForMoreAudio() throws {
        let outputs = [RecordingOutput(capacity: 1_000_000), RecordingOutput(capacity: 1_000_000)]
        renderer.setOutput(group(outputs))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        let source = sound
        for _ in 0..<20 { if let buffer = try source.read() { renderer.enqueue(buffer) } }
        let end = renderer.progress.enqueuedUntil
        for output in outputs { #expect(eventually { output.acceptedUntil == end }) }
        // Their threads have found nothing more to do.
        HostInstant.now.advanced(by: .milliseconds(50)).sleep()
        renderer.finish()
        for output in outputs { #expect(eventually { output.state.withLock { $0.isFinished } }) }
    }

    @Test func aMemberThatIsNotThereLeavesTheOthersPlayingAndIsAnEvent() throws {
        let present = RecordingOutput()
        let absent = RecordingOutput()
        absent.state.withLock { $0.refusal = OutputError(.unavailable, "no answer") }
        let group = group([present, absent])
        renderer.setOutput(group, id: OutputID(3))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        try fill(from: sound)
        #expect(eventually { present.state.withLock { $0.samples.count > 10_000 } })
        #expect(group.failure == nil)
        var lost: [OutputID] = []
        while let entry = events.removeFirst() { if case .outputLost(let id) = entry.event { lost.append(id) } }
        #expect(lost == [OutputID(4)])
    }

    @Test func membersDisplayTheItemFromTheirFirstUseOnAndItsChanges() throws {
        let (first, second) = (RecordingOutput(), RecordingOutput())
        let (film, next) = (NowPlaying(title: "Film", artist: "Studio"), NowPlaying(title: "Next"))
        renderer.nowPlaying = film
        renderer.setOutput(group([first, second]))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        try fill(from: sound)
        for member in [first, second] {
            #expect(eventually { member.state.withLock { !$0.samples.isEmpty } })
            #expect(member.state.withLock { $0.nowPlaying.prefix($0.shownAtPrepare).last } == film)
        }
        renderer.nowPlaying = next
        for member in [first, second] { #expect(member.state.withLock { $0.nowPlaying.last } == next) }
        // An output that is used without an item displays none.
        renderer.nowPlaying = nil
        for member in [first, second] { #expect(member.state.withLock { $0.nowPlaying.last } == .some(nil)) }
    }

    @Test func commandsOfMembersArriveWithTheirIDs() throws {
        let (first, second) = (RecordingOutput(), RecordingOutput())
        let commands = Lock<[OutputID: [OutputCommand]]>([:])
        renderer.onCommand { command, output in commands.withLock { $0[output, default: []].append(command) } }
        renderer.setOutput(group([first, second]), id: OutputID(5))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        try fill(from: sound)
        for member in [first, second] { #expect(eventually { member.state.withLock { !$0.samples.isEmpty } }) }
        first.state.withLock { $0.context }?.send(.pause)
        second.state.withLock { $0.context }?.send(.setVolume(40))
        #expect(commands.withLock { $0 } == [OutputID(5): [.pause], OutputID(6): [.setVolume(40)]])
        renderer.onCommand(nil)
        first.state.withLock { $0.context }?.send(.play)
        #expect(commands.withLock { $0.count } == 2)
    }

    @Test func membersBeginToOpenWhenTheRendererIsAddedAndAreGivenBackUnused() {
        func openings(_ output: RecordingOutput) -> Int { output.state.withLock { $0.openings } }
        let (first, second, third) = (RecordingOutput(), RecordingOutput(), RecordingOutput())
        let group = OutputGroup(members: [first, second], codecs: SyntheticCodecs(), work: .byHand())
        let renderer = AudioRenderer(codecs: SyntheticCodecs(), events: events)
        let synchronizer = RenderSynchronizer(clock: clock)
        renderer.setOutput(group)
        #expect(openings(first) == 0, "not opened yet")
        synchronizer.addRenderer(renderer)
        #expect(openings(first) == 1 && openings(second) == 1)
        // A member that replaces another one before playback is opened, and the other one is closed.
        group.change(to: [first, third]) { _ in }
        while group.advanceChange() != nil {}
        #expect(openings(first) == 1 && openings(third) == 1)
        #expect(second.state.withLock { $0.isClosed } && !first.state.withLock { $0.isClosed })
        group.close()
        #expect([first, third].allSatisfy { $0.state.withLock { $0.isClosed } })
    }

    @Test func whatWasOpenedAheadIsTakenIntoUseAndNotClosed() throws {
        let member = RecordingOutput()
        let group = OutputGroup(members: [member], codecs: SyntheticCodecs(), work: .byHand())
        let renderer = AudioRenderer(codecs: SyntheticCodecs(), events: events)
        let synchronizer = RenderSynchronizer(clock: clock)
        var feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(group)
        synchronizer.addRenderer(renderer)
        renderer.enqueue(try #require(try sound.read()))
        feeder.performDueWork()
        #expect(member.state.withLock { !$0.deliveries.isEmpty && !$0.isClosed && $0.openings == 1 })
    }

    @Test func anEmptyGroupFailsAndHoldsNothing() throws {
        let members = [RecordingOutput(), RecordingOutput()]
        for member in members { member.state.withLock { $0.refusal = OutputError(.busy, "the output is in use") } }
        let group = group(members)
        let failure = Lock<OutputError?>(nil)
        renderer.setOutput(group)
        try renderer.start { event in if case .outputFailed(let error) = event { failure.withLock { $0 = error } } }
        defer { renderer.invalidate() }
        renderer.enqueue(try #require(try sound.read()))
        #expect(eventually { failure.withLock { $0 != nil } })
        #expect(failure.withLock { $0?.code } == .busy)
        #expect(members.allSatisfy { $0.state.withLock { $0.isClosed } })
    }

    @Test func theSlowestMemberDecidesAndAFlushReachesAll() throws {
        let first = RecordingOutput(capacity: 200_000, desiredDepth: .seconds(3))
        let second = RecordingOutput(capacity: 200_000, desiredDepth: .seconds(1))
        let group = group([first, second])
        renderer.setOutput(group)
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        let source = sound
        // The amount requested depends on the members, as they open.
        let isFull = eventually {
            try? fill(from: source)
            return (renderer.progress.acceptedUntil?.seconds ?? 0) > 2.9
        }
        #expect(isFull)
        #expect(group.latency.startLead == .milliseconds(50))
        renderer.flush()
        _ = try source.seek(to: MediaTime(value: 100, timescale: 1), mode: .exact)
        synchronizer.setRate(0, time: MediaTime(value: 100, timescale: 1))
        for member in [first, second] {
            let isFilled = eventually {
                try? fill(from: source)
                // The feeder may flush for the renderer's flush and again for the new position.
                return member.state.withLock { $0.flushes >= 1 && ($0.until?.seconds ?? 0) > 102 }
            }
            #expect(isFilled)
        }
    }

    @Test func theEndIsReachedWhenEveryMemberHasEverything() throws {
        let quick = RecordingOutput(capacity: 1_000_000)
        let slow = RecordingOutput(capacity: 2_048)
        renderer.setOutput(group([quick, slow]))
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        renderer.enqueue(try #require(try sound.read()))
        renderer.finish()
        #expect(eventually { quick.state.withLock { $0.isFinished } })
        #expect(eventually { slow.state.withLock { $0.queuedFrames == 2_048 } })
        #expect(!renderer.progress.isDrained)
        slow.play(frames: 2_048)
        #expect(eventually { renderer.progress.isDrained })
        #expect(renderer.progress.acceptedUntil == MediaTime(value: 4_096, timescale: 48_000))
    }

    /// Starts the renderer with a group of a loud and a quieter member, and waits until both have received audio.
    private func loudAndQuiet() throws -> (members: [RecordingOutput], group: OutputGroup) {
        let members = [RecordingOutput(), RecordingOutput()]
        members[1].state.withLock { $0.ownVolume = 30 }
        let group = group(members)
        renderer.setOutput(group)
        try renderer.start { _ in }
        renderer.enqueue(try #require(try sound.read()))
        #expect(eventually { members.allSatisfy { $0.state.withLock { !$0.deliveries.isEmpty } } })
        return (members, group)
    }

    @Test func membersKeepTheirVolumeUntilOneIsSet() throws {
        let members = [RecordingOutput(), RecordingOutput()]
        members[0].state.withLock { $0.ownVolume = 70 }
        members[1].state.withLock { $0.ownVolume = 45 }
        let group = group(members)
        #expect(group.volume == 70, "the master is the loudest")
        renderer.setOutput(group)
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        try fill(from: sound)
        #expect(eventually { members.allSatisfy { $0.state.withLock { !$0.samples.isEmpty } } })
        #expect(members.allSatisfy { $0.state.withLock { $0.gains.isEmpty } })
        renderer.setGain(0)
        #expect(eventually { members.allSatisfy { $0.state.withLock { $0.gains.last == .some(0) } } })
        renderer.setGain(nil)
        #expect(eventually { members.allSatisfy { $0.state.withLock { $0.gains.last == .some(nil) } } })
    }

    @Test func aGainIsThatOfTheLoudestMemberAsWithoutAGroupAndTheOthersKeepTheirDistance() throws {
        defer { renderer.invalidate() }
        let (members, group) = try loudAndQuiet()
        renderer.setGain(0.5)
        group.setVolume(50, of: members[0])
        // 20 steps of 0.3 dB.
        #expect(
            eventually {
                let gains = members.map { $0.state.withLock { $0.gain } }
                return gains[0] == 0.5 && abs(gains[1] - 0.5 * 0.5012) < 1e-4
            })
        #expect(members.map { group.volume(of: $0) } == [50, 30], "no volume changes")
        group.setVolume(0, of: members[1])
        #expect(eventually { members.map { $0.state.withLock { $0.gain } } == [0.5, 0] })
        renderer.setGain(nil)
        #expect(eventually { members[0].state.withLock { $0.gain } == VolumeCurve.gain(volume: 50) })
    }

    @Test func volumesThatWereSetCanBeTakenBack() throws {
        defer { renderer.invalidate() }
        let (members, group) = try loudAndQuiet()
        group.setVolume(50)
        group.setVolume(40, of: members[0])
        // A volume that is taken back before its feeder has seen it is never sent.
        #expect(eventually { members.allSatisfy { $0.state.withLock { !$0.gains.isEmpty } } })
        group.restoreVolumes()
        #expect(eventually { members.allSatisfy { $0.state.withLock { $0.gains.last == .some(nil) } } })
        #expect(members.map { group.volume(of: $0) } == [100, 30] && group.volume == 100)
    }

    @Test func aStepOfTheMasterMovesAllMembersByTheSameDecibelsFromTheirOwnLevels() throws {
        defer { renderer.invalidate() }
        let (members, group) = try loudAndQuiet()
        #expect(members.allSatisfy { $0.state.withLock { $0.gains.isEmpty } }, "untouched")
        #expect(members.map { group.volume(of: $0) } == [100, 30])
        group.changeVolume(by: -2)
        #expect(members.map { group.volume(of: $0) } == [98, 28])
        let expected = [98, 28.0].map { VolumeCurve.gain(volume: $0) }
        #expect(eventually { members.map { $0.state.withLock { $0.gain } } == expected })
        let newcomer = RecordingOutput()
        newcomer.state.withLock { $0.ownVolume = 45 }
        #expect(group.volume(of: newcomer) == 45, "an output that joins later has its owner's level")
        group.setMuted(true, of: members[0])
        #expect(eventually { members[0].state.withLock { $0.gain } == 0 })
        #expect(group.volume(of: members[0]) == 98)
    }

    /// As when an output is selected before the first film is open.
    @Test func aStepOfTheMasterBeforeAnythingPlaysIsKeptByAnOutputThatBecameAMemberThen() throws {
        let (first, second) = (RecordingOutput(), RecordingOutput())
        second.state.withLock { $0.ownVolume = 30 }
        let group = group([first])
        group.change(to: [second]) { _ in }
        #expect(eventually { group.members.contains { $0 === second } })
        group.changeVolume(by: -2)
        #expect(group.volume(of: RecordingOutput()) == 100, "it is no other output's")
        renderer.setOutput(group)
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        renderer.enqueue(try #require(try sound.read()))
        #expect(eventually { second.state.withLock { $0.gain } == VolumeCurve.gain(volume: 28) })
        #expect(group.volume(of: second) == 28 && group.volume(of: first) == 100)
    }

    @Test func aStepOfTheMasterBeforeASpeakerReportsItsLevelCountsFromThatLevel() throws {
        let speaker = RecordingOutput()
        speaker.state.withLock { ($0.ownVolume, $0.isOwnVolumeKnown) = (30, false) }
        let group = group([speaker])
        #expect(group.knownVolume == nil && group.knownVolume(of: speaker) == nil)
        group.changeVolume(by: -2)
        #expect(group.knownVolume == nil)
        renderer.setOutput(group)
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        renderer.enqueue(try #require(try sound.read()))
        #expect(eventually { speaker.state.withLock { $0.gain } == VolumeCurve.gain(volume: 28) })
        #expect(group.knownVolume == 28 && group.volume(of: speaker) == 28)
    }

    /// State shared by the speakers of a network.
    private final class Club: Sendable {}

    @Test func membersFindWhatTheyShareInTheirContext() throws {
        let members = [RecordingOutput(), RecordingOutput()]
        let newcomer = RecordingOutput()
        let group = group(members)
        renderer.setOutput(group)
        try renderer.start { _ in }
        defer { renderer.invalidate() }
        renderer.enqueue(try #require(try sound.read()))
        #expect(eventually { members.allSatisfy { $0.state.withLock { $0.context != nil } } })
        group.change(to: members + [newcomer]) { _ in }
        #expect(eventually { newcomer.state.withLock { $0.context != nil } })
        let scopes = (members + [newcomer]).compactMap { $0.state.withLock { $0.context?.group } }
        let clubs = scopes.map { $0.shared { Club() } }
        #expect(clubs.count == 3 && clubs.allSatisfy { $0 === clubs[0] }, "one club for all, who joined later included")
    }
}
