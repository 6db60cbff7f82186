package import MediaCore
package import SyncRendering
internal import Synchronization

/// A film whose frames and samples identify themselves, so that gapless boundaries can be compared exactly.
///
/// Samples are floats readable by every decoder (`FloatCodecs.value`); frames carry `film × 1 000 000 + n`.
///
/// `@unchecked Sendable`: all fields are set before it is shared.
package final class CountedFilm: MediaSource, @unchecked Sendable {
    /// The description of the film.
    package var summary: MediaSummary
    /// The number of the film.
    package let number: Int
    /// The duration of a frame.
    package let frame: MediaTime
    /// The number of video frames.
    package let frameCount: Int
    /// The number of audio frames.
    package let audioFrameCount: Int
    /// Audio frames per second.
    package let sampleRate: Int
    /// The subtitles per track.
    package let subtitles: [[CountedSubtitle]]
    /// The number of live sources.
    package let open = Lock(0)

    /// Creates a film.
    ///
    /// - Parameters:
    ///   - number: 1…7.
    ///   - frameCount: The number of video frames; 0: no video track.
    ///   - audioFrameCount: At most 2²⁰; 0: no audio track.
    ///   - statesLength: Whether film and tracks have a stated duration.
    package init(
        _ number: Int, frameCount: Int = 250, frame: MediaTime = MediaTime(value: 1, timescale: 25),
        audioFrameCount: Int = 480_000, sampleRate: Int = 48_000, statesLength: Bool = true, sharesReader: Bool = false,
        isLive: Bool = false, subtitles: [[CountedSubtitle]] = [], languages: [String?] = []
    ) {
        self.number = number
        self.frameCount = frameCount
        self.frame = frame
        self.audioFrameCount = audioFrameCount
        self.sampleRate = sampleRate
        self.subtitles = subtitles
        let audioDuration = MediaTime(value: Int64(audioFrameCount), timescale: Int32(sampleRate))
        let videoDuration = frame * Int64(frameCount)
        var tracks: [Track] = []
        if frameCount > 0 {
            let format = VideoFormat(
                parameters: CodecParameters(codec: "counted"), size: PixelSize(width: 16, height: 16))
            tracks.append(
                Track(id: 0, number: 1, format: .video(format), duration: statesLength ? videoDuration : nil))
        }
        if audioFrameCount > 0 {
            tracks.append(
                Track(
                    id: 1, number: 1, format: .audio(FloatCodecs.format(sampleRate: sampleRate)),
                    duration: statesLength ? audioDuration : nil))
        }
        for index in subtitles.indices {
            let format = SubtitleFormat(parameters: CodecParameters(codec: "counted"))
            tracks.append(
                Track(
                    id: 2 + index, number: index + 1, format: .subtitle(format),
                    language: index < languages.count ? languages[index] : nil, isDefault: index == 0))
        }
        summary = MediaSummary(
            container: "counted", tracks: tracks, duration: statesLength ? max(audioDuration, videoDuration) : nil,
            isSeekable: !isLive, sharesReader: sharesReader, isLive: isLive)
    }

    /// Media time after the later of the two tracks.
    package var length: MediaTime {
        max(MediaTime(value: Int64(audioFrameCount), timescale: Int32(sampleRate)), frame * Int64(frameCount))
    }

    package func source(for track: Track) throws(MediaError) -> any SampleSource {
        track.kind == .subtitle
            ? CountedSubtitles(track, subtitles[track.number - 1], until: length) : CountedTrack(self, track)
    }
}

/// Reads one track of a `CountedFilm`: packets of a thousand audio frames, or one packet per video frame.
///
/// Every twelfth video frame is a sync frame. `cancel` may be called from any thread.
final class CountedTrack: SampleSource {
    private static let packetFrames: Int64 = 1000
    private static let syncInterval: Int64 = 12
    let track: Track
    private let film: CountedFilm
    /// The next frame; used by the reading thread.
    private let next = Atomic<Int64>(0)
    /// Target of an exact seek; packets before it are decode-only.
    private let heardFrom = Lock<MediaTime?>(nil)
    private let hasJumped = Atomic<Bool>(false)
    /// Set by `cancel` on any thread.
    private let cancelled = Atomic<Bool>(false)

