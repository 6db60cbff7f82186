import CardPlayout
import Dispatch
import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Requests for media data, in virtual time.
@Suite struct RequestTests {
    @Test func aClosureIsAskedUntilTheRouteIsFull() throws {
        let output = RecordingOutput(capacity: 1_000_000, desiredDepth: .seconds(30), sampleRate: VirtualStage.rate)
        let stage = try VirtualStage(output: output)
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        #expect(!stage.renderer.isReadyForMoreMediaData)
        #expect((30..<33).contains(try #require(stage.renderer.progress.enqueuedUntil).seconds))
        #expect(stage.queue.count == 0)
    }

    /// Two hours, one second at a time, on a route with a depth of four minutes: the queue never falls below that by
    /// more than one buffer.
    @Test func itIsAskedAgainForTwoHoursAsOftenAsItTakesToStayFull() throws {
        let output = RecordingOutput(desiredDepth: .seconds(240), passThroughCodec: "synthetic")
        let stage = try VirtualStage(seconds: 7500, output: output)
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        stage.synchronizer.setRate(1, time: .zero, atHostTime: stage.clock.now)
        var lowest = Double.infinity
        for _ in 0..<7200 {
            stage.clock.advance(by: .seconds(1))
            stage.runUntilIdle()
            let until = try #require(stage.renderer.progress.enqueuedUntil)
            lowest = min(lowest, (until - stage.synchronizer.currentTime()).seconds)
        }
        #expect(lowest >= 240)
        let packets = output.state.withLock { $0.packets }
        #expect(packets.count > 21_000)
        let inOrder = zip(packets, packets.dropFirst()).allSatisfy { one, next in
            one.presentationTime.map { $0 + one.duration } == next.presentationTime
        }
        #expect(inOrder)
        // Only audio that is not yet audible is retained for a change of speed.
        #expect(stage.renderer.store.level.count < 300)
    }

    @Test func howMuchIsAskedForFollowsTheRouteAndItsChanges() throws {
        func output(_ depth: Int) -> RecordingOutput {
            RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(depth), sampleRate: VirtualStage.rate)
        }
        let stage = try VirtualStage(output: output(1))
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        func ahead() throws -> Double {
            (try #require(stage.renderer.progress.enqueuedUntil) - stage.synchronizer.currentTime()).seconds
        }
        #expect(try (1..<3).contains(ahead()))
        stage.renderer.setOutput(output(120))
        stage.runUntilIdle()
        #expect(try (120..<123).contains(ahead()))
        stage.renderer.setOutput(output(1))
        stage.runUntilIdle()
        #expect(!stage.renderer.isReadyForMoreMediaData)
        stage.synchronizer.setRate(1, time: .zero, atHostTime: stage.clock.now)
        stage.clock.advance(by: .seconds(130))
        stage.runUntilIdle()
        #expect(try (1..<4).contains(ahead()))
    }

    @Test func aClosureThatNeverEnqueuesIsCalledFiftyTimesASecond() throws {
        let stage = try VirtualStage()
        let calls = Lock(0)
        stage.renderer.requestMediaDataWhenReady(on: stage.queue) { calls.withLock { $0 += 1 } }
        stage.run(for: .seconds(10))
        #expect((400...501).contains(calls.withLock { $0 }))
        // A flush triggers a request at once, because data may have to be provided again.
        let before = calls.withLock { $0 }
        stage.renderer.flush()
        stage.queue.runIteration()
        #expect(calls.withLock { $0 } == before + 1)
        stage.renderer.stopRequestingMediaData()
        let last = calls.withLock { $0 }
        stage.run(for: .seconds(1))
        #expect(calls.withLock { $0 } == last)
    }

    @Test func afterTheStopNothingIsAskedAndWhatIsEnqueuedIsStillHeard() throws {
        let stage = try VirtualStage()
        let source = stage.sound
        let calls = Lock(0)
        let renderer = stage.renderer
        renderer.requestMediaDataWhenReady(on: stage.queue) {
            calls.withLock { $0 += 1 }
            if let buffer = try? source.read() { renderer.enqueue(buffer) }
            renderer.stopRequestingMediaData()
        }
        stage.runUntilIdle()
        #expect(calls.withLock { $0 } == 1)
        let late = try #require(try source.read())
        renderer.enqueue(late)
        stage.synchronizer.setRate(1, time: .zero)
        let begun = stage.clock.now
        stage.run(for: .seconds(4))
        #expect(calls.withLock { $0 } == 1)
        let last = try #require(stage.sounds(from: begun).last)
        #expect(abs(last.film - (try #require(late.end)).seconds) < 0.01)
        #expect(stage.renderer.progress.isDrained)
    }

