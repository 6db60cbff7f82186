public import MediaCore
public import SyncRendering

/// Sound through libavcodec, libswresample and libavfilter: every codec that this machine's FFmpeg decodes, and ALAC
/// and AAC-LC to encode for speakers.
public struct FilmAudioCodecs: AudioCodecs {
    public init() {}

    public func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    {
        let natural = try FilmAudioConverter(from: format, to: output)
        return speed == 1 ? natural : try SpeedConverter(natural, output: output, speed: speed)
    }

    public func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        try SpeakerAudioEncoder(from: input, to: format)
    }
}
