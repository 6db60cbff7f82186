public import MediaCore
public import SyncRendering

/// Audio codecs of libavcodec, libswresample and libavfilter.
///
/// Decodes everything that the installed FFmpeg does; encodes ALAC and AAC-LC for network speakers.
public struct FilmAudioCodecs: AudioCodecs {
    /// Creates a codec factory without state.
    public init() {}

    /// Returns a converter that keeps the pitch at speeds other than 1.
    ///
    /// - Throws: `unsupported` if the format cannot be decoded or the speed is out of range.
    public func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    {
        let natural = try FilmAudioConverter(from: format, to: output)
        return speed == 1 ? natural : try SpeedConverter(natural, output: output, speed: speed)
    }

    /// Returns an encoder for a network speaker.
    ///
    /// - Throws: `unsupported` for other formats than ALAC and AAC-LC, and if rate or channels differ from the input.
    public func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        try SpeakerAudioEncoder(from: input, to: format)
    }
}
