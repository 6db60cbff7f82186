public import MediaCore

/// Converts sample buffers of one format to PCM of another: decoding, trimming, mixing, resampling and time stretching.
/// Implementations wrap C libraries.
///
/// Confined to one thread. The caller sends one buffer, then receives until `receive` returns false.
public protocol PCMConverter: AnyObject {
    /// Adds the next buffer. A damaged packet is skipped; its gap follows from the time of the next packet.
    func send(_ buffer: SampleBuffer) throws(MediaError)
    /// Switches to buffers of another format without a discontinuity in the output.
    ///
    /// The default returns false: another converter is required.
    ///
    /// - Throws: If the format cannot be decoded; the converter is unchanged.
    func adopt(_ format: AudioFormat) throws(MediaError) -> Bool
    /// Amplifies the centre channel of subsequent audio in the downmix, in decibels; 0 leaves the mix unchanged. The
    /// default does nothing.
    func setDialogueLift(_ decibels: Double)
    /// Signals the end of input, so that buffered audio becomes available.
    func finish()
    /// Fills a block; returns false if no audio is ready. `block.start` is the exact media time after trimming.
    func receive(into block: PCMBlock) throws(MediaError) -> Bool
    /// Discards all internal state, for a seek.
    func reset()
    /// The number of undecodable packets since creation.
    var decodeErrorCount: Int { get }
    /// Returns the audio that could not be decoded since the last call, in media time; nil if there is none. The
    /// default returns nil.
    func consumeUndecodableAudio() -> UndecodableAudio?
}

/// A range of audio whose packets could not be decoded.
public struct UndecodableAudio: Sendable, Equatable {
    /// The media time of the first such packet.
    package var start: MediaTime
    /// The end of the last such packet, in media time.
    package var end: MediaTime
    /// The sum of the packets' stated durations.
    package var duration: MediaTime

    /// Creates a range of one packet or of contiguous packets.
    package init(start: MediaTime, duration: MediaTime) {
        (self.start, self.duration, end) = (start, duration, start + duration)
    }

    /// Returns the union of two ranges with the summed duration.
    package func adding(_ other: UndecodableAudio) -> UndecodableAudio {
        var sum = self
        (sum.start, sum.end) = (min(start, other.start), max(end, other.end))
        sum.duration += other.duration
        return sum
    }
}

extension [UndecodableAudio] {
    /// Packets that could be decoded by chance interrupt damaged audio for less than this.
    private static var maxInterruption: MediaTime { MediaTime(value: 1, timescale: 4) }
    private static var maxCount: Int { 64 }

    /// Adds a range, as part of the last one if that is contiguous, or if there are many.
    package mutating func add(_ sound: UndecodableAudio) {
        guard let last, sound.start - last.end <= Self.maxInterruption || count >= Self.maxCount else {
            return append(sound)
        }
        self[count - 1] = last.adding(sound)
    }
}

extension PCMConverter {
    /// Returns nil: undecodable audio is not recorded.
    public func consumeUndecodableAudio() -> UndecodableAudio? { nil }
    /// Returns false: another format requires another converter.
    public func adopt(_ format: AudioFormat) throws(MediaError) -> Bool { false }
    /// Does nothing: the mix is unchanged.
    public func setDialogueLift(_ decibels: Double) {}
}

/// Encodes PCM for an output. Confined to one thread.
public protocol PCMEncoder: AnyObject {
    /// The number of frames per packet.
    var framesPerPacket: Int { get }
    /// Encodes a block; `receive` returns the packets.
    func send(_ block: PCMBlock) throws(MediaError)
    /// Signals the end of input, so that buffered packets become available.
    func finish()
    /// Appends the available packets to `batch`; returns false if there are none. Their timestamps and durations are
    /// media time of the decoded output, at the speed of the blocks. The first packets of an encoder with a delay begin
    /// before the first block.
    func receive(into batch: PacketBatch) throws(MediaError) -> Bool
    /// Discards all internal state, for a seek.
    func reset()
}

/// A factory of converters and encoders. The application passes the one from MediaCodecs or its own.
public protocol AudioCodecs: Sendable {
    /// Returns a converter between two formats.
    ///
    /// - Parameter speed: Media seconds per second of output, within `AudioRenderer.speedRange`; the pitch is
    ///   preserved.
    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    /// Returns an encoder for packets of `format`.
    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder
}
