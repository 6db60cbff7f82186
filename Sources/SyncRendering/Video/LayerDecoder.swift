internal import MediaCore

/// Decodes video for a display layer on a separate thread, as fast as the layer has space. Any thread.
final class LayerDecoder: Sendable {
    private enum Item: Sendable {
        case buffer(SampleBuffer)
        /// The decoder is drained and reset before the next buffer.
        case cut
    }

    /// Guarded by the lock `state`.
    private struct State: Sendable {
        var waiting: [Item] = []
        /// The number of encoded buffers in `waiting`.
        var count = 0
        /// Whether the end of input was signalled, so that the decoder is drained.
        var isEnding = false
        /// Whether the decoder holds frames or a buffer is being processed.
        var isBusy = false
        var flushes: UInt64 = 0
        /// Frames from this media time on are dropped until the last cut is processed.
        var limit: MediaTime?
        var isStopping = false
        var thread: WorkerThread?
    }

    /// The maximum number of waiting encoded buffers: a decoder's reordering depth and some margin.
    static let depth = 16

    private let codecs: any VideoCodecs
    private let state = Lock(State())
    private let wake = Signal()

    init(_ codecs: any VideoCodecs) { self.codecs = codecs }

    var hasRoom: Bool { state.withLock { $0.count < Self.depth } }
    /// Whether encoded buffers were enqueued, so that the layer's space is that of the decoder.
    var isInUse: Bool { state.withLock { $0.thread != nil } }
    /// Whether frames of enqueued buffers are outstanding.
    var isBusy: Bool { state.withLock { $0.count > 0 || $0.isBusy } }

    func enqueue(_ buffer: SampleBuffer, for layer: DisplayLayer) {
        do throws(ExhaustionError) {
            try state.withLock { (state) throws(ExhaustionError) in
                if state.thread == nil { state.thread = try start(for: layer) }
                state.waiting.append(.buffer(buffer))
                state.count += 1
                state.isEnding = false
            }
        } catch {
            layer.fail(with: MediaError(error))
        }
        wake.raise()
    }

    func finish() {
        state.withLock { $0.isEnding = true }
        wake.raise()
    }

    func flush() {
        state.withLock { state in
            state.waiting.removeAll(keepingCapacity: true)
            (state.count, state.isEnding, state.isBusy, state.limit) = (0, false, false, nil)
            state.flushes += 1
        }
        wake.raise()
    }

    /// Drops buffers and frames that start at a media time or later, including those in the decoder.
    func cut(at time: MediaTime) {
        state.withLock { state in
            state.waiting.removeAll { item in
                guard case .buffer(let buffer) = item, let start = buffer.presentationTime, start >= time else {
                    return false
                }
                state.count -= 1
                return true
            }
            state.isEnding = false
            guard state.thread != nil else { return }
            state.limit = min(state.limit ?? time, time)
            state.waiting.append(.cut)
        }
        wake.raise()
    }

    /// Wakes the thread after the layer has space for a frame.
    func offer() { wake.raise() }

    /// Ends the thread without waiting for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.raise()
    }

    // MARK: Thread

    /// The thread retains the decoder but not the layer, so that the release of the layer ends it.
    private func start(for layer: DisplayLayer) throws(ExhaustionError) -> WorkerThread {
        try WorkerThread.start(name: "layer decoder") { [self, weak layer] in
            var work = Work(codecs: codecs)
            while !state.withLock({ $0.isStopping }) {
                while let layer, step(&work, layer) {}
                wake.wait()
                wake.clear()
            }
        }
    }

    /// State confined to the thread.
    private struct Work {
        let codecs: any VideoCodecs
        /// Nil before the first buffer.
        var frames: FrameDecoder?
        var load = DecodingLoad()
        var flushes: UInt64 = 0
        /// Whether the media cannot be decoded; it is dropped until a flush.
        var isRefused = false
        /// Whether the decoder may hold frames.
        var isBusy: Bool { frames?.isBusy ?? false }
    }

    /// Sends one buffer or receives one frame; returns false if there is no work or no space.
    private func step(_ work: inout Work, _ layer: DisplayLayer) -> Bool {
        let flushes = state.withLock { $0.flushes }
        if flushes != work.flushes {
            work.frames?.flush()
            work.load.reset()
            (work.flushes, work.isRefused) = (flushes, false)
        }
        guard layer.hasRoomForPictures else { return false }
        guard let frames = work.frames else { return feed(&work, layer) }
        work.load.prepare(frames, for: layer)
        if let frame = frames.receive() {
            guard work.load.admits(frame, of: frames, to: layer) else { return true }
            layer.insert(frame, isDecoded: true) { [state] in
                state.withLock { state in
                    guard state.flushes == flushes else { return false }
                    guard let limit = state.limit, let start = frame.presentationTime else { return true }
                    return start < limit
                }
            }
            return true
        }
        guard frames.isFinished else { return feed(&work, layer) }
        if let failure = frames.decoder.failure { layer.fail(with: failure) }
        // The decoder is drained; more may follow.
        frames.flush()
        work.load.lastEnd = nil
        endCut()
        return true
    }

    /// Ends the limit of the cuts once the last one is processed.
    private func endCut() {
        state.withLock { state in
            let isLast = !state.waiting.contains { if case .cut = $0 { true } else { false } }
            if isLast { state.limit = nil }
        }
    }

    private func feed(_ work: inout Work, _ layer: DisplayLayer) -> Bool {
        let (item, isEnd) = state.withLock { state -> (Item?, Bool) in
            guard state.flushes == work.flushes else { return (nil, false) }
            guard !state.waiting.isEmpty else {
                let isEnd = state.isEnding && state.isBusy
                if !work.isBusy { state.isBusy = false }
                return (nil, isEnd)
            }
            let item = state.waiting.removeFirst()
            if case .buffer = item { state.count -= 1 }
            state.isBusy = true
            return (item, false)
        }
        switch item {
        case .buffer(let buffer):
            if !work.isRefused { send(buffer, &work, layer) }
            layer.offerRoom()
        case .cut: if let frames = work.frames { frames.finish() } else { endCut() }
        case nil:
            guard isEnd else { return false }
            guard work.isBusy else {
                layer.decoderIsDone()
                return false
            }
            work.frames?.finish()
        }
        return true
    }

    private func send(_ buffer: SampleBuffer, _ work: inout Work, _ layer: DisplayLayer) {
        guard case .encodedVideo(let format, let batch) = buffer.payload else { return }
        do throws(MediaError) {
            let frames: FrameDecoder
            if let present = work.frames {
                frames = present
            } else {
                frames = FrameDecoder(try codecs.decoder(for: format))
            }
            work.frames = frames
            // The decoder drops the frames of discarded packets, which may come after those that are shown.
            let isPreroll = buffer.flags.contains(.decodeOnly) && !batch.packets.allSatisfy(\.isDiscarded)
            if isPreroll, let end = buffer.end { frames.decoder.dropFrames(before: end) }
            try frames.send(buffer)
        } catch {
            work.isRefused = true
            layer.fail(with: error)
        }
    }
}
