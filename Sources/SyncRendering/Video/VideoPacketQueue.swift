package import MediaCore

/// The packets of a video track that wait for its decoder, in stream order. Any thread; nothing blocks.
package final class VideoPacketQueue: Sendable {
    /// What the decoder processes next.
    enum Item: Sendable {
        case packet(SampleBuffer)
        /// The decoder is drained before the next packet. Frames of the packets before that start at this media time or
        /// later are dropped; nil: none are.
        case drain(cut: MediaTime?)

        var packet: SampleBuffer? { if case .packet(let packet) = self { packet } else { nil } }
        var cut: MediaTime? { if case .drain(let cut) = self { cut } else { nil } }
        /// Its memory; a packet occupies about 20 KB besides its bytes.
        var byteCount: Int {
            guard case .encodedVideo(_, let batch)? = packet?.payload else { return 0 }
            return batch.byteCount + (20 << 10)
        }
    }

    /// Guarded by the lock `state`.
    private struct State {
        var waiting: [Item] = []
        /// The memory of the waiting packets in bytes.
        var byteCount = 0
        /// Whether frames of packets that were taken are outstanding.
        var isBusy = false
        var flushes: UInt64 = 0
        /// The earliest cut whose packets were not decoded completely.
        var limit: MediaTime?

        /// Withdraws the end of the packets.
        mutating func reopen() { if case .drain(nil)? = waiting.last { waiting.removeLast() } }

        mutating func removeAll() {
            waiting.removeAll(keepingCapacity: true)
            (byteCount, isBusy, limit) = (0, false, nil)
            flushes += 1
        }
    }

    private let state = Lock(State())
    /// Raised for the thread of a decoder after each change; nil if the enqueuing thread decodes.
    private let signal: Signal?

    package init(raising signal: Signal? = nil) { self.signal = signal }

    /// The number of waiting packets and cuts.
    package var count: Int { state.withLock { $0.waiting.count } }
    /// The memory of the waiting packets in bytes.
    package var byteCount: Int { state.withLock { $0.byteCount } }
    /// Whether packets wait, or frames of packets are outstanding.
    var isBusy: Bool { state.withLock { $0.isBusy || $0.waiting.contains { $0.packet != nil } } }
    /// The format of the first waiting packet; nil if there is none.
    var nextFormat: VideoFormat? {
        state.withLock { state in
            for item in state.waiting {
                if case .encodedVideo(let format, _)? = item.packet?.payload { return format }
            }
            return nil
        }
    }
    /// The number of flushes.
    var flushes: UInt64 { state.withLock { $0.flushes } }

    /// Appends a packet, also after the end was signalled.
    package func append(_ packet: SampleBuffer) {
        change { state in
            state.reopen()
            let item = Item.packet(packet)
            state.waiting.append(item)
            state.byteCount += item.byteCount
        }
    }

    /// Signals the end of the packets.
    package func finish() {
        change { state in
            state.reopen()
            state.waiting.append(.drain(cut: nil))
        }
    }

    /// Drops all packets, and the frames in the decoder.
    func flush() { change { $0.removeAll() } }

    /// Same, unless there was a flush meanwhile; returns false then.
    ///
    /// - Parameter flushes: The number of flushes before.
    func flush(since flushes: UInt64) -> Bool {
        let isFlushed = state.withLock { state in
            if state.flushes == flushes { state.removeAll() }
            return state.flushes == flushes + 1
        }
        signal?.raise()
        return isFlushed
    }

    /// Drops the frames that start at a media time or later, including those in the decoder. Packets that are appended
    /// later are not affected.
    func cut(at time: MediaTime) {
        change { state in
            state.reopen()
            // Others may be references of packets after them that are shown earlier.
            while let start = state.waiting.last?.packet?.presentationTime, start >= time {
                state.byteCount -= state.waiting.removeLast().byteCount
            }
            state.limit = min(state.limit ?? time, time)
            if let before = state.waiting.last?.cut, before <= time { return }
            state.waiting.append(.drain(cut: time))
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock(body)
        signal?.raise()
    }

    // MARK: Decoder

    /// Removes and returns the next item; nil if there is none, or after a flush that the decoder has not executed.
    func next(since flushes: UInt64) -> Item? {
        state.withLock { state in
            guard state.flushes == flushes, !state.waiting.isEmpty else { return nil }
            let item = state.waiting.removeFirst()
            state.byteCount -= item.byteCount
            if item.packet != nil { state.isBusy = true }
            return item
        }
    }

    /// Returns false for a frame that left the decoder after a flush or belongs to what was cut.
    func isWanted(_ frame: SampleBuffer, since flushes: UInt64) -> Bool {
        state.withLock { state in
            guard state.flushes == flushes else { return false }
            guard let limit = state.limit, let start = frame.presentationTime else { return true }
            return start < limit
        }
    }

    /// Records that the decoder is drained. Cuts that wait remain.
    func recordDrained() {
        state.withLock { ($0.isBusy, $0.limit) = (false, $0.waiting.lazy.compactMap(\.cut).min()) }
    }
}
