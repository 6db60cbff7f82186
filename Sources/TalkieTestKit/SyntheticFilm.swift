package import MediaCore
package import SyncRendering
internal import Synchronization

/// A synthetic film: frame n carries n, and the samples of audio frame n have a value that identifies n.
///
/// A shift by one frame is detectable. Immutable.
package final class SyntheticFilm: MediaSource {
    /// The description of the film.
    package let summary: MediaSummary
    /// The duration of a frame.
    package let frame: MediaTime
    /// Audio frames per second.
    package let sampleRate: Int
    let duration: MediaTime
    let audioStart: MediaTime
    /// Distance of two sync frames.
    let syncInterval: Int64

    /// Creates a film.
    ///
    /// - Parameters:
    ///   - audioStart: Media time of the first audio.
    ///   - syncInterval: Distance of two sync frames.
    ///   - audioTracks: The audio tracks, of which the first is the default; all have the same samples.
    package init(
        duration: MediaTime, frame: MediaTime = MediaTime(value: 1001, timescale: 24000), sampleRate: Int = 48000,
        audioStart: MediaTime = .zero, syncInterval: Int64 = 24, chapters: [Chapter] = [],
        audioTracks: [(language: String?, purpose: Track.Purpose)] = [(nil, .main)]
    ) {
        self.syncInterval = syncInterval
        self.duration = duration
        self.frame = frame
        self.sampleRate = sampleRate
        self.audioStart = audioStart
        let audio = AudioFormat(
            parameters: CodecParameters(codec: "synthetic"), sampleRate: sampleRate, layout: .stereo)
        let video = VideoFormat(
            parameters: CodecParameters(codec: "synthetic"), size: PixelSize(width: 16, height: 16))
        summary = MediaSummary(
            container: "synthetic",
            tracks: [Track(id: 0, number: 1, format: .video(video))]
                + audioTracks.enumerated().map { index, track in
                    Track(
                        id: index + 1, number: index + 1, format: .audio(audio), language: track.language,
                        isDefault: index == 0 && audioTracks.count > 1, purpose: track.purpose)
                }, duration: duration, chapters: chapters)
    }

    package func source(for track: Track) -> any SampleSource {
        track.kind == .audio ? SyntheticAudio(film: self, track: track) : SyntheticVideo(film: self, track: track)
    }

    /// Returns the sample value of an audio frame; exact in 24 bits of float mantissa.
    package static func value(ofFrame frame: Int64) -> Float { Float(frame % 8_388_608 + 1) / 8_388_608 }
    /// Returns the audio frame (modulo 2²³) of a sample value; nil for silence.
    package static func frame(ofValue value: Float) -> Int64? {
        value == 0 ? nil : Int64((value * 8_388_608).rounded()) - 1
    }
}

/// Reads packets of 1024 frames, four per buffer, without contents.
final class SyntheticAudio: SampleSource {
    let track: Track
    private let film: SyntheticFilm
    /// The next frame; used by the reading thread.
    private let next = Atomic<Int64>(0)
    /// Set by `cancel` on any thread.
    private let cancelled = Atomic<Bool>(false)

    init(film: SyntheticFilm, track: Track) {
        self.film = film
        self.track = track
    }

    func read() throws(MediaError) -> SampleBuffer? {
        if cancelled.load(ordering: .relaxed) { throw MediaError(.cancelled, "cancelled") }
        guard let format = track.audioFormat else { return nil }
        let total = (film.duration - film.audioStart).rescaled(to: Int32(film.sampleRate))
        let first = next.load(ordering: .relaxed)
        guard first < total else { return nil }
        let count = min(4096, total - first)
        next.store(first + count, ordering: .relaxed)
        let rate = Int32(film.sampleRate)
        let start = film.audioStart + MediaTime(value: first, timescale: rate)
        let batch = PacketBatch(reservingBytes: 256, packets: 4)
        for offset in stride(from: Int64(0), to: count, by: 1024) {
            batch.append(
                UnsafeRawBufferPointer(start: nil, count: 0),
                as: PacketBatch.Packet(
                    presentationTime: start + MediaTime(value: offset, timescale: rate),
                    duration: MediaTime(value: min(1024, count - offset), timescale: rate)))
        }
        return SampleBuffer(
            payload: .encodedAudio(format, batch), presentationTime: start,
            duration: MediaTime(value: count, timescale: rate), flags: .sync)
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        let frame = max(0, (time - film.audioStart).rescaled(to: Int32(film.sampleRate))) / 1024 * 1024
        next.store(frame, ordering: .relaxed)
        return film.audioStart + MediaTime(value: frame, timescale: Int32(film.sampleRate))
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }
}

