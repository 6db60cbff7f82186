import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Layers that receive encoded video.
@Suite(.timeLimit(.minutes(10))) struct LayerDecodingTests {
    private struct Codecs: VideoCodecs {
        var refusal: MediaError?
        /// The times of the decoded packets.
        let decoded = Lock<[MediaTime]>([])

        func decoder(for format: VideoFormat) throws(MediaError) -> any VideoFrameDecoder {
            if let refusal { throw refusal }
            return RecordingDecoder(frame: LayerDecodingTests.film.frame, decoded)
        }
    }

    private static let film = SyntheticFilm(duration: MediaTime(value: 10, timescale: 1))
    private var source: any SampleSource { Self.film.source(for: Self.film.summary.tracks[0]) }
    private let frame = film.frame

    /// Waits until a condition holds; the layer's signal triggers each check.
    private func wait(for layer: DisplayLayer, _ isSo: () -> Bool) throws {
        let limit = HostInstant.now.advanced(by: .seconds(20))
        while !isSo() { try #require(layer.arrival.wait(until: limit) || isSo()) }
    }

    private func feed(_ layer: DisplayLayer, from source: any SampleSource) throws {
        while layer.isReadyForMoreMediaData {
            guard let buffer = try source.read() else { return layer.finish() }
            layer.enqueue(buffer)
        }
    }

    @Test func withoutCodecsEncodedPicturesFailAndSayWhatToDo() throws {
        let layer = DisplayLayer(depth: 8)
        #expect(layer.status == .unknown)
        #expect(!layer.hasSufficientMediaDataForReliablePlaybackStart)
        layer.enqueue(try #require(try source.read()))
        #expect(layer.status == .failed)
        let error = try #require(layer.error as? RenderError)
        #expect(error.code == .noCodecs)
        #expect(error.message.contains("MediaCodecs"))
        // A layer without a decoder requests no data, and does not delay the start of audio.
        #expect(!layer.isReadyForMoreMediaData)
        #expect(layer.hasSufficientMediaDataForReliablePlaybackStart)
        layer.flush()
        layer.enqueue(NumberedFrame.buffer(0, every: frame))
        #expect(layer.status == .rendering && layer.error == nil)
        #expect(layer.count == 1)
    }

    @Test func encodedPicturesAreDecodedAsTheLayerHasRoom() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        var shown: [MediaTime] = []
        try feed(layer, from: source)
        try wait(for: layer) { layer.count == 4 }
        #expect(layer.hasSufficientMediaDataForReliablePlaybackStart)
        let wanted = 50
        while shown.count < wanted {
            try feed(layer, from: source)
            try wait(for: layer) { layer.count > 0 }
            let next = try #require(layer.nextTime)
            let selection = layer.dequeueFrame(upTo: next)
            shown.append(try #require(selection.frame?.presentationTime))
        }
        #expect(shown == (0..<wanted).map { frame * Int64($0) })
    }

    @Test func theEndComesOutOfTheDecoderBeforeTheLayerIsDrained() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        for _ in 0..<3 { layer.enqueue(try #require(try source.read())) }
        layer.finish()
        try wait(for: layer) { layer.count == 3 }
        #expect(!layer.isDrained)
        _ = layer.dequeueFrame(upTo: second(9))
        try wait(for: layer) { layer.isDrained }
        // Data may follow the end.
        layer.enqueue(try #require(try source.read()))
        try wait(for: layer) { layer.nextTime == frame * 3 }
    }

    @Test func aFlushLeavesNothingOfWhatWasInside() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        try feed(layer, from: source)
        try wait(for: layer) { layer.count == 4 }
        layer.flush()
        #expect(layer.count == 0)
        try source.seek(to: second(5), mode: .exact)
        let first = try #require(try source.read())
        layer.enqueue(first)
        try wait(for: layer) { layer.count > 0 }
        #expect(layer.nextTime == first.presentationTime)
    }

    @Test func aFlushFromATimeReachesWhatIsNotYetDecoded() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        for _ in 0..<12 { layer.enqueue(try #require(try source.read())) }
        try wait(for: layer) { layer.count == 4 }
        layer.flush(fromSourceTime: frame * 6)
        // Its replacement may be enqueued at once.
        let later = try #require(try source.read()).moved(to: frame * 6)
        layer.enqueue(later)
        #expect(try play(layer) == (0...6).map { frame * Int64($0) })
    }

    /// Takes the frames of a layer until it is drained; returns their times.
    private func play(_ layer: DisplayLayer) throws -> [MediaTime] {
        layer.finish()
        var shown: [MediaTime] = []
        while !layer.isDrained {
            try wait(for: layer) { layer.count > 0 || layer.isDrained }
            if let next = layer.nextTime, layer.dequeueFrame(upTo: next).frame != nil { shown.append(next) }
        }
        return shown
    }

    @Test func aSecondFlushFromATimeKeepsTheReplacementOfTheFirst() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        for _ in 0..<12 { layer.enqueue(try #require(try source.read())) }
        try wait(for: layer) { layer.count == 4 }
        layer.flush(fromSourceTime: frame * 6)
        for number in 6..<10 { layer.enqueue(try #require(try source.read()).moved(to: frame * Int64(number))) }
        layer.flush(fromSourceTime: frame * 8)
        layer.enqueue(try #require(try source.read()).moved(to: frame * 8))
        #expect(try play(layer) == (0...8).map { frame * Int64($0) })
    }

    @Test func aFlushFromATimeKeepsThePacketsThatEarlierFramesReference() throws {
        let codecs = Codecs()
        let layer = DisplayLayer(codecs: codecs, depth: 4)
        let source = source
        // The last four are in decoding order: a reference precedes the frames that are shown before it.
        for number in [0, 1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10] {
            layer.enqueue(try #require(try source.read()).moved(to: frame * Int64(number)))
        }
        try wait(for: layer) { layer.count == 4 }
        layer.flush(fromSourceTime: frame * 9)
        #expect(try play(layer) == (0...8).map { frame * Int64($0) })
        #expect(codecs.decoded.withLock { $0 }.suffix(2) == [frame * 11, frame * 8])
    }

    private func waitForFailure(_ layer: DisplayLayer) {
        let limit = HostInstant.now.advanced(by: .seconds(20))
        while layer.status != .failed, HostInstant.now < limit { layer.arrival.wait(until: limit) }
    }

    @Test func aFormatWithoutADecoderFailsTheLayer() throws {
        let layer = DisplayLayer(codecs: Codecs(refusal: MediaError(.unsupported, "no decoder for this")), depth: 4)
        layer.enqueue(try #require(try source.read()))
        waitForFailure(layer)
        #expect((layer.error as? MediaError)?.code == .unsupported)
        layer.enqueue(try #require(try source.read()))
        layer.finish()
        #expect(layer.isDrained, "nothing is outstanding")
        layer.flush()
        #expect(layer.error == nil)
        layer.enqueue(try #require(try source.read()))
        waitForFailure(layer)
        #expect((layer.error as? MediaError)?.code == .unsupported)
    }

    @Test func aFormatThatChangesToOneWithoutADecoderFailsTheLayerAfterTheFramesBefore() throws {
        let layer = DisplayLayer(codecs: Codecs(), depth: 4)
        let source = source
        for _ in 0..<3 { layer.enqueue(try #require(try source.read())) }
        layer.enqueue(try #require(try source.read()).moved(to: RecordingDecoder.refused))
        layer.enqueue(try #require(try source.read()))
        waitForFailure(layer)
        try wait(for: layer) { layer.decoding?.packets.isBusy == false }
        #expect((layer.error as? MediaError)?.code == .unsupported)
        #expect(layer.waitingTimes == (0..<3).map { frame * Int64($0) })
        #expect(!layer.isReadyForMoreMediaData && layer.hasSufficientMediaDataForReliablePlaybackStart)
    }

    @Test func aLayerThatIsLetGoEndsItsDecoder() throws {
        var layer: DisplayLayer? = DisplayLayer(codecs: Codecs(), depth: 4)
        layer?.enqueue(try #require(try source.read()))
        weak let gone = layer
        layer = nil
        let limit = HostInstant.now.advanced(by: .seconds(20))
        // The thread retains the layer during an iteration.
        while gone != nil, HostInstant.now < limit {}
        #expect(gone == nil)
    }

    /// Each frame takes two frames' time.
    @Test func aDecoderThatIsTooSlowSkipsToFramesThatCanBeInTime() throws {
        let (clock, codecs) = (ManualClock(), SlowCodecs(frame: frame))
        let events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock, events: events)
        let layer = DisplayLayer(codecs: codecs, depth: 4)
        synchronizer.addRenderer(layer)
        layer.requestMediaData(raising: layer.arrival)
        let source = source
        try feed(layer, from: source)
        try wait(for: layer) { layer.count == 4 }
        codecs.clock.withLock { $0 = clock }
        let start = TimebaseSegment(mediaAnchor: .zero, hostAnchor: clock.now, rate: 1)
        synchronizer.timebase.publish(TimebaseSnapshot(current: start, scheduled: nil, generation: 1))
        // From now on each decoded frame advances the clock, which makes the next ones due.
        #expect(layer.dequeueFrame(upTo: .zero).frame != nil)
        var dropped = 0
        try wait(for: layer) {
            _ = layer.dequeueFrame(upTo: synchronizer.timebase.currentTime)
            // ignored: this source cannot fail.
            try? feed(layer, from: source)
            while let entry = events.removeFirst() {
                if case .framesDropped(let count, _, .late) = entry.event { dropped += count }
            }
            return codecs.skips.withLock { $0 } > 0 && dropped > 0
        }
        layer.stopRequestingMediaData()
    }

    // MARK: Screen

    @Test func theImageIsRemovedWithAFlushThatSaysSoAndOnlyThen() {
        final class Glass: VideoOutput {
            var refresh: RefreshMode { .unpaced }
            var latency: OutputLatency { OutputLatency(startLead: .zero) }
            let presentCost = Duration.zero
            var removals = 0
            func prepare(_ picture: any VideoFrame, under overlay: Overlay?) {}
            func present() -> HostInstant { HostInstant(nanoseconds: 0) }
            func removeImage() { removals += 1 }
        }
        let clock = ManualClock()
        let (layer, glass) = (DisplayLayer(depth: 4), Glass())
        let presenter = FramePresenter(
            layer: layer, timebase: Timebase(clock: clock), output: glass, events: EventLog(clock: clock))
        layer.enqueue(NumberedFrame.buffer(0, every: frame))
        _ = presenter.step()
        #expect(presenter.onScreen != nil)
        layer.flush()
        _ = presenter.step()
        #expect(presenter.onScreen != nil && glass.removals == 0)
        layer.flushAndRemoveImage()
        _ = presenter.step()
        #expect(presenter.onScreen == nil && glass.removals == 1)
    }
}

/// Decodes synthetic video and records what it decodes.
private final class RecordingDecoder: VideoFrameDecoder {
    /// The time of a packet in a format without a decoder.
    static let refused = MediaTime(value: 9000, timescale: 1)
    private let inner: SyntheticVideoDecoder
    private let decoded: Lock<[MediaTime]>
    var skipPolicy = SkipPolicy.full
    let decodeErrorCount = 0

    init(frame: MediaTime, _ decoded: Lock<[MediaTime]>) {
        (inner, self.decoded) = (SyntheticVideoDecoder(frame: frame), decoded)
    }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        guard let time = buffer.presentationTime else { return }
        if time == Self.refused { throw MediaError(.unsupported, "no decoder for this") }
        decoded.withLock { $0.append(time) }
        inner.send(buffer)
    }
    func finish() {}
    func receive() -> SampleBuffer? { inner.receive() }
    func flush() { inner.flush() }
    func dropFrames(before time: MediaTime) { inner.dropFrames(before: time) }
}

/// A decoder whose work lasts for two frames, on a clock that is set once playback runs.
private final class SlowCodecs: VideoCodecs {
    let clock = Lock<ManualClock?>(nil)
    let skips = Lock(0)
    private let frame: MediaTime

    init(frame: MediaTime) { self.frame = frame }

    func decoder(for format: VideoFormat) -> any VideoFrameDecoder { Decoder(self) }

    private final class Decoder: VideoFrameDecoder {
        private let codecs: SlowCodecs
        private let inner: SyntheticVideoDecoder
        var skipPolicy = SkipPolicy.full
        let decodeErrorCount = 0

        init(_ codecs: SlowCodecs) {
            self.codecs = codecs
            inner = SyntheticVideoDecoder(frame: codecs.frame)
        }

        func send(_ buffer: SampleBuffer) {
            codecs.clock.withLock { $0 }?.advance(by: codecs.frame.duration * 2)
            inner.send(buffer)
        }
        func finish() {}
        func receive() -> SampleBuffer? { inner.receive() }
        func flush() { inner.flush() }
        func dropFrames(before time: MediaTime) { inner.dropFrames(before: time) }
        func skipForward(to time: MediaTime) -> Bool {
            codecs.skips.withLock { $0 += 1 }
            inner.dropFrames(before: time)
            return true
        }
    }
}
