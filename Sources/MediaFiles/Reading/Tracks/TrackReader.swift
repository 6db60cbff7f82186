internal import CFFmpeg
import MediaCore

/// Reads one track through its own input, independent of other readers.
///
/// `@unchecked Sendable`: one thread at a time uses all state except the cancellation, which `use` enforces.
final class TrackReader: SampleSource, @unchecked Sendable {
    /// The track that is read.
    let track: Track
    private let context: DemuxContext
    /// The stream's number in the film; the streams themselves are freed when an input is reopened.
    private let stream: Int32
    private let cancellation: Cancellation
    private var packager: PacketBatcher
    private let jumps: TimestampDiscontinuities
    /// The difference in ticks between timestamps of this input and the film: a multiple of the wraparound period.
    /// 0 until `settleEpoch`.
    private var epoch: Int64 = 0
    /// The error of skipped segments, thrown after the samples read before them.
    private var lostSegment: MediaError?
    private let use = ExclusiveUseCheck("TrackReader")

    init(
        track: Track, context: DemuxContext, stream: UnsafeMutablePointer<AVStream>, origin: MediaTime,
        jumps: TimestampDiscontinuities, cancellation: Cancellation, options: ReadOptions
    ) {
        self.track = track
        self.context = context
        self.stream = context.film.number(of: stream.pointee.index)
        self.cancellation = cancellation
        self.jumps = jumps
        let clock = TrackClock(stream: stream, origin: origin)
        packager = PacketBatcher(track: track, stream: stream, clock: clock, batch: options.audioBatch)
        let index = self.stream
        if !context.needsOtherStreams { context.discardExcept { $0 == index } }
    }

    /// Determines the wraparound of this input from its first packet, so that a seek before any read is correct.
    /// Blocks.
    func settleEpoch() throws(MediaError) {
        guard packager.clock.wraps else { return }
        let packing = packager
        var found: Int64?
        try context.prime { packet in
            found = packing.epoch(of: packet)
            return found != nil
        }
        epoch = found ?? 0
    }

    /// Returns the next buffer; nil at the end. Blocks. Buffers read before a failure are returned first.
    func read() throws(MediaError) -> SampleBuffer? {
        use.beginUse()
        defer { use.endUse() }
        while true {
            if let buffer = packager.nextReady() { return buffer }
            if let error = lostSegment.take() { throw error }
            let next: UnsafeMutablePointer<AVPacket>?
            do throws(MediaError) { next = try context.nextPacket() } catch {
                // The samples read before the failure are returned first; the next call fails again.
                packager.close()
                guard error.code != .cancelled, let buffer = packager.nextReady() else { throw error }
                return buffer
            }
            lostSegment = context.consumeLostSegment()
            if lostSegment != nil {
                if let next { context.putBack(next) }
                packager.close()
                continue
            }
            guard let packet = next else {
                packager.close()
                if let buffer = packager.nextReady() { return buffer }
                if let shortfall = context.shortfall() { throw shortfall }
                return nil
            }
            if packet.pointee.stream_index == stream {
                packager.add(
                    packet, shift: context.shift, isNewRecording: context.gaps == nil,
                    of: context.parameters(of: packet))
            }
        }
    }

    /// Seeks and returns the film time of the next packet; nil if none was found. Blocks.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        use.beginUse()
        defer { use.endUse() }
        lostSegment = nil
        let plan = SeekPlan(track: track, stream: stream, target: time, mode: mode)
        packager.reset(decodeOnlyBefore: mode == .exact ? time : nil, expecting: packager.clock.raw(time))
        return try plan.run(on: context, packager: packager, epoch: epoch, jumps: jumps)
    }

    /// Returns the film time of the last sync sample at or before `time` from the index; nil if unknown. Does not
    /// block.
    func syncTime(before time: MediaTime) -> MediaTime? {
        use.beginUse()
        defer { use.endUse() }
        guard !packager.clock.wraps, jumps.count <= 1, !context.film.isReopened,
            let stream = context.streams.first(where: { $0.pointee.index == stream })
        else { return nil }
        let raw = packager.clock.raw(time) &- epoch
        // The index may still grow while the file is read; its end proves nothing.
        guard av_index_search_timestamp(stream, raw, 0) >= 0 else { return nil }
        let index = av_index_search_timestamp(stream, raw, AVSEEK_FLAG_BACKWARD)
        guard index >= 0, let entry = avformat_index_get_entry(stream, index) else { return nil }
        return packager.clock.filmTime(entry.pointee.timestamp.boundedTicks.map { $0 &+ epoch } ?? cff_nopts_value)
    }

    /// Cancels reading. Any thread; returns at once.
    func cancel() { cancellation.cancel() }
}
