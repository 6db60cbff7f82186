internal import CFFmpeg
internal import MediaCore

/// Detects gaps and outliers in the timestamps of containers with monotonic timestamps: all but transport streams and
/// playlists, which `JumpFollower` follows.
///
/// A timestamp further than the limit from the reading position has one of four causes. The next packets of the track
/// and of the other selected audio and video tracks distinguish them:
/// - The next packet of the same track continues before the gap: the timestamp is wrong and removed.
/// - All tracks jump together: a discontinuity, across which the timeline continues (`TimestampDiscontinuities`).
/// - Another track continues through the gap, and the timestamp is within its index or the film's stated length: a real
///   pause, which is kept.
/// - The same beyond that range: only this track is shifted back to its previous position.
///
/// Video with less than one frame per second (slides, stills) keeps its timestamps within the film's stated length.
/// Exceptions: its next frame continues before the gap, or audio jumps with it. Subtitles follow the other tracks.
///
/// `PauseLimit` bounds the sum of all pauses.
struct GapFollower {
    /// How the other tracks are checked.
    enum Reach {
        /// Their packets are read; these demuxers read them in any case.
        case packets
        /// By the container's index (MP4): its demuxer reads only selected streams.
        case index
    }

    private struct Lane {
        let stream: UnsafeMutablePointer<AVStream>
        var clock: TrackClock
        /// The film time at which the last packet ended; nil before the first packet and after a seek.
        var end: MediaTime?
        /// The timestamp offset of this track alone.
        var own = MediaTime.zero
        var packets = 0
        /// The smoothed packet interval in seconds.
        var spacing = 0.0

        var index: Int32 { stream.pointee.index }
        var isVideo: Bool { stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO }
        /// Whether packets are frequent enough for a gap to be significant; audio packets always are.
        var isDense: Bool { !isVideo || (packets >= 3 && spacing <= 1) }
    }

    private let jumps: TimestampDiscontinuities
    private var pauses: PauseLimit
    private var maxGap: MediaTime { pauses.maxGap }
    let reach: Reach
    private var lanes: [Lane]
    /// The index of the current entry of `jumps`.
    private var jump = 0
    /// The latest film time of any track.
    private var front = MediaTime.zero
    /// The target of a seek, until the first packet.
    private var landing: MediaTime?
    private var isLanded = false

    /// The maximum difference between the offsets of two tracks at a gap that another reader found.
    private static let slack = MediaTime(value: 5, timescale: 1)

    init(
        _ jumps: TimestampDiscontinuities, streams: [UnsafeMutablePointer<AVStream>], origin: FilmOrigin,
        pauses: PauseLimit,
        reach: Reach
    ) {
        self.jumps = jumps
        self.pauses = pauses
        self.reach = reach
        lanes = streams.compactMap { stream in
            stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE
                ? nil : Lane(stream: stream, clock: TrackClock(stream: stream, origin: origin[stream.pointee.index]))
        }
    }

    /// Returns the timestamp offset at a film time, for a seek.
    func shift(at time: MediaTime) -> MediaTime { jumps[jumps.index(at: time)]?.shift ?? .zero }

    private var common: MediaTime { jumps[jump]?.shift ?? .zero }

    /// Resets the state after a seek to a film time.
    mutating func landed(expecting time: MediaTime) {
        (landing, isLanded, front) = (time, true, time)
        pauses.reset()
        for index in lanes.indices { (lanes[index].end, lanes[index].own) = (nil, .zero) }
    }

