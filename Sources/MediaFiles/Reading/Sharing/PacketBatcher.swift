internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Packs the packets of one stream into sample buffers: several audio packets per buffer, one video packet.
///
/// Owned by one reader and used by one thread at a time. Allocates nothing in the steady state.
struct PacketBatcher {
    let track: Track
    private(set) var clock: TrackClock
    private var format: Track.Format
    private let batchLength: MediaTime
    /// A copy: the stream is freed when its input is reopened.
    private var coding: CodingParameters

    private var pool = RecyclingPool<PacketBatch> { PacketBatch() }
    /// The audio buffer being filled.
    private var open: SampleBuffer?
    private var openBatch: PacketBatch?
    /// Finished buffers, oldest first.
    private var ready: [SampleBuffer] = []
    /// Samples that end at or before this film time are needed only for decoding.
    private var decodeOnlyBefore: MediaTime?
    private var isDiscontinuous = false
    private var lastDecodeOnly = false
    private var lastShift = MediaTime.zero
    /// The raw timestamp of the last audio packet.
    private var lastAudioTimestamp: Int64?

    private static let maxPackets = 64
    private static let maxBytes = 96 * 1024
    /// The maximum duration of an audio packet; real ones are shorter than a second. A Matroska block with a stated
    /// duration of years would count as that much buffered audio.
    private static let maxAudioDuration = MediaTime(value: 10, timescale: 1)
    /// The maximum size of a packet: 64 MB, several uncompressed 4K frames.
    static let largestPacket = 64 << 20

    init(track: Track, stream: UnsafeMutablePointer<AVStream>, clock: TrackClock, batch: Duration) {
        self.track = track
        coding = CodingParameters(stream.pointee.codecpar)
        self.clock = clock
        format = track.format
        batchLength = MediaTime(nanoseconds: max(1, batch.wholeNanoseconds))
        ready.reserveCapacity(4)
    }

    /// Discards the buffered packets; the next buffer is marked as a discontinuity.
    mutating func reset(decodeOnlyBefore limit: MediaTime?, expecting raw: Int64) {
        open = nil
        openBatch = nil
        ready.removeAll(keepingCapacity: true)
        decodeOnlyBefore = limit
        isDiscontinuous = true
        lastAudioTimestamp = nil
        clock.setReference(raw)
    }

    /// Returns a batcher for another reader of the same stream, without the buffered packets.
    func another() -> PacketBatcher {
        var other = self
        other.pool = RecyclingPool<PacketBatch> { PacketBatch() }
        (other.open, other.openBatch, other.ready) = (nil, nil, [])
        other.isDiscontinuous = true
        return other
    }

    mutating func nextReady() -> SampleBuffer? { ready.isEmpty ? nil : ready.removeFirst() }

    /// Finishes the buffer being filled, at the end of the track.
    mutating func close() {
        guard let finished = open else { return }
        ready.append(finished)
        open = nil
        openBatch = nil
    }

    /// Returns the presentation time of a packet as film time, ignoring trims, without consuming the packet.
    func filmTime(of packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime) -> MediaTime? {
        let raw = packet.pointee.pts != cff_nopts_value ? packet.pointee.pts : packet.pointee.dts
        return clock.unwrapped(raw).flatMap { clock.filmTime($0) }.map { $0 + shift }
    }

    /// Returns the difference in ticks between timestamps of this input and the film: a multiple of the wraparound
    /// period.
    func epoch(of packet: UnsafeMutablePointer<AVPacket>) -> Int64? {
        let raw = packet.pointee.pts != cff_nopts_value ? packet.pointee.pts : packet.pointee.dts
        return clock.unwrapped(raw).map { $0 &- raw }
    }

    // MARK: Packing

