public import MediaCore

/// Turns sample buffers of one format into decoded sound of another: decoding, trimming, mixing, resampling,
/// stretching. Implemented above C libraries; owned and called by one thread.
///
/// Send one buffer, then receive until it returns false.
public protocol PCMConverter: AnyObject {
    /// Hands in the next buffer. A damaged packet is skipped, its place filled by what the next one's time says.
    func send(_ buffer: SampleBuffer) throws(MediaError)
    /// Gets ready for buffers of another format, so that they join what was sent before without an edge. False, as by
    /// default, when a converter of its own is needed.
    ///
    /// - Throws: when the format cannot be decoded; the converter is as before.
    func follow(_ format: AudioFormat) throws(MediaError) -> Bool
    /// Mixes the centre channel of what follows louder by so many decibels; 0 is as the film has it. Does nothing by default.
    func setDialogueLift(_ decibels: Double)
    /// No more buffers follow: what is inside comes out.
    func finish()
    /// Fills a block; false when nothing is ready. `block.start` is exact film time, trims applied.
    func receive(into block: PCMBlock) throws(MediaError) -> Bool
    /// Forgets everything inside, for a jump.
    func reset()
    /// Packets that could not be decoded since the start.
    var damagedPackets: Int { get }
    /// Returns the sound that could not be decoded since the last call, in film time; nil where there is none, as by default.
    func takeUndecodableSound() -> UndecodableSound?
}

/// Sound whose packets could not be decoded.
public struct UndecodableSound: Sendable, Equatable {
    /// The film time of the first such packet.
    public var start: MediaTime
    /// The film time just after the last.
    public var end: MediaTime
    /// The sum of the lengths that the packets state.
    public var duration: MediaTime

    public init(start: MediaTime, duration: MediaTime) {
        (self.start, self.duration, end) = (start, duration, start + duration)
    }

    /// Returns both together.
    public func adding(_ other: UndecodableSound) -> UndecodableSound {
        var sum = self
        (sum.start, sum.end) = (min(start, other.start), max(end, other.end))
        sum.duration += other.duration
        return sum
    }
}

extension PCMConverter {
    public func takeUndecodableSound() -> UndecodableSound? { nil }
    public func follow(_ format: AudioFormat) throws(MediaError) -> Bool { false }
    public func setDialogueLift(_ decibels: Double) {}
}

/// Compresses decoded sound for a speaker. Owned and called by one thread.
public protocol PCMEncoder: AnyObject {
    /// Frames per packet.
    var framesPerPacket: Int { get }
    /// Takes a block; packets come out of `receive`.
    func send(_ block: PCMBlock) throws(MediaError)
    func finish()
    /// Appends the packets that are ready, stamped with the film time of their decoded output; false when none is.
    func receive(into batch: PacketBatch) throws(MediaError) -> Bool
    func reset()
}

/// Makes converters and encoders; the application passes the one from MediaCodecs, or its own.
public protocol AudioCodecs: Sendable {
    /// - Parameter speed: film seconds per second of output, within `AudioRenderer.speedRange`, pitch kept.
    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder
}