    /// Returns the offset of a packet's timestamps; nil if the following packets are needed (`decide`).
    mutating func shift(of packet: UnsafeMutablePointer<AVPacket>) -> MediaTime? {
        // Samples that an edit list excludes have times outside of their edit.
        guard let index = lane(of: packet), packet.pointee.flags & AV_PKT_FLAG_DISCARD == 0 else { return common }
        guard let plain = plain(packet, in: lanes[index]) else {
            // Without a timestamp the packet follows its predecessor.
            let lane = lanes[index]
            lanes[index].end = lane.end.map { $0 + lane.clock.length(packet.pointee.duration) }
            return common + lane.own
        }
        if let time = landing {
            landing = nil
            jump = jumps.index(bringing: plain, near: time, within: .init(value: 3600, timescale: 1)) ?? jump
        }
        if !fits(plain + common + lanes[index].own, lanes[index]) {
            let near = max(front, lanes[index].end ?? front)
            let slack = min(Self.slack, limit)
            guard let known = jumps.index(bringing: plain + lanes[index].own, near: near, within: slack) else {
                return nil
            }
            jump = known
        }
        return accept(packet, plain, index)
    }

    private func lane(of packet: UnsafeMutablePointer<AVPacket>) -> Int? {
        lanes.firstIndex { $0.index == packet.pointee.stream_index }
    }

    private func plain(_ packet: UnsafeMutablePointer<AVPacket>, in lane: Lane) -> MediaTime? {
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        return lane.clock.unwrapped(raw).flatMap { lane.clock.filmTime($0) }
    }

    private mutating func accept(
        _ packet: UnsafeMutablePointer<AVPacket>, _ plain: MediaTime, _ index: Int
    ) -> MediaTime {
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        if let raw = lanes[index].clock.unwrapped(raw) { lanes[index].clock.setReference(raw) }
        let shift = common + lanes[index].own
        let time = plain + shift
        let length = lanes[index].clock.length(packet.pointee.duration)
        if let end = lanes[index].end {
            let step = min((time - end + length).seconds.magnitude, maxGap.seconds)
            lanes[index].spacing += (step - lanes[index].spacing) / (lanes[index].packets < 8 ? 2 : 16)
        }
        lanes[index].packets += 1
        let end = length <= maxGap ? time + length : time
        lanes[index].end = end
        if end > front {
            pauses.advance(from: front, to: time, end: end)
            front = end
        }
        return shift
    }

    private var limit: MediaTime { pauses.longest }

    private func fits(_ time: MediaTime, _ lane: Lane) -> Bool {
        guard let end = lane.end else { return time - front <= maxGap && (!isLanded || pauses.isPlausible(time)) }
        return time - max(front, end) <= limit && end - time <= maxGap
    }

    // MARK: Classifying gaps

    /// Whether `decide` needs no packets beyond these.
    func isEnough(_ packets: [UnsafeMutablePointer<AVPacket>]) -> Bool {
        guard let doubtful = packets.first, let own = lane(of: doubtful) else { return true }
        return lanes.indices.allSatisfy { index in
            guard index == own || (reach == .packets && isAsked(index)) else { return true }
            return next(of: index, in: packets) != nil
        }
    }

    /// Whether a track is considered: it is selected and its packets are frequent. Audio counts as frequent until any
    /// track has had a packet.
    private func isAsked(_ index: Int) -> Bool {
        guard jumps.isSelected(lanes[index].index) else { return false }
        return reach == .index
            || (lanes[index].isDense && (lanes[index].packets > 0 || lanes.allSatisfy { $0.packets == 0 }))
    }

    /// Returns the film time of a track's next packet after the doubtful one.
    private func next(of index: Int, in packets: [UnsafeMutablePointer<AVPacket>]) -> MediaTime? {
        for packet in packets.dropFirst() where packet.pointee.stream_index == lanes[index].index {
            if let plain = plain(packet, in: lanes[index]) { return plain + lanes[index].own }
        }
        return nil
    }

