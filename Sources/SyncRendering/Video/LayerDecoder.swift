internal import MediaCore

/// Decodes pictures for a display layer on a thread of its own: encoded buffers go in, and pictures come out as fast as the
/// layer has room for them.
final class LayerDecoder: Sendable {
    private enum Item: Sendable {
        case buffer(SampleBuffer)
        /// What was inside is given out, and what follows begins anew.
        case cut
    }

    private struct State: Sendable {
        var waiting: [Item] = []
        /// Encoded buffers among them.
        var count = 0
        /// No more is to come for now: what is inside comes out.
        var isEnding = false
        /// Something is inside the decoder, or between two places.
        var isBusy = false
        var flushes: UInt64 = 0
        /// Pictures from here on are dropped until everything before the last cut is out.
        var limit: MediaTime?
        var isStopping = false
        var thread: WorkerThread?
    }

    /// Encoded buffers that wait at most before a layer is full: what a decoder reorders, and a little more.
    static let depth = 16

    private let codecs: any VideoCodecs
    private let state = Lock(State())
    private let wake = Signal()

    init(_ codecs: any VideoCodecs) { self.codecs = codecs }

    var hasRoom: Bool { state.withLock { $0.count < Self.depth } }
    /// Encoded buffers have come, and it is for them that a layer has room.
    var isInUse: Bool { state.withLock { $0.thread != nil } }
    /// Pictures are still to come of what was enqueued.
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

    /// Drops what begins at a film time or later, also what is inside the decoder.
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

    /// The layer has room for a picture.
    func offer() { wake.raise() }

    /// Ends the thread without waiting for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.raise()
    }

    // MARK: The thread

    /// The thread keeps the decoder and not the layer, so that a layer which is let go ends it.
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

    /// What belongs to the thread alone.
    private struct Work {
        let codecs: any VideoCodecs
        var decoder: (any PictureDecoder)?
        var flushes: UInt64 = 0
        /// The decoder was told that nothing follows.
        var isFinished = false
        /// The decoder may hold pictures.
        var holds = false
        /// It cannot be decoded; dropped until a flush.
        var isRefused = false

        mutating func forget() {
            decoder?.flush()
            (isFinished, holds) = (false, false)
        }
    }

    /// One buffer in or one picture out; false when there is nothing to do or no room.
    private func step(_ work: inout Work, _ layer: DisplayLayer) -> Bool {
        let flushes = state.withLock { $0.flushes }
        if flushes != work.flushes {
            work.forget()
            work.isRefused = false
            work.flushes = flushes
        }
        guard layer.hasRoomForPictures else { return false }
        if work.holds, let picture = work.decoder?.receive() {
            layer.insert(picture, isDecoded: true) { [state] in
                state.withLock { state in
                    guard state.flushes == flushes else { return false }
                    guard let limit = state.limit, let start = picture.presentationTime else { return true }
                    return start < limit
                }
            }
            return true
        }
        if work.isFinished {
            // Everything is out; more may follow all the same.
            work.forget()
            state.withLock { state in
                let isLast = !state.waiting.contains { if case .cut = $0 { true } else { false } }
                if isLast { state.limit = nil }
            }
            return true
        }
        return feed(&work, layer)
    }

    private func feed(_ work: inout Work, _ layer: DisplayLayer) -> Bool {
        let (item, isEnd) = state.withLock { state -> (Item?, Bool) in
            guard state.flushes == work.flushes else { return (nil, false) }
            guard !state.waiting.isEmpty else {
                let isEnd = state.isEnding && state.isBusy
                if !work.holds { state.isBusy = false }
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
        case .cut: end(&work)
        case nil:
            guard isEnd else { return false }
            guard work.holds else {
                layer.decoderIsDone()
                return false
            }
            end(&work)
        }
        return true
    }

    private func end(_ work: inout Work) {
        work.decoder?.finish()
        work.isFinished = true
    }

    private func send(_ buffer: SampleBuffer, _ work: inout Work, _ layer: DisplayLayer) {
        guard case .encodedVideo(let format, _) = buffer.payload else { return }
        do throws(MediaError) {
            let decoder: any PictureDecoder
            if let present = work.decoder { decoder = present } else { decoder = try codecs.decoder(for: format) }
            work.decoder = decoder
            if buffer.flags.contains(.decodeOnly), let end = buffer.end { decoder.discardPictures(before: end) }
            try decoder.send(buffer)
            work.holds = true
        } catch {
            work.isRefused = true
            layer.fail(with: error)
        }
    }
}