    init(_ film: CountedFilm, _ track: Track) {
        self.film = film
        self.track = track
        film.open.withLock { $0 += 1 }
    }

    deinit { film.open.withLock { $0 -= 1 } }

    func read() throws(MediaError) -> SampleBuffer? {
        if cancelled.load(ordering: .relaxed) { throw MediaError(.cancelled, "cancelled") }
        guard var buffer = track.kind == .audio ? readAudio() : readVideo() else { return nil }
        if hasJumped.exchange(false, ordering: .relaxed) { buffer.flags.insert(.discontinuity) }
        if let limit = heardFrom.withLock({ $0 }), let end = buffer.end, end <= limit {
            buffer.flags.insert(.decodeOnly)
        }
        return buffer
    }

    private func readAudio() -> SampleBuffer? {
        let first = next.load(ordering: .relaxed)
        guard first < film.audioFrameCount, let format = track.audioFormat else { return nil }
        let end = min(first + Self.packetFrames, Int64(film.audioFrameCount))
        next.store(end, ordering: .relaxed)
        return FloatCodecs.buffer(film.number, frames: first..<end, format: format, packet: Self.packetFrames)
    }

    private func readVideo() -> SampleBuffer? {
        let number = next.load(ordering: .relaxed)
        guard number < film.frameCount, let format = track.videoFormat else { return nil }
        next.store(number + 1, ordering: .relaxed)
        let batch = PacketBatch(reservingBytes: 256, packets: 1)
        let time = film.frame * number
        withUnsafeBytes(of: Int64(film.number) * 1_000_000 + number) {
            batch.append($0, as: PacketBatch.Packet(presentationTime: time, duration: film.frame))
        }
        return SampleBuffer(
            payload: .encodedVideo(format, batch), presentationTime: time, duration: film.frame,
            flags: number % Self.syncInterval == 0 ? .sync : [])
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        hasJumped.store(true, ordering: .relaxed)
        heardFrom.withLock { $0 = mode == .exact ? time : nil }
        if track.kind == .audio {
            let frame = max(0, time.rescaled(to: Int32(film.sampleRate)) - 2 * Self.packetFrames)
            let first = min(frame, Int64(film.audioFrameCount)) / Self.packetFrames * Self.packetFrames
            next.store(first, ordering: .relaxed)
            return MediaTime(value: first, timescale: Int32(film.sampleRate))
        }
        let wanted = Int64(time.seconds / film.frame.seconds + 1e-9)
        let first = min(max(0, wanted), Int64(max(0, film.frameCount - 1))) / Self.syncInterval * Self.syncInterval
        next.store(first, ordering: .relaxed)
        return film.frame * first
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }
}

/// Decodes the video of `CountedFilm`. Holds one frame back until the next arrives, like a reordering decoder.
package final class CountedVideoDecoder: VideoFrameDecoder {
    private var held: SampleBuffer?
    private var ready: [SampleBuffer] = []
    private var discardsBefore: MediaTime?
    package var skipPolicy = SkipPolicy.full
    package let decodeErrorCount = 0

    package init() {}

    package func send(_ buffer: SampleBuffer) {
        guard case .encodedVideo(_, let batch) = buffer.payload, let packet = batch.packets.first,
            let time = packet.presentationTime
        else { return }
        if let limit = discardsBefore, time + packet.duration <= limit { return }
        let number = batch.withBytes(of: packet) { $0.loadUnaligned(as: Int64.self) }
        if let held { ready.append(held) }
        held = SampleBuffer(
            payload: .videoFrame(NumberedFrame(Int(number))), presentationTime: time, duration: packet.duration)
    }
    package func finish() {
        if let held { ready.append(held) }
        held = nil
    }
    package func receive() -> SampleBuffer? { ready.isEmpty ? nil : ready.removeFirst() }
    package func flush() {
        (held, discardsBefore) = (nil, nil)
        ready.removeAll()
    }
    package func dropFrames(before time: MediaTime) { discardsBefore = time }
}
