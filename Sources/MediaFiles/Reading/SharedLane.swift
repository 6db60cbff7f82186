internal import CFFmpeg
internal import MediaCore

/// One track's window on a shared input: samples read because another track needed to get past them.
struct SharedLane {
    let track: Track
    private(set) var stream: Int32
    var packager: PacketPackager
    /// Somebody reads this track.
    var isActive = false
    var isCancelled = false
    /// The jump this lane took part in last, and whether it has given samples since the input's last one.
    var jump: UInt64 = 0
    private(set) var hasGivenSinceJump = false
    /// Bytes waiting.
    private(set) var bytes = 0
    /// Whole turns of wrapping stamps by which the input differs from the film.
    private(set) var epoch: Int64 = 0

    /// Nil where a buffer has been given already.
    private var waiting: [SampleBuffer?] = []
    /// Index of the oldest buffer still here.
    private var head = 0
    private var hasLost = false
    /// Why segments were skipped, and how many of the waiting samples were read before that.
    private var lostSegment: (error: MediaError, samplesBefore: Int)?
    /// What comes is of no use until decoding can begin again.
    private var awaitsSync = false
    /// Film time up to which the input has shown samples of this track.
    private(set) var front: MediaTime?
    /// The same since the input's last jump.
    private(set) var reached: MediaTime?
    /// Of a track of subtitles: what was said of how far the input has been read.
    private var progress = SubtitlePace()
    /// When the window was first found full, unless something was taken since.
    private var fullSince: HostInstant?

    init(track: Track, stream: Int32, packager: PacketPackager) {
        self.track = track
        self.stream = stream
        self.packager = packager
    }

    mutating func add(_ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime, isNewRecording: Bool) {
        if let found = packager.epoch(of: packet) { epoch = found }
        notice(packet, shift: shift)
        packager.add(packet, shift: shift, isNewRecording: isNewRecording)
        collect()
    }

    /// Takes note of where the input is, and nothing else.
    mutating func notice(_ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime) {
        guard let moment = packager.filmTime(of: packet, shift: shift) else { return }
        front = max(front ?? moment, moment)
        reached = max(reached ?? moment, moment)
    }

    /// Says of subtitles that none begins until some moment, when there is reason to.
    mutating func pace(at front: MediaTime) -> SampleBuffer? {
        guard let moment = progress.moment(at: front), let buffer = packager.pace(at: moment) else { return nil }
        hasGivenSinceJump = true
        return buffer
    }

    /// The track ends here: what was being collected is complete.
    mutating func close() {
        packager.close()
        collect()
    }

    /// Segments were skipped here.
    mutating func noteLostSegment(_ error: MediaError) {
        close()
        lostSegment = lostSegment ?? (error, waiting.count - head)
    }

    /// Returns why segments were skipped, once what was read before them was taken; nil otherwise.
    mutating func takeLostSegment() -> MediaError? {
        guard let lost = lostSegment, lost.samplesBefore <= 0 else { return nil }
        lostSegment = nil
        return lost.error
    }

    private mutating func advance() {
        head += 1
        lostSegment?.samplesBefore -= 1
    }

    private mutating func collect() {
        while let buffer = packager.takeReady() {
            if awaitsSync, !buffer.flags.contains(.sync) { continue }
            awaitsSync = false
            bytes += buffer.encodedBytes
            waiting.append(buffer)
        }
    }

    mutating func take() -> SampleBuffer? {
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

    /// How long the window has been full without anybody taking from it.
    mutating func timeFull(_ now: HostInstant) -> Duration {
        let since = fullSince ?? now
        fullSince = since
        return now - since
    }

    /// Gives up the oldest samples, down to the next place where decoding can begin.
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

    /// Gives up samples that end at or before a film time; nil gives up all.
    mutating func forget(before limit: MediaTime?) {
        while head < waiting.count, let buffer = waiting[head], limit.map({ (buffer.end ?? $0) <= $0 }) ?? true {
            bytes -= buffer.encodedBytes
            advance()
            hasLost = true
        }
        waiting.removeFirst(head)
        head = 0
    }

    /// The input was opened again: packets of this track come from another stream, from the start on.
    mutating func rebind(to stream: Int32, _ packager: PacketPackager) {
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
    /// Bytes of encoded samples inside.
    var encodedBytes: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch), .encodedSubtitle(_, let batch):
            return batch.byteCount
        case .pcm, .picture, .subtitle: return 0
        }
    }
}
