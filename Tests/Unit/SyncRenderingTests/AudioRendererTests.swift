import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// The renderer without its thread: the test runs the feeder instead.
@Suite struct AudioRendererTests {
    let clock = ManualClock()
    let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    var feeder: AudioFeeder

    init() {
        synchronizer = RenderSynchronizer(clock: clock)
        renderer = AudioRenderer(codecs: SyntheticCodecs(), events: EventLog(clock: clock))
        synchronizer.addRenderer(renderer)
        feeder = AudioFeeder(renderer: renderer)
    }

    var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    /// Enqueues while the renderer is ready; returns the number of buffers.
    func fill(from source: any SampleSource) throws -> Int {
        var count = 0
        while renderer.isReadyForMoreMediaData, let buffer = try source.read() {
            renderer.enqueue(buffer)
            count += 1
        }
        return count
    }

    @Test mutating func everySampleReachesTheOutputOnceAndInOrder() throws {
        let output = RecordingOutput(capacity: 10_000)
        renderer.setOutput(output)
        let source = sound
        for _ in 0..<40 {
            _ = try fill(from: source)
            feeder.performDueWork()
            output.play(frames: 7_001)
            synchronizer.setRate(0, time: output.acceptedUntil)
        }
        let samples = output.state.withLock { $0.samples }
        #expect(samples.count > 200_000)
        #expect(samples.enumerated().allSatisfy { SyntheticFilm.frame(ofValue: $1) == Int64($0) })
    }

    @Test mutating func howFarTheSoundReachesIsNotedOnceForEachSecondOfFilm() throws {
        let output = RecordingOutput(capacity: 48_000 * 20, desiredDepth: .seconds(10))
        renderer.setOutput(output)
        _ = try fill(from: sound)
        feeder.performDueWork()
        var noted: [MediaTime] = []
        while let entry = renderer.events.removeFirst() {
            guard case .audioAccepted(let until, let ahead, _) = entry.event else { continue }
            #expect(ahead == until.duration)
            noted.append(until)
        }
        #expect((9...11).contains(noted.count))
        #expect(zip(noted, noted.dropFirst()).allSatisfy { ($1 - $0).seconds >= 1 })
    }

    @Test mutating func itAsksForAsMuchAsTheRouteWantsAheadOfThePlayhead() throws {
        let output = RecordingOutput(capacity: 1_000, desiredDepth: .seconds(30))
        renderer.setOutput(output)
        feeder.performDueWork()
        let source = sound
        _ = try fill(from: source)
        let until = try #require(renderer.progress.enqueuedUntil)
        #expect((29.9...30.2).contains(until.seconds))
        #expect(!renderer.isReadyForMoreMediaData)
        synchronizer.setRate(1, atHostTime: clock.now)
        clock.advance(by: .seconds(10))
        #expect(renderer.isReadyForMoreMediaData)
        _ = try fill(from: source)
        #expect((39.9...40.2).contains(try #require(renderer.progress.enqueuedUntil).seconds))
    }

