internal import CFFmpeg
internal import MediaCore

/// Reads one subtitle track through its own input, with another track for its reading position.
///
/// libavformat reads until it finds a packet of a selected stream, which takes minutes of film with subtitles alone. A
/// second stream is therefore selected. Its packets show the reading position and are dropped. After each second
/// without a subtitle, a buffer without packets is returned.
///
/// `@unchecked Sendable`: one thread at a time uses all state except the cancellation, which `use` enforces.
final class SubtitleReader: SampleSource, @unchecked Sendable {
    /// Another track of the same input.
    struct Companion {
        var track: Track
        var stream: UnsafeMutablePointer<AVStream>
        var index: Int32 { stream.pointee.index }
    }

    let track: Track
    private let context: DemuxContext
    private let stream: Int32
    private let cancellation: Cancellation
    private var packager: PacketBatcher
    /// The track whose packets show the reading position; nil in a subtitle file.
    private let pace: Companion?
    /// The track that the container's index covers: video, if there is any.
    private let leader: Companion?
    private var paceClock: TrackClock?
    private let seeker: PacketBatcher
    private var progress = SubtitlePace()
    private let jumps: TimestampDiscontinuities
    private var epoch: Int64 = 0
    private let use = ExclusiveUseCheck("SubtitleReader")

    /// Subtitles that began this long before the target of a seek may still be shown; few last longer.
    static let preroll = MediaTime(value: 10, timescale: 1)

    init(
        track: Track, context: DemuxContext, stream: UnsafeMutablePointer<AVStream>, companions: [Companion],
        origin: FilmOrigin, jumps: TimestampDiscontinuities, cancellation: Cancellation, options: ReadOptions
    ) {
        self.track = track
        self.context = context
        self.stream = stream.pointee.index
        self.cancellation = cancellation
        self.jumps = jumps
        func companionClock(_ companion: Companion) -> TrackClock {
            TrackClock(stream: companion.stream, origin: origin[Int32(clamping: companion.track.id)])
        }
        let clock = TrackClock(stream: stream, origin: origin[Int32(clamping: track.id)])
        packager = PacketBatcher(track: track, stream: stream, clock: clock, batch: options.audioBatch)
        let moving = companions.filter { !$0.track.isCoverArt }
        leader = moving.first { $0.track.kind == .video } ?? moving.first
        pace = Self.paceMaker(among: moving)
        paceClock = pace.map(companionClock)
        seeker =
            leader.map {
                PacketBatcher(
                    track: $0.track, stream: $0.stream, clock: companionClock($0),
                    batch: options.audioBatch)
            } ?? packager
        selectStreams(withLeader: false)
    }

    /// Returns the track with the fewest bytes: audio, of several the one with the lowest stated bit rate.
    private static func paceMaker(among companions: [Companion]) -> Companion? {
        let audio = companions.filter { $0.track.kind == .audio }
        func rate(_ companion: Companion) -> Int64 {
            let rate = companion.track.audioFormat?.parameters.bitRate ?? 0
            return rate > 0 ? rate : .max
        }
        return audio.min { rate($0) < rate($1) } ?? companions.first
    }

    /// Selects the streams to read. With possible discontinuities, audio and video are read in any case.
    private func selectStreams(withLeader: Bool) {
        if context.needsOtherStreams { return }
        var wanted: Set<Int32> = [stream]
        if let pace { wanted.insert(pace.index) }
        if withLeader, let leader { wanted.insert(leader.index) }
        context.discardExcept { wanted.contains($0) }
    }

    /// Same as `TrackReader.settleEpoch`.
    func settleEpoch() throws(MediaError) {
        guard let pace, let clock = paceClock, clock.wraps else { return }
        var found: Int64?
        try context.prime { packet in
            guard packet.pointee.stream_index == pace.index, let raw = Self.stamp(of: packet) else { return false }
            found = clock.unwrapped(raw).map { $0 &- raw }
            return found != nil
        }
        epoch = found ?? 0
    }

    func read() throws(MediaError) -> SampleBuffer? {
        use.beginUse()
        defer { use.endUse() }
        while true {
            if let buffer = packager.nextReady() {
                progress.gave(buffer.presentationTime)
                return buffer
            }
            let next = try context.nextPacket()
            if let error = context.consumeLostSegment() {
                if let next { context.putBack(next) }
                throw error
            }
            guard let packet = next else {
                if let shortfall = context.shortfall() { throw shortfall }
                return nil
            }
            if packet.pointee.stream_index == stream {
                packager.add(packet, shift: context.shift, isNewRecording: context.gaps == nil)
            } else if packet.pointee.stream_index == pace?.index, let time = paceTime(packet),
                let reported = progress.nextTime(at: time)
            {
                return packager.pace(at: reported)
            }
        }
    }

    private static func stamp(of packet: UnsafeMutablePointer<AVPacket>) -> Int64? {
        // Decode timestamps are monotonic.
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        return raw != cff_nopts_value ? raw : nil
    }

    private func paceTime(_ packet: UnsafeMutablePointer<AVPacket>) -> MediaTime? {
        guard let clock = paceClock, let stamp = Self.stamp(of: packet).flatMap(clock.unwrapped) else { return nil }
        paceClock?.setReference(stamp)
        return clock.filmTime(stamp).map { $0 + context.shift }
    }

    /// Seeks to a position from which all subtitles that may be shown at the target are returned. Blocks.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        use.beginUse()
        defer { use.endUse() }
        let goal = max(.zero, time - Self.preroll)
        progress = SubtitlePace()
        packager.reset(decodeOnlyBefore: nil, expecting: packager.clock.raw(goal))
        if let clock = paceClock { paceClock?.setReference(clock.raw(goal)) }
        guard let pace else {
            let plan = SeekPlan(track: track, stream: stream, target: goal, mode: .syncBefore)
            try plan.jump(context, to: goal) { packager.clock.raw($0) &- epoch }
            return goal
        }
        selectStreams(withLeader: true)
        defer { selectStreams(withLeader: false) }
        let leader = leader ?? pace
        func seekLeader(to goal: MediaTime) throws(MediaError) -> MediaTime? {
            let plan = SeekPlan(track: leader.track, stream: leader.index, target: goal, mode: .syncBefore)
            return try plan.runKeeping(on: context, packager: seeker, epoch: epoch, jumps: jumps) { packet in
                packet.pointee.stream_index == pace.index ? paceTime(packet) : nil
            }
        }
        var landed = try seekLeader(to: goal)
        // After the seek, because Matroska's index is read by the first seek.
        let earlier = SubtitleReach(context, stream: stream, leader: leader.index, clock: packager.clock)?.start(
            for: time)
        if let earlier, let reached = landed, earlier < min(goal, reached) {
            packager.reset(decodeOnlyBefore: nil, expecting: packager.clock.raw(earlier))
            if let clock = paceClock { paceClock?.setReference(clock.raw(earlier)) }
            landed = try seekLeader(to: earlier)
        }
        return landed.map { min($0, time) }
    }

    func cancel() { cancellation.cancel() }
}
