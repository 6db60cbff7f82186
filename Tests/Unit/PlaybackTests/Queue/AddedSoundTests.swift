import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Additional audio tracks with separate outputs: each room in its language.
@Suite struct AddedSoundTests {
    /// German on the first card; Russian, sounds 5 to 7, is selected for the kitchen.
    private func queue(_ addresses: [String], adding: Bool = true) -> VirtualQueue {
        let queue = VirtualQueue()
        if adding { queue.addSound(.language("ru")) }
        queue.core.apply(.append(addresses.map { QueueItem($0) }))
        queue.core.play()
        return queue
    }

    /// Returns the largest distance of a kitchen's frame from its counterpart on the first card, in milliseconds.
    private func parting(_ queue: VirtualQueue) throws -> Double {
        var places: [Int64: HostInstant] = [:]
        for (sound, frame, at) in queue.heard { places[Int64(sound) << 20 | frame] = at }
        let apart = queue.heardInKitchen.compactMap { sound, frame, at in
            places[Int64(sound - 4) << 20 | frame].map { abs((at - $0).inMilliseconds) }
        }
        return try #require(apart.max())
    }

    @Test func eachTrackIsHeardOnItsOutputAndBothStartTogether() throws {
        let queue = queue(["1+5/40000"])
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<40000"])
        #expect(queue.stretchesInKitchen.map(\.description) == ["5:0..<40000"])
        #expect(try parting(queue) < 0.2)
    }