    /// Adds a packet; packets that are empty or larger than `largestPacket` are dropped.
    ///
    /// - Parameters:
    ///   - shift: Added to the packet's timestamps.
    ///   - isNewRecording: Whether a changed shift means another recording with its own reference frames. A gap inside
    ///     a recording does not.
    ///   - parameters: The present parameters of the stream; nil if they do not change.
    mutating func add(
        _ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime, isNewRecording: Bool,
        of parameters: UnsafeMutablePointer<AVCodecParameters>? = nil
    ) {
        let size = Int(packet.pointee.size)
        guard size > 0, size <= Self.largestPacket, let data = packet.pointee.data else { return }
        if let parameters { adoptNewCodec(parameters) }
        adoptNewConfiguration(packet)
        let pts = clock.unwrapped(packet.pointee.pts)
        let dts = clock.unwrapped(packet.pointee.dts)
        if let stamp = dts ?? pts { clock.setReference(stamp) }
        if shift != lastShift {
            lastShift = shift
            if isNewRecording, track.kind == .video { isDiscontinuous = true }
        }
        var entry = PacketBatch.Packet(
            presentationTime: pts.flatMap { clock.filmTime($0) }.map { $0 + shift },
            decodeTime: dts.flatMap { clock.filmTime($0) }.map { $0 + shift },
            duration: clock.length(packet.pointee.duration))
        let bytes = UnsafeRawBufferPointer(start: data, count: size)
        // An edit list excludes the samples (ISO 14496-12, 8.6.6).
        let isDiscarded = packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0
        switch format {
        case .audio(let format):
            readTrims(of: packet, into: &entry)
            if entry.duration.value == 0 || entry.duration > Self.maxAudioDuration {
                entry.duration = naturalLength(size: size, pts, format)
            }
            lastAudioTimestamp = pts
            addAudio(bytes, entry, format, isDiscarded: isDiscarded)
        case .video(let format):
            entry.isDiscarded = isDiscarded
            addVideo(bytes, entry, format, isSync: packet.pointee.flags & AV_PKT_FLAG_KEY != 0)
        case .subtitle(let format): addSubtitle(bytes, entry, format)
        }
    }

    private mutating func addSubtitle(
        _ bytes: UnsafeRawBufferPointer, _ entry: PacketBatch.Packet, _ format: SubtitleFormat
    ) {
        // MP4 fills the time between texts with empty samples: two bytes of length (3GPP TS 26.245, 5.17).
        if bytes.count <= 2, format.parameters.codec == "mov_text" { return }
        let batch = pool.acquire()
        batch.removeAll()
        batch.append(bytes, as: entry)
        var marks: SampleBuffer.Flags = .sync
        if isDiscontinuous { marks.insert(.discontinuity) }
        isDiscontinuous = false
        ready.append(
            SampleBuffer(
                payload: .encodedSubtitle(format, batch), presentationTime: entry.presentationTime,
                duration: entry.duration, flags: marks))
    }

    /// Returns an empty buffer that states that no subtitle begins before `time`; nil for other tracks.
    mutating func pace(at time: MediaTime) -> SampleBuffer? {
        guard case .subtitle(let format) = format else { return nil }
        let marks: SampleBuffer.Flags = isDiscontinuous ? [.sync, .discontinuity] : .sync
        isDiscontinuous = false
        return SampleBuffer(payload: .encodedSubtitle(format, Self.nothing), presentationTime: time, flags: marks)
    }

    private static let nothing = PacketBatch(reservingBytes: 0, packets: 0)

    private mutating func addVideo(
        _ bytes: UnsafeRawBufferPointer, _ entry: PacketBatch.Packet, _ format: VideoFormat, isSync: Bool
    ) {
        let batch = pool.acquire()
        batch.removeAll()
        batch.append(bytes, as: entry)
        var marks: SampleBuffer.Flags = []
        if isSync { marks.insert(.sync) }
        if entry.isDiscarded { marks.insert(.decodeOnly) }
        if let limit = decodeOnlyBefore, let start = entry.presentationTime, entry.duration.value > 0,
            start + entry.duration <= limit
        {
            marks.insert(.decodeOnly)
        }
        if isDiscontinuous { marks.insert(.discontinuity) }
        isDiscontinuous = false
        ready.append(
            SampleBuffer(
                payload: .encodedVideo(format, batch), presentationTime: entry.presentationTime,
                duration: entry.duration, flags: marks))
    }