    @Test mutating func aFlushEmptiesQueueAndOutputAndTheNextBufferRestarts() throws {
        let output = RecordingOutput(capacity: 2_000)
        renderer.setOutput(output)
        let source = sound
        _ = try fill(from: source)
        feeder.performDueWork()
        #expect(renderer.progress.acceptedUntil != nil)
        renderer.flush()
        #expect(renderer.progress.acceptedUntil == nil)
        _ = try source.seek(to: MediaTime(value: 100, timescale: 1), mode: .exact)
        renderer.enqueue(try #require(try source.read()))
        feeder.performDueWork()
        let (starts, flushes) = output.state.withLock { ($0.starts, $0.flushes) }
        #expect(flushes == 1)
        let restart = try #require(starts.last)
        #expect(abs(restart.seconds - 100) < 0.03)
    }

    @Test mutating func packetsThatTheOutputTakesAreNotDecoded() throws {
        let output = RecordingOutput(passThroughCodec: "synthetic")
        renderer.setOutput(output)
        _ = try fill(from: sound)
        feeder.performDueWork()
        #expect(output.state.withLock { $0.packets.count } > 80)
        #expect(output.state.withLock { $0.samples.isEmpty })
    }

    @Test mutating func aSpeedLeavesPassThroughBecausePacketsCannotBeStretched() throws {
        let output = RecordingOutput(passThroughCodec: "synthetic")
        renderer.setOutput(output)
        renderer.setSpeed(1.5)
        _ = try fill(from: sound)
        feeder.performDueWork()
        #expect(output.state.withLock { $0.packets.isEmpty && !$0.samples.isEmpty })
    }

    @Test mutating func theEndIsReportedOnlyWhenEverythingHasBeenHandedOver() throws {
        let output = RecordingOutput(capacity: 3_000)
        renderer.setOutput(output)
        let source = sound
        renderer.enqueue(try #require(try source.read()))
        renderer.finish()
        feeder.performDueWork()
        #expect(!renderer.progress.isDrained)
        output.play(frames: 3_000)
        feeder.performDueWork()
        #expect(renderer.progress.isDrained)
        #expect(output.state.withLock { $0.isFinished && $0.samples.count == 4_096 })
    }

    @Test mutating func aRefusingOutputIsAskedOnceAndTheNextOutputTakesOver() throws {
        let refusing = RecordingOutput()
        refusing.state.withLock { $0.refusal = OutputError(.unavailable, "no such card") }
        renderer.setOutput(refusing)
        let source = sound
        _ = try fill(from: source)
        feeder.performDueWork()
        #expect(renderer.progress.hasFailed)
        #expect(renderer.status == .failed)
        #expect((renderer.error as? OutputError)?.code == .unavailable)
        let second = RecordingOutput()
        renderer.setOutput(second)
        #expect(renderer.status == .rendering && renderer.error == nil)
        renderer.flush()
        _ = try source.seek(to: .zero, mode: .exact)
        _ = try fill(from: source)
        feeder.performDueWork()
        #expect(!renderer.progress.hasFailed)
        #expect(second.state.withLock { !$0.samples.isEmpty })
        #expect(refusing.state.withLock { $0.isClosed })
    }

    @Test mutating func picturesAreNotTakenForSoundWithoutAWord() {
        #expect(renderer.status == .unknown)
        renderer.enqueue(NumberedFrame.buffer(0, every: MediaTime(value: 1, timescale: 25)))
        #expect(renderer.status == .failed)
        #expect((renderer.error as? RenderError)?.code == .wrongMedia)
        renderer.flush()
        #expect(renderer.status == .unknown)
    }

    @Test mutating func aMuteLeavesTheVolumeAsItWas() throws {
        final class Ear: OwnerVolumeOutput, Sendable {
            let name = "ear"
            let kind = AudioRouteKind.soundCard
            let gains = Lock<[Float?]>([])
            let latency = OutputLatency(startLead: .zero)
            let desiredDepth = Duration.seconds(1)
            var acceptedUntil: MediaTime? { nil }
            func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .passThrough(format) }
            func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {}
            func finish() {}
            func flush() {}
            func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
            func setGain(_ gain: Float) { gains.withLock { $0.append(gain) } }
            let ownVolume: Double? = nil
            let isOwnVolumeKnown = true
            func restoreGain() { gains.withLock { $0.append(nil) } }
            func close() {}
        }
        let ear = Ear()
        renderer.setOutput(ear)
        renderer.enqueue(try #require(try sound.read()))
        feeder.performDueWork()
        #expect(renderer.volume == 1 && !renderer.isMuted)
        renderer.isMuted = true
        renderer.isMuted = false
        renderer.volume = 0.5
        renderer.isMuted = true
        renderer.volume = 0.25
        #expect(renderer.volume == 0.25 && renderer.isMuted)
        renderer.isMuted = false
        #expect(ear.gains.withLock { $0 } == [0, nil, 0.5, 0, 0, 0.25])
    }

    @Test mutating func soundThatBeginsLateIsStillAskedForAheadOfItsOwnStart() throws {
        let late = SyntheticFilm(
            duration: MediaTime(value: 600, timescale: 1), audioStart: MediaTime(value: 120, timescale: 1))
        let output = RecordingOutput(capacity: 500_000, desiredDepth: .seconds(2))
        renderer.setOutput(output)
        feeder.performDueWork()
        let source = late.source(for: late.summary.tracks[1])
        _ = try fill(from: source)
        feeder.performDueWork()
        #expect(try #require(renderer.progress.acceptedUntil).seconds > 121.9)
    }
}
