import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// What the outputs of one renderer receive, sample by sample, on every path from the enqueued audio to them.
@Suite struct FeedRulesTests {
    private let rate = Int64(GroupRig.rate)

    // MARK: Locks

    @Test(arguments: [1, 2]) func anOutputMayReadTheRenderersProgressInEachDataCall(outputs count: Int) {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig())
        let rig = count == 1 ? GroupRig(first) : GroupRig(first, second)
        let reads = Lock(0)
        let (renderer, group) = (rig.renderer, rig.group)
        for output in [first, second] {
            output.onCall = {
                _ = (renderer.progress, renderer.startWait, renderer.isReadyForMoreMediaData, group.latency)
                reads.withLock { $0 += 1 }
            }
        }
        rig.play()
        rig.run(for: .seconds(1))
        rig.flush(from: rig.playhead + rate / 2)
        rig.runUntilIdle()
        rig.seek(to: 40 * rate)
        rig.run(for: .seconds(1))
        rig.group.close()
        #expect(rig.results.withLock { $0.first?.isFlushed } == true)
        #expect(first.flushes >= 1 && first.partialFlushes == 1 && first.closings >= 1)
        #expect(reads.withLock { $0 } > 20)
        (first.onCall, second.onCall) = ({}, {})
    }

    // MARK: Bound

    /// - Parameter bytes: The size of a buffer of 0.1 s.
    @Test(arguments: [(1 << 20, 6400), (2 << 20, 5000)] as [(Int, Int64)], [1, 2])
    func readingStopsAt64MiBOrFiveSecondsAhead(_ size: (bytes: Int, until: Int64), outputs count: Int) {
        let outputs = (0..<count).map { _ in TapeOutput.rig(depth: .seconds(60)) }
        for output in outputs { output.isStalled = true }
        let rig = count == 1 ? GroupRig(outputs[0]) : GroupRig(outputs[0], outputs[1])
        // One batch in all buffers: each counts in full.
        let batch = PacketBatch(reservingBytes: size.bytes, packets: 1)
        [UInt8](repeating: 0, count: size.bytes).withUnsafeBytes {
            batch.append($0, as: .init(presentationTime: nil, duration: millisecond(100)))
        }
        var count: Int64 = 0
        for _ in 0..<4 {
            while rig.renderer.isReadyForMoreMediaData {
                rig.renderer.enqueue(
                    SampleBuffer(
                        payload: .encodedAudio(rig.format, batch), presentationTime: millisecond(count * 100),
                        duration: millisecond(100)))
                count += 1
            }
            rig.runUntilIdle()
        }
        #expect(rig.renderer.progress.enqueuedUntil == millisecond(size.until))
    }

    /// It is stalled from the first packet on, so that it holds as much as an output ever does.
    @Test func aMemberThatAcceptsNothingForAMinuteRetainsNothingAndContinuesTwoSecondsBehindThePlayhead() throws {
        let (quick, stalled) = (TapeOutput.rig("quick"), TapeOutput.rig("stalled"))
        stalled.isStalled = true
        let rig = GroupRig(quick, stalled)
        rig.play()
        rig.run(for: .seconds(60))
        #expect(quick.deviation(from: (1, 0..<rig.next), until: rig.playhead + rate * 9 / 10) == nil)
        let old = rig.batches.filter { $0.until < rig.playhead - rate * 5 / 2 }
        #expect(old.count > 500)
        // Those in the converter, and as many as are released at once.
        #expect(old.count { $0.batch.batch != nil } <= 8)
        stalled.isStalled = false
        rig.runUntilIdle()
        rig.run(for: .seconds(1))
        let place = rig.playhead
        let rest = try #require((rate..<place).first { stalled.tape[$0] != nil })
        #expect(abs(rest - (place - 3 * rate)) <= 2 * GroupRig.length, "two seconds behind the playhead of that time")
        #expect((rest..<place).allSatisfy { stalled.tape[$0] == FloatCodecs.value(1, $0) })
        #expect(stalled.doubled == 0 && stalled.flushes == 0)
        #expect(quick.deviation(from: (1, 0..<rig.next), until: place) == nil, "the other one does not notice")
    }

    @Test func anOnlyMemberThatAcceptsNothingForAMinuteContinuesTwoSecondsBehindThePlayhead() throws {
        let stalled = TapeOutput.rig()
        stalled.isStalled = true
        let rig = GroupRig(stalled)
        rig.play()
        rig.run(for: .seconds(60))
        stalled.isStalled = false
        rig.run(for: .seconds(1))
        let place = rig.playhead
        let rest = try #require((rate..<place).first { stalled.tape[$0] != nil })
        #expect(abs(rest - (place - 3 * rate)) <= 2 * GroupRig.length)
        #expect((rest..<place).allSatisfy { stalled.tape[$0] == FloatCodecs.value(1, $0) })
    }

    // MARK: Back-pressure

    @Test func audioIsRequestedForTheDeepestLiveOutput() {
        let (near, deep) = (TapeOutput.rig(depth: .seconds(1)), TapeOutput.rig(depth: .seconds(4)))
        let absent = TapeOutput.rig(depth: .seconds(9))
        absent.refusal = OutputError(.busy, "in use")
        let rig = GroupRig(near, deep, absent)
        rig.play()
        // Before the outputs are open, all of them count.
        rig.run(for: .seconds(6))
        #expect((4 * rate...4 * rate + GroupRig.length).contains(rig.next - rig.playhead))
        deep.ownLoss = OutputError(.lost, "reconnecting")
        rig.run(for: .seconds(5))
        #expect((rate...rate + GroupRig.length).contains(rig.next - rig.playhead), "while it is lost")
        deep.ownLoss = nil
        rig.run(for: .seconds(1))
        #expect((4 * rate...4 * rate + GroupRig.length).contains(rig.next - rig.playhead))
        deep.failure = OutputError(.busy, "another sender plays there")
        rig.run(for: .seconds(5))
        #expect((rate...rate + GroupRig.length).contains(rig.next - rig.playhead), "a lost one does not count")
        #expect(near.deviation(from: (1, 0..<rig.next), until: rig.playhead + rate * 9 / 10) == nil)
    }

    // MARK: Trims

    @Test func whatWasEnqueuedIsNeverChanged() throws {
        let (first, second) = (TapeOutput.rig(depth: .seconds(4)), TapeOutput.rig(depth: .seconds(4)))
        let rig = GroupRig(first)
        rig.play()
        rig.run(for: .seconds(2))
        let kept = rig.batches.compactMap { item in item.batch.batch.map { (item.until, $0) } }
        rig.change(to: first, second)
        rig.run(for: .seconds(1))
        let cut = rig.playhead + rate + 37
        rig.flush(from: cut)
        rig.runUntilIdle()
        (rig.sound, rig.next) = (2, cut)
        rig.run(for: .seconds(1))
        #expect(rig.changedAt != nil && rig.results.withLock { $0 } == [.flushed(from: rig.time(cut))])
        #expect(first.deviation(from: (1, 0..<cut), (2, cut..<rig.next), until: rig.playhead) == nil)
        for (until, batch) in kept {
            #expect(batch.packets.count == Int(GroupRig.length / GroupRig.packet))
            let first = try #require(batch.packets.first)
            #expect(first.presentationTime == rig.time(until - GroupRig.length))
            #expect(
                FloatCodecs.samples(of: first, in: batch)
                    == (0..<GroupRig.packet).map { FloatCodecs.value(1, until - GroupRig.length + $0) })
        }
    }

    // MARK: Partial flush

    @Test func allOutputsCutAtTheSameFrame() {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig(depth: .seconds(3)))
        let rig = GroupRig(first, second)
        rig.play()
        rig.run(for: .seconds(2))
        // Within what one output has accepted, and behind all that the other one has.
        for (sound, ahead) in [(2, rate * 2 / 5 + 13), (3, rate * 2 + 57)] {
            let cut = rig.playhead + ahead
            rig.flush(from: cut)
            rig.runUntilIdle()
            #expect(rig.results.withLock { $0.last } == .flushed(from: rig.time(cut)))
            #expect(rig.renderer.progress.enqueuedUntil == rig.time(cut))
            let before = rig.sound
            (rig.sound, rig.next) = (sound, cut)
            rig.run(for: .seconds(1))
            for output in [first, second] {
                #expect(output.flushes == 0 && output.blanks == 0 && output.doubled == 0)
                #expect(
                    (cut - 200..<cut + 200).allSatisfy { frame in
                        guard let value = output.tape[frame] else { return true }
                        return value == FloatCodecs.value(frame < cut ? before : sound, frame)
                    })
            }
            rig.run(for: .seconds(2))
        }
        #expect(rig.results.withLock { $0.count } == 2)
    }

    /// During playback the group's lead is that of its slowest member, so that the vote is not split then.
    @Test func anOutputThatRefusesIsFlushedWholeWhenAnotherHasFlushed() {
        let (willing, unable) = (TapeOutput.rig(), TapeOutput.rig())
        unable.recallLead = nil
        let rig = GroupRig(willing, unable)
        rig.fill()
        rig.runUntilIdle()
        rig.flush(from: rate / 2)
        rig.runUntilIdle()
        #expect(rig.results.withLock { $0 } == [.flushed(from: rig.time(rate / 2))])
        #expect(willing.partialFlushes == 1 && willing.flushes == 0 && unable.flushes == 1)
        (rig.sound, rig.next) = (2, rate / 2)
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now)
        rig.run(for: .seconds(2))
        #expect(willing.deviation(from: (1, 0..<rate / 2), (2, rate / 2..<rig.next), until: rig.playhead) == nil)
        #expect(unable.doubled == 0)
        #expect((rate / 2..<rig.playhead).allSatisfy { unable.tape[$0] == FloatCodecs.value(2, $0) })
    }

    @Test func aFlushThatAllOutputsRefuseChangesNothing() {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig())
        for output in [first, second] { output.recallLead = nil }
        let rig = GroupRig(first, second)
        rig.fill()
        rig.runUntilIdle()
        rig.flush(from: rate / 2)
        rig.runUntilIdle()
        #expect(rig.results.withLock { $0.count } == 1 && rig.results.withLock { $0.first?.isFlushed } == false)
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now)
        rig.run(for: .seconds(2))
        for output in [first, second] { #expect(output.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil) }
    }

    enum Interruption: CaseIterable { case seek, speed, route }

    @Test(arguments: Interruption.allCases) func anUndecidedFlushThatIsOvertakenHasOneResult(_ by: Interruption) {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig())
        let rig = GroupRig(first, second)
        rig.play()
        rig.run(for: .seconds(2))
        rig.flush(from: rig.playhead + rate / 2)
        // The members' feeders have not decided.
        rig.runRenderer()
        #expect(rig.results.withLock { $0.isEmpty })
        let moment = rig.playhead
        switch by {
        case .seek: rig.seek(to: 30 * rate)
        case .speed: rig.synchronizer.setRate(1.5)
        case .route: rig.renderer.setOutput(OutputGroup(members: [first], codecs: rig.codecs, work: .byHand()))
        }
        rig.runUntilIdle()
        #expect(rig.results.withLock { $0 } == [.overtaken])
        rig.run(for: .seconds(2))
        #expect(rig.results.withLock { $0.count } == 1)
        let start =
            switch by {
            case .seek: 30 * rate
            case .speed: rig.synchronizer.timebase.snapshot.upcoming.mediaAnchor.rescaled(to: GroupRig.rate)
            case .route: moment
            }
        #expect(first.deviation(from: (1, start..<rig.next), until: rig.playhead) == nil)
        if by != .route { #expect(second.deviation(from: (1, start..<rig.next), until: rig.playhead) == nil) }
    }

    // MARK: Sharing

    @Test func outputsWithDifferentDelaysShareAConversion() {
        let (first, second) = (PacketTape(), PacketTape())
        let rig = GroupRig(first, second)
        rig.format = FloatCodecs.format(sampleRate: 48_000)
        rig.group.setDelay(.milliseconds(-150), of: second)
        for start in stride(from: Int64(0), to: 48_000, by: 4800) {
            rig.renderer.enqueue(FloatCodecs.buffer(1, frames: start..<start + 4800, format: rig.format))
        }
        rig.renderer.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.sent.withLock { $0.map(\.count) } == [10])
        for output in [first, second] {
            #expect(output.maxError == 0 && output.longestHole == 0)
            #expect(output.audio(in: 0..<48_000).enumerated().allSatisfy { $1?.frame == Int64($0) })
        }
    }

    // MARK: Joining

    @Test func aJoiningOutputDecodesARunInAndStartsAtAPacketBoundary() throws {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig(depth: .seconds(2)))
        let rig = GroupRig(first)
        rig.play()
        rig.run(for: .milliseconds(3030))
        rig.change(to: first, second)
        rig.run(for: .milliseconds(40))
        guard case .changing? = rig.group.changeProgress else {
            Issue.record("the change is not decided: \(String(describing: rig.group.changeProgress))")
            return
        }
        let timeline = try #require(second.context?.timebase.snapshot)
        #expect(timeline.segment(at: rig.clock.now).rate == 0, "it is silent until then")
        rig.run(for: .seconds(2))
        let moment = try #require(rig.changedAt)
        #expect(moment % GroupRig.packet == 0)
        #expect(second.deviation(from: (1, moment..<rig.next), until: rig.playhead) == nil)
        #expect(first.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil)
        let sent = try #require(rig.codecs.sent.withLock { $0.last })
        let runIn = sent.prefix { $0.flags.contains(.decodeOnly) }
        #expect(!runIn.isEmpty && sent.dropFirst(runIn.count).allSatisfy { !$0.flags.contains(.decodeOnly) })
        #expect(sent[0].flags.contains(.discontinuity))
        #expect(sent.dropFirst().allSatisfy { !$0.flags.contains(.discontinuity) })
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.end == $1.start }, "contiguous")
        #expect(runIn.last?.end == rig.time(moment))
        let begin = try #require(sent[0].start)
        let length = (rig.time(moment) - begin).duration
        #expect(length >= .milliseconds(200) && length < .milliseconds(300), "whole buffers: \(length)")
    }

    // MARK: Speed

    @Test func allOutputsRestartAtTheInstantOfAChangeOfSpeed() throws {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig(depth: .seconds(3)))
        let rig = GroupRig(first, second)
        rig.play()
        rig.run(for: .seconds(2))
        let count = rig.renderer.enqueueCount
        rig.synchronizer.setRate(1.5)
        let moment = rig.synchronizer.timebase.snapshot.upcoming.mediaAnchor.rescaled(to: GroupRig.rate)
        rig.runUntilIdle()
        #expect(rig.renderer.enqueueCount == count, "nothing is read again")
        rig.run(for: .seconds(1))
        for output in [first, second] {
            #expect(output.takes.count == 1 && output.tape.first == first.tape.first)
            #expect(output.deviation(from: (1, moment..<rig.next), until: rig.playhead) == nil)
        }
    }

    @Test func anOutputWithADelayLosesNothingBeforeAChangeOfSpeed() {
        let (first, later) = (TapeOutput.rig(), TapeOutput.rig("later"))
        let rig = GroupRig(first, later)
        rig.group.setDelay(.milliseconds(300), of: later)
        rig.play()
        rig.run(for: .seconds(2))
        rig.synchronizer.setRate(1.5)
        let moment = rig.synchronizer.timebase.snapshot.upcoming.mediaAnchor.rescaled(to: GroupRig.rate)
        rig.run(for: .seconds(1))
        #expect(first.deviation(from: (1, moment..<rig.next), until: rig.playhead) == nil)
        // What it plays while the other one begins at the new speed.
        let due = moment - rate * 3 / 10
        #expect(later.deviation(from: (1, due..<rig.next), until: rig.playhead - rate / 2) == nil)
    }

    @Test func aLostMemberReturnsAtThePlayheadWithTheSpeedThatWasSetMeanwhile() throws {
        let (stays, lost) = (TapeOutput.rig("stays"), TapeOutput.rig("lost"))
        let rig = GroupRig(stays, lost)
        rig.play()
        rig.run(for: .seconds(2))
        rig.holdOpenings()
        lost.failure = OutputError(.lost, "gone")
        rig.run(for: .seconds(1))
        #expect(lost.closings == 1 && lost.openings == 1)
        rig.synchronizer.setRate(2)
        let moment = rig.synchronizer.timebase.snapshot.upcoming.mediaAnchor.rescaled(to: GroupRig.rate)
        rig.run(for: .seconds(3))
        #expect(stays.deviation(from: (1, moment..<rig.next), until: rig.playhead) == nil, "the other one plays on")
        lost.failure = nil
        rig.releaseOpenings()
        let returned = rig.playhead
        rig.runUntilIdle()
        rig.run(for: .seconds(1))
        #expect(lost.openings == 2)
        #expect(lost.deviation(from: (1, returned..<rig.next), until: rig.playhead) == nil)
        #expect(rig.group.feeds.map { $0.state.withLock { $0.speed } } == [2, 2])
    }

    // MARK: Lost outputs

    @Test func anOutputThatRecoversByItselfKeepsItsPlace() {
        let (stays, away) = (TapeOutput.rig("stays"), TapeOutput.rig("away"))
        let rig = GroupRig(stays, away)
        rig.play()
        rig.run(for: .seconds(2))
        away.ownLoss = OutputError(.lost, "reconnecting")
        away.isStalled = true
        rig.run(for: .seconds(1))
        #expect(rig.group.loss == nil && rig.group.problems.map(\.name) == ["away"])
        away.ownLoss = nil
        away.isStalled = false
        rig.run(for: .seconds(1))
        #expect(away.openings == 1 && away.closings == 0 && away.flushes == 0)
        for output in [stays, away] { #expect(output.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil) }
    }

    @Test func anOutputThatAcceptsNothingIsAProblemUntilItAccepts() {
        let (plays, starves) = (TapeOutput.rig("plays"), TapeOutput.rig("starves"))
        let rig = GroupRig(plays, starves)
        rig.play()
        rig.run(for: .seconds(2))
        starves.isStalled = true
        // It still has audio for a second.
        rig.run(for: .seconds(2))
        #expect(rig.group.problems.isEmpty)
        rig.run(for: .seconds(3))
        #expect(rig.group.problems.map(\.kind) == [.starved] && rig.group.problems.map(\.name) == ["starves"])
        #expect(plays.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil, "the other one plays on")
        // A stopped timeline needs no audio.
        rig.synchronizer.setRate(0, time: rig.time(rig.playhead), atHostTime: rig.clock.now)
        #expect(rig.group.problems.isEmpty)
        rig.synchronizer.setRate(1, time: rig.time(rig.playhead), atHostTime: rig.clock.now)
        starves.isStalled = false
        rig.run(for: .seconds(2))
        #expect(rig.group.problems.isEmpty)
    }

    @Test(arguments: [1, 2]) func aFailedOutputIsOpenedAgainAndReturnsAtThePlayhead(outputs count: Int) {
        let (failed, other) = (TapeOutput.rig("failed"), TapeOutput.rig("other"))
        let rig = count == 1 ? GroupRig(failed) : GroupRig(failed, other)
        rig.play()
        rig.run(for: .seconds(2))
        rig.holdOpenings()
        failed.failure = OutputError(.failed, "broken")
        rig.run(for: .seconds(3))
        #expect(failed.closings == 1)
        failed.failure = nil
        rig.releaseOpenings()
        let returned = rig.playhead
        rig.runUntilIdle()
        rig.run(for: .seconds(1))
        #expect(failed.openings == 2)
        #expect(failed.deviation(from: (1, returned..<rig.next), until: rig.playhead) == nil)
        if count == 2 { #expect(other.deviation(from: (1, 0..<rig.next), until: rig.playhead) == nil) }
    }

    // MARK: Several renderers

    /// An added sound of a player: another renderer with its outputs on the same synchronizer.
    @Test func anEditOfOneSoundCutsItsOutputsAndLeavesTheOtherSoundAlone() {
        let (first, second, third) = (TapeOutput.rig("a"), TapeOutput.rig("b"), TapeOutput.rig("c"))
        let main = GroupRig(first, second)
        let added = GroupRig(third, beside: main)
        added.sound = 5
        added.fill()
        added.runUntilIdle()
        main.play()
        func run(_ duration: Duration) {
            let end = main.clock.now.advanced(by: duration)
            while main.clock.now < end {
                added.fill()
                added.runUntilIdle()
                main.run(for: .milliseconds(20))
            }
        }
        run(.seconds(2))
        // One sound only.
        let cut = main.playhead + rate / 2 + 11
        added.flush(from: cut)
        run(.milliseconds(20))
        (added.sound, added.next) = (6, cut)
        run(.seconds(2))
        #expect(added.results.withLock { $0 } == [.flushed(from: added.time(cut))])
        for output in [first, second] {
            #expect(output.deviation(from: (1, 0..<main.next), until: main.playhead) == nil)
        }
        #expect(third.deviation(from: (5, 0..<cut), (6, cut..<added.next), until: main.playhead) == nil)
        // Both, at one frame.
        let common = main.playhead + rate / 2 + 7
        main.flush(from: common)
        added.flush(from: common)
        added.runUntilIdle()
        main.runUntilIdle()
        (main.sound, main.next, added.sound, added.next) = (2, common, 7, common)
        run(.seconds(2))
        for output in [first, second] {
            #expect(output.deviation(from: (1, 0..<common), (2, common..<main.next), until: main.playhead) == nil)
        }
        #expect(
            third.deviation(from: (5, 0..<cut), (6, cut..<common), (7, common..<added.next), until: main.playhead)
                == nil)
        // A seek of both.
        for rig in [main, added] { rig.renderer.flush() }
        (main.next, added.next) = (20 * rate, 20 * rate)
        main.synchronizer.setRate(1, time: main.time(20 * rate), atHostTime: main.clock.now)
        run(.seconds(2))
        for output in [first, second] {
            #expect(output.deviation(from: (2, 20 * rate..<main.next), until: main.playhead) == nil)
        }
        #expect(third.deviation(from: (7, 20 * rate..<added.next), until: main.playhead) == nil)
    }

    // MARK: Loudness

    /// A seek inside an item keeps the measured loudness, and with it the gain.
    @Test(arguments: [1, 2]) func theGainOfNormalizationOutlastsAFlush(outputs count: Int) throws {
        let (first, second) = (TapeOutput.rig(), TapeOutput.rig())
        let rig = count == 1 ? GroupRig(first) : GroupRig(first, second)
        rig.renderer.processing.loudness = -23
        // A rising ramp in each packet: quiet, and the same in every packet.
        func buffer(at start: Int64) -> SampleBuffer {
            let batch = PacketBatch(reservingBytes: 6400, packets: 8)
            for packet in 0..<8 {
                let samples = (0..<100).flatMap { index -> [Float] in
                    let value = 0.01 * (index / 5 % 2 == 0 ? Float(1) : -1)
                    return [value, value]
                }
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(presentationTime: rig.time(start + Int64(packet) * 100), duration: rig.time(100)))
                }
            }
            return SampleBuffer(
                payload: .encodedAudio(rig.format, batch), presentationTime: rig.time(start),
                duration: rig.time(800), flags: .sync)
        }
        func run(from start: Int64, for steps: Int) -> Int64 {
            var next = start
            for _ in 0..<steps {
                while rig.renderer.isReadyForMoreMediaData {
                    rig.renderer.enqueue(buffer(at: next))
                    next += 800
                }
                rig.runUntilIdle()
                rig.clock.advance(by: .milliseconds(20))
            }
            return next
        }
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now)
        let end = run(from: 0, for: 400) - 2 * rate
        /// The level over 10 ms, where the source has 0.01 throughout.
        func level(_ output: TapeOutput, _ frame: Int64) -> Float {
            (frame..<frame + 80).map { abs(output.tape[$0] ?? 0) }.max() ?? 0
        }
        let outputs = count == 1 ? [first] : [first, second]
        let before = outputs.map { level($0, end) }
        #expect(abs(level(first, 100) - 0.01) < 1e-4, "nothing is measured yet")
        #expect(before.allSatisfy { $0 > 0.012 }, "\(before)")
        rig.renderer.flush()
        rig.synchronizer.setRate(1, time: rig.time(60 * rate), atHostTime: rig.clock.now)
        _ = run(from: 60 * rate, for: 50)
        for (output, old) in zip(outputs, before) {
            let new = level(output, 60 * rate + 100)
            #expect(new >= old && new < old * 1.3, "\(old), \(new)")
        }
        if count == 2 { #expect(level(first, 60 * rate + 500) == level(second, 60 * rate + 500)) }
    }
}
