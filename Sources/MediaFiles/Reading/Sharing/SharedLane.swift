internal import CFFmpeg
internal import MediaCore

/// The window of one reader of a track on a shared input: samples read because another reader needed later packets.
/// Guarded by `SharedDemuxer.state`.
struct SharedLane {
    let track: Track
    private(set) var stream: Int32
    var packager: PacketBatcher
    /// Raised when the state of the lane may have changed.
    let wakeSignal = Signal()
    /// Whether the lane has a reader.
    var isActive = false
    var isCancelled = false
    /// The last seek that this lane took part in, and whether it has returned samples since the input's last seek.
    var jump: UInt64 = 0
    private(set) var hasGivenSinceJump = false
    /// The bytes in the window.
    private(set) var bytes = 0
    /// The difference in ticks between timestamps of the input and the film: a multiple of the wraparound period.
    private(set) var epoch: Int64 = 0

    /// Nil for a buffer that was returned.
    private var waiting: [SampleBuffer?] = []
    /// The index of the oldest buffer still present.
    private var head = 0
    private var hasLost = false
    /// The error of skipped segments, and the number of waiting samples read before it.
    private var lostSegment: (error: MediaError, samplesBefore: Int)?
    /// Whether samples are dropped until the next sync sample.
    private var awaitsSync = false
    /// The film time up to which the input has shown samples of this track.
    private(set) var front: MediaTime?
    /// The same since the input's last seek.
    private(set) var reached: MediaTime?
    /// For a subtitle track: the reading positions that were reported.
    private var progress = SubtitlePace()
    /// When the window was first found full; reset by `removeFirst`.
    private var fullSince: HostInstant?

    init(track: Track, stream: Int32, packager: PacketBatcher) {
        self.track = track
        self.stream = stream
        self.packager = packager
    }

    /// Returns a lane for another reader of the track, from the input's position on.
    func another() -> SharedLane {
        var other = SharedLane(track: track, stream: stream, packager: packager.another())
        (other.epoch, other.front, other.reached) = (epoch, front, reached)
        return other
    }

    mutating func add(
        _ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime, isNewRecording: Bool,
        of parameters: UnsafeMutablePointer<AVCodecParameters>? = nil
    ) {
        if let found = packager.epoch(of: packet) { epoch = found }
        notice(packet, shift: shift)
        packager.add(packet, shift: shift, isNewRecording: isNewRecording, of: parameters)
        collect()
    }

    /// Updates the position of the input, without storing the packet.
    mutating func notice(_ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime) {
        guard let time = packager.filmTime(of: packet, shift: shift) else { return }
        front = max(front ?? time, time)
        reached = max(reached ?? time, time)
    }

    /// Returns an empty subtitle buffer that reports the reading position, if one is due.
    mutating func pace(at front: MediaTime) -> SampleBuffer? {
        guard let time = progress.nextTime(at: front), let buffer = packager.pace(at: time) else { return nil }
        hasGivenSinceJump = true
        return buffer
    }

    /// Finishes the buffer being filled, at the end of the track.
    mutating func close() {
        packager.close()
        collect()
    }

    /// Stores the error of segments skipped at this position.
    mutating func recordLostSegment(_ error: MediaError) {
        close()
        lostSegment = lostSegment ?? (error, waiting.count - head)
    }

    /// Returns the error of skipped segments once all earlier samples were taken; otherwise nil.
    mutating func consumeLostSegment() -> MediaError? {
        guard let lost = lostSegment, lost.samplesBefore <= 0 else { return nil }
        lostSegment = nil
        return lost.error
    }

    private mutating func advance() {
        head += 1
        lostSegment?.samplesBefore -= 1
    }

    private mutating func collect() {
        while let buffer = packager.nextReady() {
            if awaitsSync, !buffer.flags.contains(.sync) { continue }
            awaitsSync = false
            bytes += buffer.encodedBytes
            waiting.append(buffer)
        }
    }

    mutating func removeFirst() -> SampleBuffer? {
        guard head < waiting.count, var buffer = waiting[head].take() else { return nil }
        advance()
        if head == waiting.count || head >= 256 {
            waiting.removeFirst(head)
            head = 0
        }
        bytes -= buffer.encodedBytes
        hasGivenSinceJump = true
        progress.gave(buffer.presentationTime)
        fullSince = nil
        if hasLost {
            buffer.flags.insert(.discontinuity)
            hasLost = false
        }
        return buffer
    }

    /// Returns how long the window has been full since it was last read.
    mutating func timeFull(_ now: HostInstant) -> Duration {
        let since = fullSince ?? now
        fullSince = since
        return now - since
    }

    /// Drops the oldest samples, up to the next sync sample.
    mutating func loseOldest(downTo limit: Int) {
        var mustGo = bytes > limit
        while head < waiting.count, let buffer = waiting[head], mustGo || !buffer.flags.contains(.sync) {
            bytes -= buffer.encodedBytes
            advance()
            mustGo = bytes > limit
            hasLost = true
        }
        waiting.removeFirst(head)
        head = 0
        awaitsSync = waiting.isEmpty
    }

    mutating func removeAll() {
        waiting.removeAll()
        head = 0
        bytes = 0
        lostSegment = nil
    }

    /// Drops samples that end at or before a film time; nil drops all.
    mutating func forget(before limit: MediaTime?) {
        while head < waiting.count, let buffer = waiting[head], limit.map({ (buffer.end ?? $0) <= $0 }) ?? true {
            bytes -= buffer.encodedBytes
            advance()
            hasLost = true
        }
        waiting.removeFirst(head)
        head = 0
    }

    /// Switches to the stream of a reopened input, which starts at the beginning.
    mutating func rebind(to stream: Int32, _ packager: PacketBatcher) {
        (self.stream, self.packager, front, reached) = (stream, packager, nil, nil)
    }

    mutating func reset(_ time: MediaTime, mode: SeekMode) {
        removeAll()
        (hasLost, awaitsSync, fullSince) = (false, false, nil)
        hasGivenSinceJump = false
        (reached, progress) = (nil, SubtitlePace())
        packager.reset(decodeOnlyBefore: mode == .exact ? time : nil, expecting: packager.clock.raw(time))
    }
}

extension SampleBuffer {
    /// The number of encoded bytes in the buffer.
    var encodedBytes: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch), .encodedSubtitle(_, let batch):
            return batch.byteCount
        case .pcm, .videoFrame, .subtitle: return 0
        }
    }
}