    /// The loop of AVFoundation's sample code ends only when the renderer is not ready.
    @Test func aLoopThatStopsItsRequestsTerminates() throws {
        let film = SyntheticFilm(duration: millisecond(200), sampleRate: VirtualStage.rate)
        let stage = try VirtualStage(film: film)
        let (source, renderer) = (stage.sound, stage.renderer)
        let turns = Lock(0)
        renderer.requestMediaDataWhenReady(on: stage.queue) {
            while renderer.isReadyForMoreMediaData,
                turns.withLock({
                    $0 += 1; return $0 < 1000
                })
            {
                if let buffer = try? source.read() {
                    renderer.enqueue(buffer)
                } else {
                    renderer.stopRequestingMediaData()
                }
            }
        }
        stage.synchronizer.setRate(1, time: .zero)
        let begun = stage.clock.now
        stage.run(for: .seconds(2))
        #expect(turns.withLock { $0 } < 10)
        #expect(stage.sounds(from: begun).count >= 598)
        // The request has ended: the renderer is ready, and a new request is possible.
        #expect(renderer.isReadyForMoreMediaData)
        let more = Lock(0)
        renderer.requestMediaDataWhenReady(on: stage.queue) { more.withLock { $0 += 1 } }
        stage.run(for: .milliseconds(100))
        #expect(more.withLock { $0 } > 0)
    }

    @Test func aLayersLoopEndsAlike() {
        let queue = ManualQueue(clock: ManualClock())
        let layer = DisplayLayer(depth: 8)
        let turns = Lock(0)
        layer.requestMediaDataWhenReady(on: queue) {
            while layer.isReadyForMoreMediaData,
                turns.withLock({
                    $0 += 1; return $0 < 1000
                })
            {
                layer.stopRequestingMediaData()
            }
        }
        queue.runIteration()
        #expect(turns.withLock { $0 } == 1)
        #expect(layer.isReadyForMoreMediaData)
    }

    /// `.main`, and a closure with a weak reference to its owner, as in programs for AVFoundation.
    @Test func aClosureOnADispatchQueueMayHoldItsOwnerWeakly() {
        final class Feeder: Sendable {
            let renderer = AudioRenderer(codecs: SyntheticCodecs())
            let asked = DispatchSemaphore(value: 0)
            func begin(on queue: DispatchQueue) {
                renderer.requestMediaDataWhenReady(on: queue) { [weak self] in self?.feed() }
            }
            private func feed() {
                renderer.stopRequestingMediaData()
                asked.signal()
            }
        }
        var feeder: Feeder? = Feeder()
        feeder?.begin(on: DispatchQueue(label: "feeder"))
        feeder?.asked.wait()
        // Checks that this compiles; the main queue does not run here.
        feeder?.begin(on: .main)
        feeder?.renderer.stopRequestingMediaData()
        weak let owner = feeder
        feeder = nil
        // A running call retains the owner until it returns.
        let deadline = HostInstant.now.advanced(by: .seconds(20))
        while owner != nil, HostInstant.now < deadline { HostInstant.now.advanced(by: .milliseconds(1)).sleep() }
        #expect(owner == nil, "a request holds its owner")
    }

    @Test func theLastRequestIsTheOnlyOne() throws {
        let stage = try VirtualStage()
        let (first, second) = (Lock(0), Lock(0))
        stage.renderer.requestMediaDataWhenReady(on: stage.queue) { first.withLock { $0 += 1 } }
        stage.renderer.requestMediaDataWhenReady(on: stage.queue) { second.withLock { $0 += 1 } }
        stage.run(for: .seconds(1))
        #expect(first.withLock { $0 } == 0)
        #expect(second.withLock { $0 } > 0)
    }

    @Test func aReleasedRendererRequestsNothing() {
        let clock = ManualClock()
        let queue = ManualQueue(clock: clock)
        let calls = Lock(0)
        var renderer: AudioRenderer? = AudioRenderer(codecs: SyntheticCodecs())
        renderer?.requestMediaDataWhenReady(on: queue) { calls.withLock { $0 += 1 } }
        queue.runIteration(atMost: 1)
        #expect(calls.withLock { $0 } == 1)
        renderer = nil
        for _ in 0..<10 {
            clock.advance(by: .seconds(1))
            queue.runIteration()
        }
        #expect(calls.withLock { $0 } == 1)
        #expect(queue.count == 0)
    }

    /// The closure may capture a non-`Sendable` value: the parameter is `sending`.
    @Test func aClosureMayCaptureWhatIsNotSendable() throws {
        final class Reader {
            var given = 0
            let buffer: SampleBuffer
            init(_ buffer: SampleBuffer) { self.buffer = buffer }
        }
        let stage = try VirtualStage()
        let reader = Reader(try #require(try stage.sound.read()))
        let renderer = stage.renderer
        renderer.requestMediaDataWhenReady(on: stage.queue) {
            reader.given += 1
            renderer.enqueue(reader.buffer)
        }
        stage.runUntilIdle()
        #expect(!renderer.isReadyForMoreMediaData || renderer.enqueueCount > 0)
    }

    @Test func onAConcurrentQueueOneCallFollowsTheOther() {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
        let source = film.source(for: film.summary.tracks[1])
        let full = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "requests", attributes: .concurrent)
        let count = Counters()
        renderer.requestMediaDataWhenReady(on: queue) {
            count.begin()
            if let buffer = try? source.read() { renderer.enqueue(buffer) }
            count.end()
            if !renderer.isReadyForMoreMediaData { full.signal() }
        }
        full.wait()
        renderer.stopRequestingMediaData()
        #expect(count.maxConcurrent == 1)
        #expect(count.calls > 5)
    }

