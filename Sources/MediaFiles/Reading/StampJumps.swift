internal import CFFmpeg
internal import MediaCore

/// The places where a transport stream's time stamps jump: recordings joined end to end, a sender that started anew.
///
/// The film goes on across such a place as if nothing had happened. One reader finds a jump first and decides how far
/// later stamps are to be moved; every other reader of the film takes that number over when it comes to the place, so
/// that sound and picture are moved by exactly the same.
final class StampJumps: Sendable {
    struct Jump: Sendable {
        /// Added to all stamps from here on.
        var shift: MediaTime
        /// Byte position near which it was found, and film time there.
        var position: Int64
        var film: MediaTime
    }

    /// The first entry is the beginning of the film, moved by nothing.
    private let jumps = Lock<[Jump]>([Jump(shift: .zero, position: .min, film: .zero)])

    /// The streams that are read.
    private let selected = Lock<Set<Int32>>([])

    func select(_ stream: Int32) { selected.withLock { _ = $0.insert(stream) } }

    func isSelected(_ stream: Int32) -> Bool { selected.withLock { $0.contains(stream) } }

    /// More jumps than this are noise, not joins.
    private static let most = 10_000

    var count: Int { jumps.withLock { $0.count } }

    subscript(index: Int) -> Jump? { jumps.withLock { index < $0.count ? $0[index] : nil } }

    /// The jump in force at a byte position.
    func index(at position: Int64) -> Int {
        jumps.withLock { $0.lastIndex { $0.position <= position } ?? 0 }
    }

    /// The jump in force at a film time.
    func index(at time: MediaTime) -> Int {
        jumps.withLock { all in
            // Found by jumping about they are in no order.
            all.indices.filter { all[$0].film <= time }.max { (all[$0].film, $0) < (all[$1].film, $1) } ?? 0
        }
    }

    /// The jump whose shift brings a moment nearest to another, and no further from it than that; nil where none does.
    func index(bringing plain: MediaTime, near time: MediaTime, within slack: MediaTime) -> Int? {
        func distance(_ jump: Jump) -> MediaTime { max(plain + jump.shift - time, time - plain - jump.shift) }
        return jumps.withLock { all in
            all.indices.filter { distance(all[$0]) <= slack }.min { distance(all[$0]) < distance(all[$1]) }
        }
    }

    /// Adds one after entry `index`; nil when there are too many.
    func add(_ jump: Jump) -> Int? {
        jumps.withLock { all in
            if all.count >= Self.most { return nil }
            all.append(jump)
            return all.count - 1
        }
    }
}

/// Follows one input through the jumps of its stamps, all its streams together.
///
/// A hole in one stream is no jump as long as the others go on, so all streams are looked at even where only one is
/// wanted.
struct JumpFollower {
    private struct Lane {
        var clock: TrackClock
        /// The jump whose shift this stream is under, and the film time at which its last packet ended.
        var jump = 0
        var end: MediaTime?
        var packets = 0
        /// Smoothed distance of packets, in seconds.
        var spacing = 0.0
        let isVideo: Bool

        /// Pictures that stay for long by themselves: their gaps are no jumps.
        var isSlides: Bool { isVideo && packets >= 2 && spacing > 1 }
    }

    private let jumps: StampJumps
    /// Whether byte positions mean something: not where the demuxer reads one file after the other (HLS).
    private let hasPositions: Bool
    private var lanes: [Int32: Lane] = [:]
    /// Streams of subtitles, whose holes say nothing about jumps: they go where the others have gone.
    private var sparse: [Int32: TrackClock] = [:]
    /// The latest film time of any stream.
    private var front: MediaTime?
    private var pauses: PauseLimit
    /// The film time up to which a hole is one of lost segments; nil where none was lost.
    private var holeEnd: MediaTime?
    /// Byte position of the last packet that told its own.
    private var position: Int64 = 0
    /// After a jump of our own: the film time hoped for, until the first packet tells where we are.
    private var landing: MediaTime?
    /// The film time hoped for at the last jump of our own.
    private var landed: MediaTime?
    /// The film time of the first packet, where a playlist says it and stamps may have begun anew.
    private var piece: MediaTime?

    /// A stream's own stamps may step back by this much without meaning it.
    private static let stepBack = MediaTime(value: -3, timescale: 10)
    /// No stream may run ahead of all others by more than this (ten seconds, as other players have it).
    private static let leap = MediaTime(value: 10, timescale: 1)

    init(
        _ jumps: StampJumps, streams: [UnsafeMutablePointer<AVStream>], of film: FilmStreams = FilmStreams(),
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

    /// How far the stamps of this packet are to be moved.
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
        lane.clock.follow(stamp)
        if let time = piece {
            piece = nil
            settle(plain, near: time)
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
        let length = lane.clock.length(packet.pointee.duration)
        if let last = lane.end {
            let step = min((plain + shift + length - last).seconds.magnitude, 60)
            lane.spacing += (step - lane.spacing) / (lane.packets < 8 ? 2 : 16)
        }
        lane.packets += 1
        let end = plain + shift + (length > Self.leap ? .zero : length)
        lane.end = end
        if front.map({ $0 < end }) ?? true {
            if let front { pauses.advance(from: front, to: plain + shift, end: end) }
            front = end
        }
        return shift
    }

    /// Of the shifts that the other streams are under, the one that brings a subtitle nearest to where reading is.
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

    private func fits(_ plain: MediaTime, _ lane: Lane, _ jump: StampJumps.Jump?) -> Bool {
        guard let jump else { return false }
        let time = plain + jump.shift
        if let end = lane.end, time - end < Self.stepBack { return false }
        guard let front else { return landed == nil || pauses.isPlausible(time) }
        if time - front <= min(Self.leap, pauses.longest) { return true }
        if let holeEnd, time <= holeEnd + Self.leap { return true }
        return lane.isSlides && pauses.isStill(front, until: time, hasSound: lanes.values.contains { !$0.isVideo })
    }

    /// Makes a hole of the duration of a skipped segment no jump. Otherwise a track with a playlist of its own would be
    /// moved against the others.
    mutating func expectHole(of length: MediaTime) {
        let start = max(holeEnd ?? .zero, front ?? landed ?? .zero)
        holeEnd = start + min(length, PauseLimit.longestSilentStill)
    }

    /// Reading goes on elsewhere, about at this byte and near this film time.
    mutating func jumped(near byte: Int64, expecting time: MediaTime) {
        position = byte
        (landing, landed) = (time, time)
    }

    /// Reading goes on in a piece that begins about at `start`, for the sake of `time`.
    ///
    /// - Parameter isBehindBreak: the playlist says that stamps began anew between the film's start and this piece.
    mutating func opened(from start: MediaTime, at time: MediaTime, isBehindBreak: Bool) {
        (position, landing, landed, piece) = (0, time, time, isBehindBreak ? start : nil)
    }

    /// How far the lengths of pieces may lead astray. Where a break was no other shift is as near by chance.
    private static let pieceSlack = MediaTime(value: 2, timescale: 1)

    /// Finds the shift that puts a piece where its playlist says that it is, and notes it where nobody has found it yet.
    private mutating func settle(_ plain: MediaTime, near time: MediaTime) {
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
            lanes[stream]!.clock.follow(lanes[stream]!.clock.raw(time - shift))
        }
        front = nil
    }
}