    private mutating func addAudio(
        _ bytes: UnsafeRawBufferPointer, _ entry: PacketBatch.Packet, _ format: AudioFormat, isDiscarded: Bool
    ) {
        var decodeOnly = lastDecodeOnly
        if let limit = decodeOnlyBefore, let start = entry.presentationTime {
            decodeOnly = start + entry.duration <= limit
            if !decodeOnly { decodeOnlyBefore = nil }
        } else if decodeOnlyBefore == nil {
            decodeOnly = false
        }
        // Before the film's start, where encoder delay is, the trims and the timeline decide.
        if isDiscarded, let start = entry.presentationTime, start + entry.duration > .zero { decodeOnly = true }
        if isDiscontinuous || decodeOnly != lastDecodeOnly { close() }
        lastDecodeOnly = decodeOnly
        let heard = audible(entry, format)
        if open == nil {
            let batch = pool.acquire()
            batch.removeAll()
            openBatch = batch
            var marks: SampleBuffer.Flags = .sync
            if decodeOnly { marks.insert(.decodeOnly) }
            if isDiscontinuous { marks.insert(.discontinuity) }
            isDiscontinuous = false
            open = SampleBuffer(
                payload: .encodedAudio(format, batch), presentationTime: heard.start, duration: .zero, flags: marks)
        }
        guard let batch = openBatch else { return }
        batch.append(bytes, as: entry)
        open!.duration += heard.length
        if open!.duration >= batchLength || batch.packets.count >= Self.maxPackets
            || batch.byteCount >= Self.maxBytes
        {
            close()
        }
    }

    /// Returns the start and duration of a packet after trimming.
    private func audible(_ entry: PacketBatch.Packet, _ format: AudioFormat) -> (start: MediaTime?, length: MediaTime) {
        if entry.trimStart == 0, entry.trimEnd == 0 { return (entry.presentationTime, entry.duration) }
        let rate = Int32(clamping: format.sampleRate)
        let lead = MediaTime(value: Int64(clamping: entry.trimStart), timescale: rate)
        let tail = MediaTime(value: Int64(clamping: entry.trimEnd), timescale: rate)
        let length = entry.duration - lead - tail
        return (entry.presentationTime.map { $0 + lead }, length < .zero ? .zero : length)
    }

    /// Returns the duration of a packet whose container states none: from its codec, otherwise that of its predecessor.
    private func naturalLength(size: Int, _ stamp: Int64?, _ format: AudioFormat) -> MediaTime {
        let frames = av_get_audio_frame_duration2(coding.pointer, Int32(clamping: size))
        if frames > 0 { return MediaTime(value: Int64(frames), timescale: Int32(clamping: format.sampleRate)) }
        if let stamp, let lastAudioTimestamp, stamp > lastAudioTimestamp {
            let step = clock.length(stamp - lastAudioTimestamp)
            if step < MediaTime(value: 1, timescale: 1) { return step }
        }
        // ISO 14496-3, 4.5.1.1.
        let usual: Int64 = format.parameters.codec == "aac" ? 1024 : 0
        return MediaTime(value: usual, timescale: Int32(clamping: format.sampleRate))
    }

    private mutating func readTrims(of packet: UnsafeMutablePointer<AVPacket>, into entry: inout PacketBatch.Packet) {
        let trims = Self.trims(of: packet)
        entry.trimStart = Int(trims.start)
        entry.trimEnd = Int(trims.end)
    }

    /// Returns the encoder delay and padding of a packet in samples. libavformat stores two 32-bit little-endian counts
    /// (AV_PKT_DATA_SKIP_SAMPLES in libavcodec/packet.h).
    static func trims(of packet: UnsafeMutablePointer<AVPacket>) -> (start: UInt32, end: UInt32) {
        guard packet.pointee.side_data_elems > 0 else { return (0, 0) }
        var size = 0
        guard let bytes = av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 10 else {
            return (0, 0)
        }
        let raw = UnsafeRawPointer(bytes)
        return (
            UInt32(littleEndian: raw.loadUnaligned(as: UInt32.self)),
            UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        )
    }