    @Test func aTrackJoinsARunningFilmInStepAndLeavesWithoutAGapForTheFirst() throws {
        let queue = queue(["1+5/80000"], adding: false)
        queue.run(for: .seconds(3))
        queue.addSound(.number(2))
        queue.run(for: .seconds(3))
        #expect(queue.heardInKitchen.count > 16000)
        #expect(Set(queue.heardInKitchen.map(\.sound)) == [5])
        #expect(try parting(queue) < 0.2)
        queue.core.tracks.added.remove(1)
        queue.run(for: .milliseconds(500))
        let count = queue.heardInKitchen.count
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.heardInKitchen.count == count)
        #expect(queue.stretches.map(\.description) == ["1:0..<80000"])
        #expect(queue.holes == 0)
    }

    /// A group does not retry a speaker that another sender has.
    @Test func playTakesTheOutputOfAFurtherSoundBackAsWell() {
        let queue = queue(["1+5/320000"])
        queue.run(for: .seconds(2))
        let busy = OutputError(.busy, "Another sender is playing.")
        (queue.kitchen.failure, queue.kitchen.refusal) = (busy, busy)
        queue.run(for: .seconds(2))
        let count = queue.heardInKitchen.count
        queue.kitchen.refusal = nil
        queue.run(for: .seconds(2))
        #expect(queue.heardInKitchen.count == count)
        queue.core.audioControl.reopenOutputs()
        queue.run(for: .seconds(2))
        #expect(queue.heardInKitchen.count > count + 8000)
        #expect(queue.state.phase == .playing)
    }

    @Test func bothJumpTogether() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(2))
        queue.core.seek(to: MediaTime(value: 6, timescale: 1), exact: true)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.last?.description == "1:48000..<80000")
        #expect(queue.stretchesInKitchen.last?.description == "5:48000..<80000")
        #expect(try parting(queue) < 0.2)
    }

    @Test func bothFollowTheListAcrossJointsAndAFilmWithoutTheTrackPlaysItsOwn() throws {
        let queue = queue(["1+5/16000", "2/16000", "3+7/16000"])
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<16000", "2:0..<16000", "3:0..<16000"])
        #expect(queue.stretchesInKitchen.map(\.description) == ["5:0..<16000", "2:0..<16000", "7:0..<16000"])
        #expect(queue.holes == 0)
        #expect(queue.newStarts == 0)
    }

    /// - Parameter asked: milliseconds after the start; the later, the more of the removed audio was already read.
    @Test(arguments: [1000, 1500, 1900])
    func whatIsTakenOffTheListIsNotHeardFromAFurtherSoundEither(asked: Int) throws {
        let queue = queue(["1+5/16000", "2+6/16000", "3+7/16000"])
        queue.run(for: .milliseconds(asked))
        let second = queue.state.items[1]
        #expect(queue.edit(.remove(second.id)) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<16000", "3:0..<16000"])
        #expect(Set(queue.heardInKitchen.map(\.sound)) == [5, 7])
        #expect(try parting(queue) < 0.2)
    }

    @Test func bothChangeTheirSpeedTogether() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(2))
        queue.core.setSpeed(1.5)
        queue.run(for: .seconds(2))
        let (first, second) = (queue.core.renderer, try #require(queue.core.tracks.added.all.first).renderer)
        #expect(first?.settings.withLock { $0.speed } == 1.5)
        #expect(second.settings.withLock { $0.speed } == 1.5)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
    }

    @Test func eachHasItsOwnVolumeAndMuteIsForAll() throws {
        let queue = queue(["1+5/80000"])
        queue.core.audioControl.setVolume(80)
        let second = try #require(queue.core.tracks.added.all.first).renderer
        #expect(second.volume == VolumeCurve.gain(volume: 80))
        queue.core.audioControl.setVolume(40, ofSound: 1)
        #expect(second.volume == VolumeCurve.gain(volume: 40))
        #expect(queue.core.renderer?.volume == VolumeCurve.gain(volume: 80))
        queue.core.audioControl.setMuted(true)
        #expect(second.volume == 0 && queue.core.renderer?.volume == 0)
    }

    @Test func anUnavailableOutputIsReportedAndTheFilmPlaysWithoutIt() throws {
        let queue = VirtualQueue()
        queue.kitchen.refusal = OutputError(.unavailable, "The kitchen is dark.")
        queue.addSound(.language("rus"))
        queue.core.apply(.append([QueueItem("1+5/40000")]))
        queue.core.play()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<40000"])
        let messages = queue.playerEvents.withLock { playerEvents in
            playerEvents.compactMap { if case .message(let text) = $0 { text } else { nil } }
        }
        #expect(messages == ["The kitchen is dark. The other outputs continue."])
    }

    @Test func anOutputThatBecomesAvailableJoinsInStep() throws {
        let queue = VirtualQueue()
        queue.kitchen.refusal = OutputError(.unavailable, "The kitchen is dark.")
        queue.addSound(.language("rus"))
        queue.core.apply(.append([QueueItem("1+5/400000")]))
        queue.core.play()
        queue.run(for: .seconds(20))
        queue.kitchen.refusal = nil
        queue.run(for: .seconds(20))
        #expect(queue.heardInKitchen.count > 5 * VirtualQueue.rate)
        #expect(try parting(queue) < 0.2)
        #expect(queue.stretches.map(\.sound) == [1] && queue.holes == 0)
        let messages = queue.playerEvents.withLock { $0.count { if case .message = $0 { true } else { false } } }
        #expect(messages == 1)
    }

    @Test func anOutputThatDoesNotGetReadyHoldsAStartForEightSecondsAndNoLonger() throws {
        let queue = VirtualQueue()
        queue.kitchen.isAway = true
        queue.addSound(.language("rus"))
        queue.core.apply(.append([QueueItem("1+5/40000")]))
        queue.core.play()
        queue.run(for: .seconds(7))
        #expect(queue.core.state.phase == .buffering)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<40000"])
    }

    /// - Parameter asked: milliseconds after the start; the later, the more of the removed audio was already read.
    @Test(arguments: [1000, 1500, 1850])
    func anEditOfTheListIsNotHeardAsAGapOnAFurtherOutput(asked: Int) throws {
        let queue = queue(["1+5/16000", "2+6/16000", "3+7/16000"])
        queue.run(for: .milliseconds(asked))
        #expect(queue.edit(.remove(queue.state.items[1].id)) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.map(\.description) == ["5:0..<16000", "7:0..<16000"])
        #expect(try parting(queue) < 0.2)
    }

    @Test func theCurrentItemIsCutOnBothOutputsAtOneInstant() throws {
        let queue = queue(["1+5/40000", "3+7/16000"])
        queue.run(for: .milliseconds(2500))
        _ = queue.edit(.remove(queue.state.items[0].id))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let stretches = queue.stretchesInKitchen
        #expect(stretches.map(\.sound) == [5, 7])
        #expect(stretches.first?.frames.upperBound == queue.stretches.first?.frames.upperBound)
        #expect(try parting(queue) < 0.2)
    }

    @Test func aTrackChangesInAPlayingFilmWithoutAGapOnTheOtherOutput() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(3))
        #expect(queue.state.addedTracks.values.map(\.language) == ["rus"])
        queue.core.tracks.added.setTrack(.language("de"), of: 1, target: queue.core.seeks.trackTarget)
        queue.run(for: .seconds(2))
        #expect(queue.state.addedTracks.values.map(\.language) == ["deu"])
        #expect(queue.state.phase == .playing)
        #expect(queue.heardInKitchen.last?.sound == 1)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<80000"])
        #expect(queue.holes == 0)
        // The same track on both outputs is in step.
        let main = Dictionary(queue.heard.map { ($0.frame, $0.at) }) { first, _ in first }
        let apart = queue.heardInKitchen.filter { $0.sound == 1 }.compactMap { heard in
            main[heard.frame].map { abs((heard.at - $0).inMilliseconds) }
        }
        #expect(try #require(apart.max()) < 0.2)
        #expect(apart.count > 32000)
    }

    /// What the renderer holds of the old track until its thread runs is no reserve.
    @Test func theTimelineIsNotHeldForASoundWhoseThreadIsLateToChangeItsTrack() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(3))
        let sound = try #require(queue.core.tracks.added.all.first)
        #expect(sound.mayHold(at: queue.synchronizer.currentTime()))
        queue.blocked = sound.pipeline
        queue.core.tracks.added.setTrack(.language("de"), of: 1, target: queue.core.seeks.trackTarget)
        queue.run(for: .milliseconds(200))
        #expect(try #require(sound.renderer.progress.enqueuedUntil) > queue.synchronizer.currentTime())
        #expect(!sound.mayHold(at: queue.synchronizer.currentTime()))
        queue.blocked = nil
        queue.run(for: .seconds(2))
        #expect(sound.mayHold(at: queue.synchronizer.currentTime()))
        #expect(queue.heardInKitchen.last?.sound == 1 && queue.newStarts == 0)
    }

    @Test func theTimelineIsNotHeldForTheMainSoundEitherWhenItsThreadIsLateToChangeItsTrack() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(3))
        var isAwaited: Bool { queue.core.tracks.mayHoldForAudio(at: queue.synchronizer.currentTime()) }
        #expect(isAwaited)
        queue.blocked = queue.core.tracks.audio
        queue.core.selectAudioTrack(2)
        queue.run(for: .milliseconds(200))
        #expect(!isAwaited)
        queue.blocked = nil
        queue.run(for: .seconds(2))
        #expect(isAwaited)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.map(\.description) == ["5:0..<80000"])
    }

    @Test func aStartWaitsForASoundWhoseTrackIsChangedMeanwhile() throws {
        let queue = queue(["1+5/80000"])
        queue.run(for: .seconds(2))
        let pipeline = try #require(queue.core.tracks.added.all.first?.pipeline)
        let serial = pipeline.status.seekSerial
        #expect(queue.core.tracks.added.haveReached(serial))
        queue.blocked = pipeline
        queue.core.tracks.added.setTrack(.language("de"), of: 1, target: queue.core.seeks.trackTarget)
        #expect(!queue.core.tracks.added.haveReached(serial))
        queue.blocked = nil
        queue.run(for: .milliseconds(100))
        #expect(queue.core.tracks.added.haveReached(serial))
    }

    @Test func aRemovedItemDoesNotSilenceASoundWhoseThreadIsLateToChangeItsTrack() throws {
        let queue = queue(["1+5/16000", "2+6/16000"])
        queue.run(for: .milliseconds(1850))
        let sound = try #require(queue.core.tracks.added.all.first)
        let second = try #require(queue.core.list.entries.last)
        #expect(
            second.serial != queue.core.current?.serial && queue.core.shared.hasEntered(second.serial, sound.cursor))
        queue.blocked = sound.pipeline
        queue.core.tracks.added.setTrack(.language("de"), of: 1, target: queue.core.seeks.trackTarget)
        _ = queue.edit(.remove(queue.state.items[1].id))
        queue.run(for: .milliseconds(20))
        queue.blocked = nil
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.last?.sound == 1)
        #expect(queue.stretchesInKitchen.last?.frames.upperBound == 16000, "\(queue.stretchesInKitchen)")
    }

    @Test func theMainTrackChangesWithoutAGapOnAFurtherOutput() throws {
        let queue = queue(["1+5/80000"])
        queue.core.tracks.added.setTrack(.number(1), of: 1, target: queue.core.seeks.trackTarget)
        queue.run(for: .seconds(3))
        queue.core.selectAudioTrack(2)
        #expect(queue.state.audioTrack?.language == "rus")
        queue.run(for: .seconds(2))
        #expect(queue.heard.last?.sound == 5)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.map(\.description) == ["1:0..<80000"])
        let main = Dictionary(queue.heard.filter { $0.sound == 5 }.map { ($0.frame, $0.at) }) { first, _ in first }
        let apart = queue.heardInKitchen.compactMap { heard in
            main[heard.frame].map { abs((heard.at - $0).inMilliseconds) }
        }
        #expect(try #require(apart.max()) < 0.2)
    }

    @Test func bothPlayOneTrackOfAnInputThatCannotBeOpenedTwice() throws {
        let queue = VirtualQueue()
        queue.addSound(.number(1))
        queue.core.apply(.append([QueueItem("pipe:1+5/40000")]))
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<40000"])
        #expect(queue.stretchesInKitchen.map(\.description) == ["1:0..<40000"])
    }

    @Test func aSelectionThatReadsTheSameTrackInterruptsNothing() {
        let queue = queue(["1+5/40000"])
        queue.run(for: .seconds(2))
        queue.core.tracks.added.setTrack(.number(2), of: 1, target: queue.core.seeks.trackTarget)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.map(\.description) == ["5:0..<40000"])
    }

    @Test func aStartDoesNotWaitAgainForAnOutputThatWasNotReadyForTheLastOne() throws {
        let queue = VirtualQueue()
        queue.kitchen.isAway = true
        queue.addSound(.language("rus"))
        queue.core.apply(.append([QueueItem("1+5/160000")]))
        queue.core.play()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(9)))
        queue.run(for: .seconds(1))
        queue.core.seek(to: MediaTime(value: 4, timescale: 1), exact: true)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(1)))
        queue.kitchen.isAway = false
        queue.run(for: .seconds(3))
        // It is ready again: the next start is a common one.
        queue.core.seek(to: MediaTime(value: 12, timescale: 1), exact: true)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretchesInKitchen.last?.description == "5:96000..<160000")
        #expect(try parting(queue) < 0.2)
    }

    /// A thread that is blocked until one boundary has passed, and until two have. Its track of the first item is
    /// longer than the item.
    @Test(arguments: [2.5, 4.5])
    func aSoundThatIsLateAtBoundariesContinuesWithTheCurrentItem(resumed: Double) throws {
        let queue = queue(["1+5/16000+48000", "2+6/16000", "3+7/16000", "4/8000"])
        func run(to time: Double) {
            while queue.synchronizer.currentTime().seconds < time { queue.run(for: .milliseconds(20)) }
        }
        run(to: 0.5)
        queue.blocked = try #require(queue.core.tracks.added.all.first?.pipeline)
        run(to: resumed)
        let current = try #require(queue.core.current)
        #expect(try #require(queue.core.shared.currentSerial(of: .audio(1))) < current.serial)
        queue.blocked = nil
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["1:0..<16000", "2:0..<16000", "3:0..<16000", "4:0..<8000"])
        #expect(queue.holes == 0 && queue.newStarts == 0)
        let joined = try #require(queue.stretchesInKitchen.first { $0.sound == (resumed < 4 ? 6 : 7) })
        #expect(joined.frames.lowerBound < 8000 && joined.frames.upperBound == 16000)
        #expect(queue.stretchesInKitchen.last?.description == "4:0..<8000")
        #expect(queue.heardInKitchen.allSatisfy { $0.frame < 16000 }, "the item ends with the main track")
        #expect(try parting(queue) < 0.2)
    }

    @Test func anOutputThatPlaysTheFirstSoundIsRefused() {
        let queue = queue(["1+5/40000"], adding: false)
        queue.core.addAudio(.number(2), to: queue.card, number: 1)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.core.tracks.added.all.isEmpty)
        #expect(queue.stretches.map(\.description) == ["1:0..<40000"])
    }
}
