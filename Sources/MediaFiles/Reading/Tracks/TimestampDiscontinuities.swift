internal import CFFmpeg
internal import MediaCore

/// The timestamp discontinuities of a film: joined recordings, or a sender that restarted.
///
/// Playback continues across a discontinuity. The first reader that finds one determines the offset of later
/// timestamps. All other readers adopt this offset there, so that audio and video are shifted by exactly the same
/// amount. Any thread.
final class TimestampDiscontinuities: Sendable {
    struct Jump: Sendable {
        /// Added to all later timestamps.
        var shift: MediaTime
        /// The approximate byte position, and the film time there.
        var position: Int64
        var film: MediaTime
    }

    /// The first entry is the start of the film, with no offset.
    private let jumps = Lock<[Jump]>([Jump(shift: .zero, position: .min, film: .zero)])

    /// The streams that are read.
    private let selected = Lock<Set<Int32>>([])

    func select(_ stream: Int32) { selected.withLock { _ = $0.insert(stream) } }

    func isSelected(_ stream: Int32) -> Bool { selected.withLock { $0.contains(stream) } }

    private let longestClosed = Lock(MediaTime.zero)

    /// The largest film time by which gaps in the timestamps of a track were shortened.
    var closed: MediaTime { longestClosed.withLock { $0 } }

    func record(closed time: MediaTime) { longestClosed.withLock { $0 = max($0, time) } }

    /// The maximum number of discontinuities; more are noise.
    private static let maxCount = 10_000

    var count: Int { jumps.withLock { $0.count } }

    subscript(index: Int) -> Jump? { jumps.withLock { index < $0.count ? $0[index] : nil } }

    /// Returns the index of the discontinuity in effect at a byte position.
    func index(at position: Int64) -> Int {
        jumps.withLock { $0.lastIndex { $0.position <= position } ?? 0 }
    }

    /// Returns the index of the discontinuity in effect at a film time.
    func index(at time: MediaTime) -> Int {
        jumps.withLock { all in
            // Entries found after seeks are unordered.
            all.indices.filter { all[$0].film <= time }.max { (all[$0].film, $0) < (all[$1].film, $1) } ?? 0
        }
    }

    /// Returns the entry whose offset brings `plain` nearest to `time`, within `slack`; nil if there is none.
    func index(bringing plain: MediaTime, near time: MediaTime, within slack: MediaTime) -> Int? {
        func distance(_ jump: Jump) -> MediaTime { max(plain + jump.shift - time, time - plain - jump.shift) }
        return jumps.withLock { all in
            all.indices.filter { distance(all[$0]) <= slack }.min { distance(all[$0]) < distance(all[$1]) }
        }
    }

    /// Appends an entry and returns its index; nil if there are too many.
    func add(_ jump: Jump) -> Int? {
        jumps.withLock { all in
            if all.count >= Self.maxCount { return nil }
            all.append(jump)
            return all.count - 1
        }
    }
}

/// Follows one input through its timestamp discontinuities, all streams together.
///
/// A gap in one stream is not a discontinuity while others continue, so all streams are checked even if only one is
/// read.
struct JumpFollower {
    private struct Lane {
        var clock: TrackClock
        /// The index of the stream's current discontinuity, and the film time at which its last packet ended.
        var jump = 0
        var end: MediaTime?
        var packets = 0
        /// The smoothed packet interval in seconds.
        var spacing = 0.0
        let isVideo: Bool

        /// Whether the video consists of slides, whose gaps are not discontinuities.
        var isSlides: Bool { isVideo && packets >= 2 && spacing > 1 }
    }