    /// Adopts the configuration of another init section (RFC 8216, 4.3.2.5), or another codec on the same packet
    /// identifier. For the latter, libavformat changes only the codec, not what is known after decoding.
    private mutating func adoptNewCodec(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
        let (codec, type) = (parameters.pointee.codec_id, parameters.pointee.codec_type)
        guard let known = coding.pointer?.pointee, type == known.codec_type,
            codec != known.codec_id || Self.hasOtherConfiguration(parameters.pointee, known),
            avcodec_find_decoder(codec) != nil, let name = avcodec_get_name(codec)
        else { return }
        close()
        coding = CodingParameters(parameters)
        let isConfigured = parameters.pointee.extradata_size > 0
        let fresh =
            isConfigured ? FormatReading.parameters(of: parameters) : CodecParameters(codec: String(cString: name))
        switch format {
        case .audio where isConfigured && FormatReading.problem(with: parameters) == nil:
            format = .audio(FormatReading.audio(parameters))
        case .video(let old) where isConfigured && FormatReading.problem(with: parameters) == nil:
            let size = PixelSize(width: Int(parameters.pointee.width), height: Int(parameters.pointee.height))
            format = .video(
                VideoFormat(
                    parameters: fresh, size: size, pixelAspect: old.pixelAspect, rotation: old.rotation,
                    color: old.color, frameRate: old.frameRate, peakLuminance: old.peakLuminance))
        case .audio(let old):
            format = .audio(AudioFormat(parameters: fresh, sampleRate: old.sampleRate, layout: old.layout))
        case .video(let old):
            format = .video(
                VideoFormat(
                    parameters: fresh, size: old.size, pixelAspect: old.pixelAspect, rotation: old.rotation,
                    color: old.color, frameRate: old.frameRate, peakLuminance: old.peakLuminance))
        case .subtitle: break
        }
    }

    private static func hasOtherConfiguration(_ one: AVCodecParameters, _ other: AVCodecParameters) -> Bool {
        guard let bytes = one.extradata, let known = other.extradata, one.extradata_size > 0 else { return false }
        return one.extradata_size != other.extradata_size || memcmp(bytes, known, Int(one.extradata_size)) != 0
    }

    /// Adopts a codec configuration that changes within the stream; libavformat attaches it to a packet.
    private mutating func adoptNewConfiguration(_ packet: UnsafeMutablePointer<AVPacket>) {
        guard packet.pointee.side_data_elems > 0 else { return }
        var size = 0
        guard let bytes = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size), size > 0,
            size <= FormatReading.largestConfiguration
        else { return }
        let configuration = Array(UnsafeBufferPointer(start: bytes, count: size))
        switch format {
        case .audio(let old):
            if old.parameters.configuration == configuration { return }
            close()
            var parameters = old.parameters
            parameters.configuration = configuration
            format = .audio(AudioFormat(parameters: parameters, sampleRate: old.sampleRate, layout: old.layout))
        case .video(let old):
            if old.parameters.configuration == configuration { return }
            var parameters = old.parameters
            parameters.configuration = configuration
            format = .video(
                VideoFormat(
                    parameters: parameters, size: old.size, pixelAspect: old.pixelAspect, rotation: old.rotation,
                    color: old.color, frameRate: old.frameRate, peakLuminance: old.peakLuminance))
        case .subtitle: break
        }
    }
}

/// A copy of a stream's codec parameters that outlives the stream. Used by one thread at a time.
private final class CodingParameters {
    let pointer = avcodec_parameters_alloc()

    init(_ parameters: UnsafeMutablePointer<AVCodecParameters>?) {
        if let pointer, let parameters { avcodec_parameters_copy(pointer, parameters) }
    }

    deinit {
        var own = pointer
        avcodec_parameters_free(&own)
    }
}