    private final class Counters: Sendable {
        private let state = Lock((inside: 0, maxConcurrent: 0, calls: 0))
        func begin() {
            state.withLock {
                $0.inside += 1
                $0.calls += 1
                $0.maxConcurrent = max($0.maxConcurrent, $0.inside)
            }
        }
        func end() { state.withLock { $0.inside -= 1 } }
        var maxConcurrent: Int { state.withLock { $0.maxConcurrent } }
        var calls: Int { state.withLock { $0.calls } }
    }

    // MARK: Suppliers with a separate thread

    @Test func aThreadThatSuppliesIsWokenWhenThereIsRoomAndOnlyThen() throws {
        let stage = try VirtualStage()
        let (room, source) = (Signal(), stage.sound)
        stage.renderer.requestMediaData(raising: room)
        #expect(room.wait(until: .now), "more is wanted from the beginning")
        func fill() throws {
            room.clear()
            while stage.renderer.isReadyForMoreMediaData, let buffer = try source.read() {
                stage.renderer.enqueue(buffer)
            }
        }
        try fill()
        stage.runUntilIdle()
        #expect(!room.wait(until: .now), "it is full")
        stage.synchronizer.setRate(1, time: .zero)
        var wakes = 0
        stage.meanwhile = {
            guard room.wait(until: .now) else { return }
            wakes += 1
            try? fill()
        }
        let begin = stage.clock.now
        stage.run(for: .seconds(60))
        #expect((10...400).contains(wakes), "\(wakes)")
        let heard = stage.sounds(from: begin)
        #expect(try #require(heard.last).film > 59)
        #expect(stage.card.playout?.underrunCount == 0)
        room.clear()
        stage.renderer.flush()
        #expect(room.wait(until: .now), "everything is wanted anew")
    }

    @Test func theLastOfThreadAndClosureIsTheOnlyOne() throws {
        let stage = try VirtualStage()
        let room = Signal()
        stage.renderer.requestMediaData(raising: room)
        room.clear()
        stage.feed(from: stage.sound)
        stage.run(for: .milliseconds(100))
        stage.renderer.flush()
        #expect(!room.wait(until: .now))
        stage.renderer.requestMediaData(raising: room)
        room.clear()
        let before = stage.renderer.progress.enqueuedUntil
        stage.run(for: .milliseconds(100))
        #expect(stage.renderer.progress.enqueuedUntil == before, "the closure is asked no more")
        stage.renderer.stopRequestingMediaData()
        stage.renderer.flush()
        #expect(!room.wait(until: .now))
    }

    // MARK: Video

    @Test func aLayerAsksForPicturesAsItShowsThem() throws {
        let clock = ManualClock()
        let queue = ManualQueue(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = DisplayLayer(depth: 4)
        synchronizer.addRenderer(layer)
        let frame = MediaTime(value: 1, timescale: 24)
        let next = Lock(0)
        layer.requestMediaDataWhenReady(on: queue) {
            while layer.isReadyForMoreMediaData {
                let number = next.withLock { number in
                    defer { number += 1 }
                    return number
                }
                guard number < 24 * 600 else { return layer.stopRequestingMediaData() }
                layer.enqueue(NumberedFrame.buffer(number, every: frame))
            }
        }
        queue.runIteration()
        #expect(layer.count == 4)
        let screen = VirtualScreen(clock: clock)
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: screen, events: EventLog(clock: clock))
        synchronizer.setRate(1, time: .zero)
        for _ in 0..<200_000 where presenter.shownCount < 24 * 600 {
            if case .at(let instant) = presenter.step() {
                clock.advance(to: instant)
            } else {
                clock.advance(by: .milliseconds(1))
            }
            queue.runIteration()
        }
        #expect(screen.shown.map(\.number) == Array(0..<(24 * 600)))
        #expect(presenter.droppedCount == 0)
    }

    /// The owner of a feeder may end with the feeder's closure.
    @Test(.timeLimit(.minutes(10))) func aClosureWhoseOwnerStopsTheRequestsAtItsEndIsReleased() throws {
        final class Owner {
            let renderer: AudioRenderer
            init(_ renderer: AudioRenderer) { self.renderer = renderer }
            deinit { renderer.stopRequestingMediaData() }
        }
        let stage = try VirtualStage()
        func feed() {
            let owner = Owner(stage.renderer)
            stage.renderer.requestMediaDataWhenReady(on: stage.queue) { withExtendedLifetime(owner) {} }
        }
        feed()
        stage.renderer.stopRequestingMediaData()
        stage.runUntilIdle()
        #expect(stage.queue.count == 0)
    }
}
