internal import CFFmpeg
public import MediaCore

/// Reads one track of a film through an input of its own, independent of every other track's reader.
///
/// `@unchecked Sendable`: all state but the cancellation is used by one thread at a time, which `use` enforces.
public final class TrackReader: SampleSource, @unchecked Sendable {
    public let track: Track
    private let context: DemuxContext
    /// Its stream's number in the film: streams themselves go where an input is opened anew.
    private let stream: Int32
    private let cancellation: Cancellation
    private var packager: PacketPackager
    private let jumps: StampJumps
    /// Whole turns of wrapping stamps by which this input differs from the film; nil before the first packet.
    private var epoch: Int64 = 0
    /// Why segments were skipped, thrown after what was read before them.
    private var lostSegment: MediaError?
    private let use = SoleUse("TrackReader")

    init(
        track: Track, context: DemuxContext, stream: UnsafeMutablePointer<AVStream>, origin: MediaTime,
        jumps: StampJumps, cancellation: Cancellation, options: ReadOptions
    ) {
        self.track = track
        self.context = context
        self.stream = context.film.number(of: stream.pointee.index)
        self.cancellation = cancellation
        self.jumps = jumps
        let clock = TrackClock(stream: stream, origin: origin)
        packager = PacketPackager(track: track, stream: stream, clock: clock, batch: options.audioBatch)
        let index = self.stream
        // Where stamps may jump, the other tracks are looked at to tell a jump from a hole.
        if context.follower == nil, context.gaps?.reach != .packets { context.keepOnly { $0 == index } }
    }

    /// Learns from the first packet of the input which turn its wrapping stamps are on, so that a jump that comes
    /// before any reading finds its place.
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

    /// Packets that the container had damaged beyond reading, so far.
    public var damagedPackets: Int { context.damagedPackets }

    public func read() throws(MediaError) -> SampleBuffer? {
        use.enter()
        defer { use.leave() }
        while true {
            if let buffer = packager.takeReady() { return buffer }
            if let error = lostSegment.take() { throw error }
            let next: UnsafeMutablePointer<AVPacket>?
            do throws(MediaError) { next = try context.nextPacket() } catch {
                // What was read before the failure is given out first; the next call fails again.
                packager.close()
                guard error.code != .cancelled, let buffer = packager.takeReady() else { throw error }
                return buffer
            }
            lostSegment = context.takeLostSegment()
            if lostSegment != nil {
                if let next { context.putBack(next) }
                packager.close()
                continue
            }
            guard let packet = next else {
                packager.close()
                if let buffer = packager.takeReady() { return buffer }
                if let shortfall = context.shortfall() { throw shortfall }
                return nil
            }
            if packet.pointee.stream_index == stream {
                packager.add(packet, shift: context.shift, isNewRecording: context.gaps == nil)
            }
        }
    }

    @discardableResult
    public func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        use.enter()
        defer { use.leave() }
        lostSegment = nil
        let plan = SeekPlan(track: track, stream: stream, target: time, mode: mode)
        packager.reset(decodeOnlyBefore: mode == .exact ? time : nil, expecting: packager.clock.raw(time))
        return try plan.run(on: context, packager: packager, epoch: epoch, jumps: jumps)
    }

    public func syncTime(before time: MediaTime) -> MediaTime? {
        use.enter()
        defer { use.leave() }
        guard !packager.clock.wraps, jumps.count <= 1, !context.film.isOpenedAnew,
            let stream = context.streams.first(where: { $0.pointee.index == stream })
        else { return nil }
        let raw = packager.clock.raw(time) &- epoch
        // An index that ends before the place may be one that grows while the file is read.
        guard av_index_search_timestamp(stream, raw, 0) >= 0 else { return nil }
        let index = av_index_search_timestamp(stream, raw, AVSEEK_FLAG_BACKWARD)
        guard index >= 0, let entry = avformat_index_get_entry(stream, index) else { return nil }
        return packager.clock.filmTime(entry.pointee.timestamp.boundedTicks.map { $0 &+ epoch } ?? cff_nopts_value)
    }

    public func cancel() { cancellation.cancel() }
}
