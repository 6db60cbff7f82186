import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Speeds, routes and invalid input, in virtual time: the renderer itself converts audio again that is not yet audible.
@Suite struct SpeedChangeTests {
    private func playing(_ seconds: Int64 = 600, isGrouped: Bool = false) throws -> VirtualStage {
        let stage = try VirtualStage(seconds: seconds, isGrouped: isGrouped)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(3))
        return stage
    }

    /// Returns the longest silence from an instant on, in seconds.
    private func longestHole(_ stage: VirtualStage, from start: HostInstant) -> Double {
        let instants = stage.sounds(from: start).map(\.at)
        let pairs = zip([start] + instants, instants)
        return pairs.map { ($1 - $0).inSeconds }.max() ?? .infinity
    }

    @Test(arguments: [0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 4.0], [false, true])
    func aChangeOfSpeedIsHeardInPlaceWithinSixTenthsOfASecond(_ speed: Double, isGrouped: Bool) throws {
        let stage = try playing(isGrouped: isGrouped)
        let changed = stage.clock.now
        let before = stage.synchronizer.currentTime()
        stage.synchronizer.setRate(Float(speed))
        stage.run(for: .seconds(4))
        #expect(stage.synchronizer.effectiveRate == speed)
        // Film time never stopped.
        let passed = (stage.synchronizer.currentTime() - before).seconds
        #expect(abs(passed - 4 * speed) < 0.2)
        #expect(longestHole(stage, from: changed) < 0.6)
        let settled = changed.advanced(by: .milliseconds(600))
        #expect(stage.sounds(from: settled).count > 9_000)
        #expect(stage.worstError(from: settled) < 0.02)
        // Back to the natural speed.
        let back = stage.clock.now
        stage.synchronizer.setRate(1)
        stage.run(for: .seconds(2))
        #expect(longestHole(stage, from: back) < 0.6)
        #expect(stage.worstError(from: back.advanced(by: .milliseconds(600))) < 0.001)
    }

    @Test func aPauseAndTheSameSpeedKeepTheStretchedAudio() throws {
        let stage = try playing()
        let output = stage.renderer.enqueueCount
        stage.synchronizer.setRate(0)
        stage.run(for: .seconds(1))
        stage.synchronizer.setRate(1)
        stage.run(for: .seconds(1))
        #expect(stage.renderer.settings.withLock { $0.speed } == 1)
        #expect(stage.renderer.enqueueCount - output < 10)
    }

    /// A timebase that follows a foreign clock differs by some ppm, which needs no time stretching.
    @Test func aSlewedTimebaseIsNoChangeOfSpeed() throws {
        let stage = try playing()
        let now = stage.clock.now
        stage.synchronizer.setRate(1.0001, time: stage.synchronizer.currentTime(), atHostTime: now)
        stage.run(for: .seconds(2))
        #expect(stage.renderer.settings.withLock { $0.speed } == 1)
        #expect(longestHole(stage, from: now) < 0.01)
    }

    @Test func speedsBeyondWhatCanBeStretchedAreHeldToIt() throws {
        let stage = try playing()
        stage.synchronizer.setRate(7)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 4)
        stage.synchronizer.setRate(0.01)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 0.25)
        stage.synchronizer.setRate(.nan)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 0)
    }

    @Test func anotherRouteContinuesAtThePlayheadWithoutNewBuffers() throws {
        let stage = try playing()
        let count = stage.renderer.enqueueCount
        let heardBefore = stage.synchronizer.currentTime().seconds
        let output = RecordingOutput(
            capacity: 1_000_000, desiredDepth: .milliseconds(300), sampleRate: VirtualStage.rate)
        stage.renderer.setOutput(output)
        stage.feeder.performDueWork()
        let samples = output.state.withLock { $0.samples }.compactMap { SyntheticFilm.frame(ofValue: $0) }
        let first = Double(try #require(samples.first)) / Double(VirtualStage.rate)
        #expect(abs(first - heardBefore) < 0.001)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $1 == $0 + 1 })
        #expect(Double(try #require(samples.last)) / Double(VirtualStage.rate) > heardBefore + 0.2)
        #expect(stage.renderer.enqueueCount == count)
    }

    /// A speaker accepts packets unchanged. At another speed they have to be decoded, and at the natural speed they
    /// pass through again.
    @Test func onASpeakerASpeedLeavesPassThroughAndComesBackToIt() throws {
        let output = RecordingOutput(
            capacity: 10_000_000, desiredDepth: .seconds(20), sampleRate: VirtualStage.rate,
            passThroughCodec: "synthetic")
        let stage = try VirtualStage(output: output)
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        stage.synchronizer.setRate(1, time: .zero, atHostTime: stage.clock.now)
        stage.clock.advance(by: .seconds(5))
        stage.runUntilIdle()
        let packets = output.state.withLock { $0.packets.count }
        #expect(packets > 50)
        #expect(output.state.withLock { $0.samples.isEmpty })
        let flushes = output.state.withLock { $0.flushes }
        stage.synchronizer.setRate(1.5)
        stage.runUntilIdle()
        #expect(output.state.withLock { $0.flushes } == flushes + 1)
        #expect(output.state.withLock { $0.packets.count } == packets)
        let start = try #require(output.state.withLock { $0.starts.first })
        #expect((3.5...5.2).contains(start.seconds))
        #expect(output.state.withLock { $0.samples.count } > 20_000)
        stage.synchronizer.setRate(1)
        stage.runUntilIdle()
        #expect(output.state.withLock { $0.packets.count } > packets)
    }

    /// Flushed audio stays discarded, also when the remaining audio is stretched again.
    @Test func aChangeOfSpeedBringsNothingBackThatWasFlushed() throws {
        let stage = try playing()
        stage.renderer.stopRequestingMediaData()
        let end = stage.synchronizer.currentTime().advanced(by: .milliseconds(800))
        let answer = Lock<PartialFlushResult?>(nil)
        stage.renderer.requestFlush(fromSourceTime: end) { result in answer.withLock { $0 = result } }
        stage.run(for: .milliseconds(50))
        #expect(answer.withLock { $0 } == .flushed(from: end))
        stage.synchronizer.setRate(1.5)
        stage.run(for: .seconds(4))
        let films = stage.sounds(from: HostInstant(nanoseconds: 0)).map(\.film)
        // Where audio ends abruptly the resampler rings for some frames, which decode to other numbers.
        #expect(films.count { $0 > end.seconds + 0.01 } < 8)
        #expect(films.contains { $0 > end.seconds - 0.1 && $0 <= end.seconds })
    }

    // MARK: Invalid input

    private func buffer(_ stage: VirtualStage, at time: MediaTime?, number: Int64) throws -> SampleBuffer {
        let source = stage.sound
        try source.seek(to: MediaTime(value: number, timescale: Int32(VirtualStage.rate)), mode: .exact)
        var buffer = try #require(try source.read())
        buffer.presentationTime = time
        return buffer
    }

    @Test func aBufferWithoutATimeFollowsOnAndTheFirstIsDueNow() throws {
        let stage = try VirtualStage()
        stage.synchronizer.setRate(0, time: second(30))
        stage.renderer.enqueue(try buffer(stage, at: nil, number: 0))
        let until = try #require(stage.renderer.progress.enqueuedUntil)
        #expect(until.seconds > 30)
        #expect(stage.renderer.store.level.firstEnqueued == second(30))
        stage.renderer.enqueue(try buffer(stage, at: nil, number: 4096))
        let length = MediaTime(value: 4096, timescale: Int32(VirtualStage.rate))
        #expect(stage.renderer.progress.enqueuedUntil == until + length)
    }

    @Test func timesThatGoBackwardsAreHeardOnceAndHarmNothing() throws {
        let stage = try VirtualStage()
        // Forward, repeated, far back, and forward.
        for number in [0, 4096, 4096, 0, 8192] as [Int64] {
            let time = MediaTime(value: number, timescale: Int32(VirtualStage.rate))
            stage.renderer.enqueue(try buffer(stage, at: time, number: number))
        }
        stage.renderer.finish()
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(6))
        let films = stage.sounds(from: HostInstant(nanoseconds: 0)).map(\.film)
        #expect(films.count > 10_000)
        #expect(zip(films, films.dropFirst()).allSatisfy { $1 > $0 - 0.001 })
        #expect(stage.worstError(from: HostInstant(nanoseconds: 0)) < 0.01)
    }

    @Test func timesAtTheEndsOfTheWorldTrapNothing() throws {
        let stage = try VirtualStage()
        for value in [Int64.min, Int64.max, 0, -1] {
            stage.renderer.enqueue(try buffer(stage, at: MediaTime(value: value, timescale: 1), number: 0))
        }
        stage.synchronizer.setRate(1, time: .zero, atHostTime: stage.clock.now)
        stage.run(for: .seconds(1))
        stage.synchronizer.setRate(1, time: MediaTime(value: .max, timescale: 1), atHostTime: stage.clock.now)
        stage.run(for: .seconds(1))
        stage.renderer.flush()
        stage.run(for: .seconds(1))
        #expect(stage.renderer.isReadyForMoreMediaData)
    }

    @Test func picturesAreNoSoundAndSoundIsNoPicture() throws {
        let stage = try VirtualStage()
        stage.renderer.enqueue(NumberedFrame.buffer(1, every: MediaTime(value: 1, timescale: 24)))
        #expect(stage.renderer.enqueueCount == 0)
        let layer = DisplayLayer(depth: 8)
        layer.enqueue(try #require(try stage.sound.read()))
        #expect(layer.count == 0)
    }

    @Test func afterTheEndOfARendererNothingIsTakenAndNothingBreaks() throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        renderer.invalidate()
        let film = SyntheticFilm(duration: second(10))
        renderer.enqueue(try #require(try film.source(for: film.summary.tracks[1]).read()))
        renderer.flush()
        renderer.finish()
        renderer.setSpeed(2)
        renderer.stopRequestingMediaData()
        renderer.invalidate()
        #expect(renderer.progress.enqueuedUntil == nil)
    }
}