/// Reads one packet per video frame.
final class SyntheticVideo: SampleSource {
    let track: Track
    private let film: SyntheticFilm
    /// The next frame; used by the reading thread.
    private let next = Atomic<Int64>(0)
    /// Set by `cancel` on any thread.
    private let cancelled = Atomic<Bool>(false)

    init(film: SyntheticFilm, track: Track) {
        self.film = film
        self.track = track
    }

    func read() throws(MediaError) -> SampleBuffer? {
        if cancelled.load(ordering: .relaxed) { throw MediaError(.cancelled, "cancelled") }
        let number = next.load(ordering: .relaxed)
        let time = film.frame * number
        guard let format = track.videoFormat, time < film.duration else { return nil }
        next.store(number + 1, ordering: .relaxed)
        let batch = PacketBatch(reservingBytes: 256, packets: 1)
        batch.append(
            UnsafeRawBufferPointer(start: nil, count: 0),
            as: PacketBatch.Packet(presentationTime: time, duration: film.frame))
        return SampleBuffer(
            payload: .encodedVideo(format, batch), presentationTime: time, duration: film.frame,
            flags: number % film.syncInterval == 0 ? .sync : [])
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        let wanted = max(0, Int64(time.seconds / film.frame.seconds + 1e-9))
        let number = wanted / film.syncInterval * film.syncInterval
        next.store(number, ordering: .relaxed)
        return film.frame * number
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }
}

/// Decodes synthetic video to `NumberedFrame`.
package final class SyntheticVideoDecoder: VideoFrameDecoder {
    private let frame: MediaTime
    private var waiting: [SampleBuffer] = []
    private var discardsBefore: MediaTime?
    package var skipPolicy = SkipPolicy.full
    package let decodeErrorCount = 0

    package init(frame: MediaTime) { self.frame = frame }

    package func send(_ buffer: SampleBuffer) {
        guard let time = buffer.presentationTime else { return }
        if let limit = discardsBefore, time + frame <= limit { return }
        waiting.append(NumberedFrame.buffer(Int((time.seconds / frame.seconds).rounded()), every: frame))
    }
    package func finish() {}
    package func receive() -> SampleBuffer? { waiting.isEmpty ? nil : waiting.removeFirst() }
    package func flush() {
        waiting.removeAll()
        discardsBefore = nil
    }
    package func dropFrames(before time: MediaTime) { discardsBefore = time }
}

/// Decodes synthetic audio: every sample identifies its frame.
package struct SyntheticCodecs: AudioCodecs {
    package init() {}
    package func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    { SyntheticConverter(speed: speed) }
    package func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        throw MediaError(.unsupported, "synthetic sound cannot be encoded")
    }
}

final class SyntheticConverter: PCMConverter {
    private var packets: [PacketBatch.Packet] = []
    private let speed: Double
    /// The number of frames of the first packet already returned.
    private var done = 0
    let decodeErrorCount = 0

    init(speed: Double) { self.speed = speed }

    func send(_ buffer: SampleBuffer) {
        // Decode-only packets are not needed: there is no decoder state.
        guard !buffer.flags.contains(.decodeOnly), case .encodedAudio(_, let batch) = buffer.payload else { return }
        packets += batch.packets
    }
    func finish() {}
    func reset() {
        packets.removeAll()
        done = 0
    }

    func receive(into block: PCMBlock) -> Bool {
        guard let packet = packets.first, let time = packet.presentationTime else { return false }
        let rate = Int32(block.format.sampleRate)
        let first = time.rescaled(to: rate)
        // Changed speed skips or repeats frame numbers.
        let frames = Int((Double(packet.duration.rescaled(to: rate)) / speed).rounded())
        block.frames = min(block.capacity, frames - done)
        block.start =
            speed == 1
            ? time + MediaTime(value: Int64(done), timescale: rate)
            : time.advanced(
                by: .seconds(Double(done) / Double(rate) * speed))
        block.speed = speed
        for index in 0..<block.frames {
            let number = first + Int64((Double(done + index) * speed).rounded())
            for channel in 0..<block.format.channels {
                block.samples[index * block.format.channels + channel] = SyntheticFilm.value(ofFrame: number)
            }
        }
        done += block.frames
        if done >= frames {
            packets.removeFirst()
            done = 0
        }
        return true
    }
}