    private let jumps: TimestampDiscontinuities
    /// Whether byte positions are meaningful: not if the demuxer concatenates files (HLS).
    private let hasPositions: Bool
    private var lanes: [Int32: Lane] = [:]
    /// Subtitle streams, whose gaps are not significant; they use the offsets of the other streams.
    private var sparse: [Int32: TrackClock] = [:]
    /// The latest film time of any stream.
    private var front: MediaTime?
    private var pauses: PauseLimit
    /// The film time at which the gap of lost segments ends; nil if none was lost.
    private var holeEnd: MediaTime?
    /// The byte position of the last packet that has one.
    private var position: Int64 = 0
    /// The target of a seek, until the first packet.
    private var landing: MediaTime?
    /// The target of the last seek.
    private var landed: MediaTime?
    /// The film time of a segment after a discontinuity according to its playlist, until its first packet.
    private var piece: MediaTime?

    /// The largest backward step of a stream that is not a discontinuity.
    private static let stepBack = MediaTime(value: -3, timescale: 10)
    /// The maximum lead of one stream over all others (ten seconds, as in other players).
    private static let leap = MediaTime(value: 10, timescale: 1)

    init(
        _ jumps: TimestampDiscontinuities, streams: [UnsafeMutablePointer<AVStream>],
        of film: FilmStreams = FilmStreams(),
        origin: FilmOrigin, pauses: PauseLimit, hasPositions: Bool
    ) {
        self.jumps = jumps
        self.pauses = pauses
        self.hasPositions = hasPositions
        for stream in streams {
            let clock = TrackClock(stream: stream, origin: origin[film.number(of: stream.pointee.index)])
            if stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE {
                sparse[film.number(of: stream.pointee.index)] = clock
            } else {
                lanes[film.number(of: stream.pointee.index)] = Lane(
                    clock: clock, isVideo: stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO)
            }
        }
    }

    /// Returns the offset for the timestamps of a packet.
    mutating func shift(of packet: UnsafeMutablePointer<AVPacket>) -> MediaTime {
        if packet.pointee.pos >= 0 { position = packet.pointee.pos }
        if let time = landing { land(expecting: time) }
        let stream = packet.pointee.stream_index
        if let clock = sparse[stream] { return shiftOfSubtitle(packet, clock) }
        guard var lane = lanes[stream] else { return .zero }
        defer { lanes[stream] = lane }
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        guard let stamp = lane.clock.unwrapped(raw), let plain = lane.clock.filmTime(stamp) else {
            return jumps[lane.jump]?.shift ?? .zero
        }
        lane.clock.setReference(stamp)
        if let time = piece {
            piece = nil
            selectOffset(plain, near: time)
            lane.jump = lanes[stream]?.jump ?? lane.jump
        }
        if !fits(plain, lane, jumps[lane.jump]) {
            if let next = later(than: lane.jump, fitting: plain, lane) {
                lane.jump = next
            } else if let end = lane.end ?? front ?? landed,
                let made = jumps.add(.init(shift: end - plain, position: position, film: end))
            {
                lane.jump = made
            }
        }
        let shift = jumps[lane.jump]?.shift ?? .zero
        advance(&lane, by: packet, at: plain + shift)
        return shift
    }

    /// Records a packet that was read before; its timestamps stay as they are.
    mutating func record(_ packet: UnsafeMutablePointer<AVPacket>) {
        guard var lane = lanes[packet.pointee.stream_index] else { return }
        let raw = packet.pointee.dts != cff_nopts_value ? packet.pointee.dts : packet.pointee.pts
        guard let stamp = lane.clock.unwrapped(raw), let plain = lane.clock.filmTime(stamp) else { return }
        lane.clock.setReference(stamp)
        advance(&lane, by: packet, at: plain)
        lanes[packet.pointee.stream_index] = lane
    }

    private mutating func advance(_ lane: inout Lane, by packet: UnsafeMutablePointer<AVPacket>, at time: MediaTime) {
        let length = lane.clock.length(packet.pointee.duration)
        if let last = lane.end {
            let step = min((time + length - last).seconds.magnitude, 60)
            lane.spacing += (step - lane.spacing) / (lane.packets < 8 ? 2 : 16)
        }
        lane.packets += 1
        let end = time + (length > Self.leap ? .zero : length)
        lane.end = end
        if front.map({ $0 < end }) ?? true {
            if let front { pauses.advance(from: front, to: time, end: end) }
            front = end
        }
    }

