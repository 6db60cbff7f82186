internal import CFFmpeg
internal import MediaCore

/// Reads one track of subtitles through an input of its own, with another track as a pace-maker.
///
/// libavformat reads on until it finds a packet of a stream that is wanted: minutes of film, where the only one is subtitles. So
/// one stream more is wanted, whose packets say how far reading has come and are dropped. Whenever that is a second
/// without a subtitle, a buffer without packets is given out.
///
/// `@unchecked Sendable`: all state but the cancellation is used by one thread at a time, which `use` enforces.
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
    private var packager: PacketPackager
    /// Whose packets tell how far reading has come; nil in a file of subtitles alone.
    private let pace: Companion?
    /// What a container has its index for: the picture, where there is one.
    private let leader: Companion?
    private var paceClock: TrackClock?
    private let seeker: PacketPackager
    private var progress = SubtitlePace()
    private let jumps: StampJumps
    private var epoch: Int64 = 0
    private let use = SoleUse("SubtitleReader")

    /// A subtitle that began this long before the target of a jump may still be up: few are shown for longer.
    static let preroll = MediaTime(value: 10, timescale: 1)

    init(
        track: Track, context: DemuxContext, stream: UnsafeMutablePointer<AVStream>, companions: [Companion],
        origin: FilmOrigin, jumps: StampJumps, cancellation: Cancellation, options: ReadOptions
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
        packager = PacketPackager(track: track, stream: stream, clock: clock, batch: options.audioBatch)
        let moving = companions.filter { !$0.track.isCoverArt }
        leader = moving.first { $0.track.kind == .video } ?? moving.first
        pace = Self.paceMaker(among: moving)
        paceClock = pace.map(companionClock)
        seeker =
            leader.map {
                PacketPackager(
                    track: $0.track, stream: $0.stream, clock: companionClock($0),
                    batch: options.audioBatch)
            } ?? packager
        keepStreams(withLeader: false)
    }

    /// The stream with the fewest bytes: sound, and of several the one that says so.
    private static func paceMaker(among companions: [Companion]) -> Companion? {
        let sound = companions.filter { $0.track.kind == .audio }
        func rate(_ companion: Companion) -> Int64 {
            let rate = companion.track.audioFormat?.parameters.bitRate ?? 0
            return rate > 0 ? rate : .max
        }
        return sound.min { rate($0) < rate($1) } ?? companions.first
    }

    /// Where stamps may jump, sound and pictures are looked at anyway.
    private func keepStreams(withLeader: Bool) {
        if context.follower != nil || context.gaps?.reach == .packets { return }
        var wanted: Set<Int32> = [stream]
        if let pace { wanted.insert(pace.index) }
        if withLeader, let leader { wanted.insert(leader.index) }
        context.keepOnly { wanted.contains($0) }
    }

    /// As `TrackReader.settleEpoch`.
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
        use.enter()
        defer { use.leave() }
        while true {
            if let buffer = packager.takeReady() {
                progress.gave(buffer.presentationTime)
                return buffer
            }
            let next = try context.nextPacket()
            if let error = context.takeLostSegment() {
                if let next { context.putBack(next) }
                throw error
            }
            guard let packet = next else {
                if let shortfall = context.shortfall() { throw shortfall }
                return nil
            }
            if packet.pointee.stream_index == stream {
                packager.add(packet, shift: context.shift, isNewRecording: context.gaps == nil)
            } else if packet.pointee.stream_index == pace?.index, let moment = paceMoment(packet),
                let told = progress.moment(at: moment)
            {
                return packager.pace(at: told)
            }
        }
    }

    private static func stamp(of packet: UnsafeMutablePointer<AVPacket>) -> Int64? {
        // In order of decoding, which is in order.
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        return raw != cff_nopts_value ? raw : nil
    }

    private func paceMoment(_ packet: UnsafeMutablePointer<AVPacket>) -> MediaTime? {
        guard let clock = paceClock, let stamp = Self.stamp(of: packet).flatMap(clock.unwrapped) else { return nil }
        paceClock?.follow(stamp)
        return clock.filmTime(stamp).map { $0 + context.shift }
    }

    /// Goes to a place before the target from which everything is given out that may still be up there.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        use.enter()
        defer { use.leave() }
        let goal = max(.zero, time - Self.preroll)
        progress = SubtitlePace()
        packager.reset(decodeOnlyBefore: nil, expecting: packager.clock.raw(goal))
        if let clock = paceClock { paceClock?.follow(clock.raw(goal)) }
        guard let pace else {
            let plan = SeekPlan(track: track, stream: stream, target: goal, mode: .syncBefore)
            try plan.jump(context, to: goal) { packager.clock.raw($0) &- epoch }
            return goal
        }
        keepStreams(withLeader: true)
        defer { keepStreams(withLeader: false) }
        let leader = leader ?? pace
        func go(to goal: MediaTime) throws(MediaError) -> MediaTime? {
            let plan = SeekPlan(track: leader.track, stream: leader.index, target: goal, mode: .syncBefore)
            return try plan.runKeeping(on: context, packager: seeker, epoch: epoch, jumps: jumps) { packet in
                packet.pointee.stream_index == pace.index ? paceMoment(packet) : nil
            }
        }
        var landed = try go(to: goal)
        // Behind the jump, because Matroska's index is read with the first.
        let earlier = SubtitleReach(context, stream: stream, leader: leader.index, clock: packager.clock)?.start(
            for: time)
        if let earlier, let place = landed, earlier < min(goal, place) {
            packager.reset(decodeOnlyBefore: nil, expecting: packager.clock.raw(earlier))
            if let clock = paceClock { paceClock?.follow(clock.raw(earlier)) }
            landed = try go(to: earlier)
        }
        return landed.map { min($0, time) }
    }

    func cancel() { cancellation.cancel() }
}
