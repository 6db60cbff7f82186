import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// The asynchronous producer interface; film time is advanced manually.
@Suite(.timeLimit(.minutes(10))) struct ReceiverTests {
    let clock = ManualClock()
    let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
    var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    /// Yields to other tasks until a condition holds.
    private func eventually(_ condition: () -> Bool) async -> Bool {
        let limit = HostInstant.now.advanced(by: .seconds(120))
        while !condition() {
            if HostInstant.now > limit { return false }
            await Task.yield()
        }
        return true
    }

    @Test(.timeLimit(.minutes(10))) func enqueueWaitsForSpaceAndContinuesOnceThereIsSome() async throws {
        let stage = try VirtualStage()
        let receiver = stage.renderer.sampleBufferReceiver()
        let (renderer, sound) = (stage.renderer, stage.sound)
        let total = 20
        let task = Task {
            var results: [SampleBufferReceiver.EnqueueResult] = []
            for _ in 0..<total { results.append(try await receiver.enqueue(try #require(try sound.read()))) }
            receiver.finish()
            return results
        }
        #expect(await eventually { !renderer.isReadyForMoreMediaData })
        let before = renderer.enqueueCount
        #expect(before < total)
        // The card buffers 0.4 s; the rest needs time to pass.
        stage.synchronizer.setRate(1, time: .zero, atHostTime: stage.clock.now)
        // Without a limit, because a busy machine may delay the task.
        while renderer.enqueueCount < total {
            stage.run(for: .milliseconds(100))
            await Task.yield()
        }
        let results = try await task.value
        #expect(results.allSatisfy { $0 == .enqueued })
        #expect(renderer.store.level.isFinished)
    }

    @Test func aFlushWhileItWaitsCancelsTheBufferAndTheNextIsTaken() async throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let receiver = renderer.sampleBufferReceiver()
        let sound = sound
        let task = Task {
            var last = SampleBufferReceiver.EnqueueResult.enqueued
            while last == .enqueued { last = try await receiver.enqueue(try #require(try sound.read())) }
            let next = try await receiver.enqueue(try #require(try sound.read()))
            return [last, next]
        }
        #expect(await eventually { !renderer.isReadyForMoreMediaData })
        renderer.flush()
        #expect(try await task.value == [.cancelledDueToFlush, .enqueued])
        #expect(renderer.store.level.count == 1)
    }

    @Test func aNewerSupplierSupersedesTheOlder() async throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let first = renderer.sampleBufferReceiver()
        let second = renderer.sampleBufferReceiver()
        let buffer = try #require(try sound.read())
        #expect(try await first.enqueue(buffer) == .superseded)
        #expect(first.enqueueImmediately(buffer) == .superseded)
        first.flush()
        #expect(try await second.enqueue(buffer) == .enqueued)
        renderer.requestMediaDataWhenReady(on: ManualQueue(clock: clock)) {}
        #expect(second.enqueueImmediately(buffer) == .superseded)
        #expect(renderer.enqueueCount == 1)
    }

    @Test func waitersAreReleasedWhenTheRendererEnds() async throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let receiver = renderer.sampleBufferReceiver()
        let sound = sound
        let task = Task {
            while true {
                let result = try await receiver.enqueue(try #require(try sound.read()))
                if result != .enqueued { return result }
            }
        }
        #expect(await eventually { !renderer.isReadyForMoreMediaData })
        renderer.invalidate()
        let result = try await task.value
        #expect(result == .superseded || result == .cancelledDueToFlush)
    }

    @Test func aWaiterKeepsNoRendererAndIsReleasedWithIt() async throws {
        var layer: DisplayLayer? = DisplayLayer(depth: 2)
        let receiver = try #require(layer).sampleBufferReceiver()
        let task = Task {
            var number = 0
            while true {
                let frame = NumberedFrame.buffer(number, every: MediaTime(value: 1, timescale: 24))
                let result = try await receiver.enqueue(frame)
                if result != .enqueued { return result }
                number += 1
            }
        }
        #expect(await eventually { layer?.isReadyForMoreMediaData == false })
        layer = nil
        #expect(try await task.value == .superseded)
    }

    /// A loop that reads while there is space would otherwise read its whole input.
    @Test func anInvalidatedRendererHasNoSpace() {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        #expect(renderer.isReadyForMoreMediaData)
        renderer.invalidate()
        #expect(!renderer.isReadyForMoreMediaData)
    }

    @Test func aCancelledTaskWaitsNoLonger() async throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let receiver = renderer.sampleBufferReceiver()
        let sound = sound
        let task = Task { () -> Bool in
            do {
                while true { _ = try await receiver.enqueue(try #require(try sound.read())) }
            } catch is CancellationError {
                return true
            }
        }
        #expect(await eventually { !renderer.isReadyForMoreMediaData })
        let count = renderer.enqueueCount
        task.cancel()
        #expect(try await task.value)
        #expect(renderer.enqueueCount == count)
    }

    @Test func whatMakesNoSenseIsRefusedWithAReason() async throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let receiver = renderer.sampleBufferReceiver()
        let picture = NumberedFrame.buffer(1, every: MediaTime(value: 1, timescale: 24))
        guard case .refused(let error) = try await receiver.enqueue(picture) else {
            Issue.record("a picture is no sound")
            return
        }
        #expect(error.code == .wrongMedia)
        let layer = DisplayLayer(depth: 8)
        var timeless = picture
        timeless.presentationTime = nil
        let pictures = layer.sampleBufferReceiver()
        guard case .refused(let other) = pictures.enqueueImmediately(timeless) else {
            Issue.record("a video frame without a presentation time cannot be shown")
            return
        }
        #expect(other.code == .missingTime)
        #expect(layer.count == 0)
    }

    @Test func aFlushFromATimeIsAskedOfWhoCanDoIt() async throws {
        let layer = DisplayLayer(depth: 8)
        let (first, second) = (layer.sampleBufferReceiver(), layer.sampleBufferReceiver())
        #expect(await first.flush(fromSourceTime: MediaTime(value: 1, timescale: 1)) == .overtaken)
        #expect(await second.flush(fromSourceTime: MediaTime(value: 1, timescale: 1)) == .refused(leadNeeded: nil))
    }

    @Test func aLayerHoldsItsSupplierBack() async throws {
        let layer = DisplayLayer(depth: 4)
        let receiver = layer.sampleBufferReceiver()
        let frame = MediaTime(value: 1, timescale: 24)
        let task = Task { () -> Int in
            for number in 0..<12 {
                guard try await receiver.enqueue(NumberedFrame.buffer(number, every: frame)) == .enqueued else {
                    return number
                }
            }
            return 12
        }
        #expect(await eventually { layer.count == 4 })
        for number in 0..<8 {
            #expect(await eventually { layer.count == 4 })
            _ = layer.dequeueFrame(upTo: frame * Int64(number))
        }
        #expect(try await task.value == 12)
    }
}