    /// Returns the offset among those of the other streams that brings a subtitle nearest to the reading position.
    private func shiftOfSubtitle(_ packet: UnsafeMutablePointer<AVPacket>, _ clock: TrackClock) -> MediaTime {
        let shifts = lanes.values.compactMap { jumps[$0.jump]?.shift }
        let raw = packet.pointee.pts != cff_nopts_value ? packet.pointee.pts : packet.pointee.dts
        guard let front, let plain = clock.unwrapped(raw).flatMap({ clock.filmTime($0) }) else {
            return shifts.first ?? .zero
        }
        func distance(_ shift: MediaTime) -> MediaTime { max(plain + shift - front, front - plain - shift) }
        return shifts.min { distance($0) < distance($1) } ?? .zero
    }

    private func later(than jump: Int, fitting plain: MediaTime, _ lane: Lane) -> Int? {
        var next = jump + 1
        while let candidate = jumps[next] {
            if fits(plain, lane, candidate) { return next }
            next += 1
        }
        return nil
    }

    private func fits(_ plain: MediaTime, _ lane: Lane, _ jump: TimestampDiscontinuities.Jump?) -> Bool {
        guard let jump else { return false }
        let time = plain + jump.shift
        if let end = lane.end, time - end < Self.stepBack { return false }
        guard let front else { return landed == nil || pauses.isPlausible(time) }
        if time - front <= min(Self.leap, pauses.longest) { return true }
        if let holeEnd, time <= holeEnd + Self.leap { return true }
        return lane.isSlides && pauses.isStill(front, until: time, hasAudio: lanes.values.contains { !$0.isVideo })
    }

    /// Accepts a gap of the duration of a skipped segment. Otherwise a track with its own playlist would be shifted
    /// against the others.
    mutating func expectHole(of length: MediaTime) {
        let start = max(holeEnd ?? .zero, front ?? landed ?? .zero)
        holeEnd = start + min(length, PauseLimit.longestSilentStill)
    }

    /// Resets the state after a seek to about this byte and film time.
    mutating func jumped(near byte: Int64, expecting time: MediaTime) {
        position = byte
        (landing, landed) = (time, time)
    }

    /// Resets the state after playlists were opened at a segment.
    ///
    /// - Parameters:
    ///   - start: The approximate film time at which the segment begins.
    ///   - time: The target of the seek.
    ///   - followsDiscontinuity: Whether the playlist has a discontinuity between the film's start and this segment.
    mutating func opened(from start: MediaTime, at time: MediaTime, followsDiscontinuity: Bool) {
        (position, landing, landed, piece) = (0, time, time, followsDiscontinuity ? start : nil)
    }

    /// The maximum error of summed segment durations. After a discontinuity another offset is this near only by chance.
    private static let pieceSlack = MediaTime(value: 2, timescale: 1)

    /// Selects the offset that places a segment at its playlist position; adds it if it is unknown.
    private mutating func selectOffset(_ plain: MediaTime, near time: MediaTime) {
        let known = jumps.index(bringing: plain, near: time, within: Self.pieceSlack)
        guard let jump = known ?? jumps.add(.init(shift: time - plain, position: position, film: time)) else { return }
        for stream in lanes.keys { lanes[stream]!.jump = jump }
    }

    private mutating func land(expecting time: MediaTime) {
        landing = nil
        holeEnd = nil
        pauses.reset()
        let jump = hasPositions ? jumps.index(at: position) : jumps.index(at: time)
        let shift = jumps[jump]?.shift ?? .zero
        for stream in lanes.keys {
            lanes[stream]!.jump = jump
            lanes[stream]!.end = nil
            lanes[stream]!.clock.setReference(lanes[stream]!.clock.raw(time - shift))
        }
        front = nil
    }
}