    /// Classifies the first packet, the doubtful one, by the following ones, and returns its offset. A wrong timestamp
    /// is removed from the packet.
    ///
    /// - Parameter isLast: Whether the input ends after these packets.
    mutating func decide(_ packets: [UnsafeMutablePointer<AVPacket>], isLast: Bool) -> MediaTime {
        guard let doubtful = packets.first, let own = lane(of: doubtful), let plain = plain(doubtful, in: lanes[own])
        else { return common }
        let shift = common + lanes[own].own
        let expected = max(front, lanes[own].end ?? front)
        let following = next(of: own, in: packets)
        let isSparse = !lanes[own].isDense && lanes[own].packets > 0
        // Video only: a screen recording has no packets while nothing moves.
        let hasAudio = lanes.indices.contains { !lanes[$0].isVideo && isAsked($0) }
        let isPause = pauses.isStill(expected, until: plain + shift, hasAudio: hasAudio)
        let isOutlier =
            following.map { ($0 + common - expected).seconds.magnitude <= limit.seconds }
            ?? (isLast && !(isSparse && isPause))
        if isOutlier {
            if pauses.mayEnd(at: plain) { jumps.record(closed: plain - expected) }
            (doubtful.pointee.pts, doubtful.pointee.dts) = (cff_nopts_value, cff_nopts_value)
            lanes[own].end = lanes[own].end.map { $0 + lanes[own].clock.length(doubtful.pointee.duration) }
            return shift
        }
        // The earliest time at which the tracks continue, and the latest at which one ended.
        var (start, end, isGaplessBoundary) = (plain + lanes[own].own, expected, true)
        var isFilled =
            reach == .packets && pauses.isPlausible(plain + shift)
            && plain + shift - expected <= PauseLimit.longestSilentStill
        if !hasAudio, isPause { (isGaplessBoundary, isFilled) = (false, true) }
        var jumpsWithOthers = false
        for index in lanes.indices where index != own && isAsked(index) {
            if reach == .index, let last = lastEntry(of: index), last + maxGap >= start { isFilled = true }
            let found =
                reach == .index
                ? entries(of: index, after: expected) : (after: next(of: index, in: packets), before: nil)
            if let before = found.before { end = max(end, before) }
            guard let after = found.after else { continue }
            if (after + common - expected).seconds.magnitude <= limit.seconds / 2
                || (start + common > expected && after + limit < start)
            {
                isGaplessBoundary = false
            } else {
                (start, jumpsWithOthers) = (min(start, after), true)
            }
        }
        if isSparse, !jumpsWithOthers {
            (isGaplessBoundary, isFilled) = (false, isPause || (reach == .index && isFilled))
        }
        if isGaplessBoundary {
            if let made = jumps.add(
                .init(shift: end - start, position: doubtful.pointee.pos.boundedBytes ?? 0, film: end))
            {
                jump = made
            }
        } else if !isFilled || plain + shift < expected {
            lanes[own].own += expected - (plain + shift)
        }
        if pauses.mayInclude(plain) { jumps.record(closed: .zero - common - lanes[own].own) }
        return accept(doubtful, plain, own)
    }

    private func lastEntry(of index: Int) -> MediaTime? {
        let lane = lanes[index]
        let count = avformat_index_get_entries_count(lane.stream)
        guard count > 0, let entry = avformat_index_get_entry(lane.stream, count - 1) else { return nil }
        return lane.clock.filmTime(entry.pointee.timestamp)
    }

    /// Returns a track's first index entry at least one second after a film time, and the entry before it.
    private func entries(of index: Int, after expected: MediaTime) -> (after: MediaTime?, before: MediaTime?) {
        let lane = lanes[index]
        let wanted = lane.clock.raw(expected + MediaTime(value: 1, timescale: 1) - common)
        let found = av_index_search_timestamp(lane.stream, wanted, AVSEEK_FLAG_ANY)
        let count = avformat_index_get_entries_count(lane.stream)
        func time(_ entry: Int32) -> MediaTime? {
            guard (0..<count).contains(entry), let entry = avformat_index_get_entry(lane.stream, entry) else {
                return nil
            }
            return lane.clock.filmTime(entry.pointee.timestamp)
        }
        return (found >= 0 ? time(found) : nil, time((found >= 0 ? found : count) - 1).map { $0 + common })
    }
}
