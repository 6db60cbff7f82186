internal import CFFmpeg
internal import MediaCore

/// Interleaves PCM packets that store their channels one after another, as decoders require.
///
/// libavcodec supports few such codecs and none with floats. The codec names here are those of the interleaved
/// codecs plus `_planar` (`LinearPCM`).
final class PlaneInterleaver {
    private static let ending = "_planar"
    private let channels: Int
    private let sampleBytes: Int
    private var scratch: UnsafeMutableRawBufferPointer

    /// Returns nil for all other formats.
    init?(_ format: AudioFormat) {
        guard let name = Self.interleavedName(format.parameters.codec),
            let descriptor = avcodec_descriptor_get_by_name(name)
        else { return nil }
        channels = format.layout.count
        sampleBytes = max(1, Int(av_get_exact_bits_per_sample(descriptor.pointee.id)) / 8)
        scratch = .allocate(byteCount: 16384, alignment: 64)
    }

    deinit { scratch.deallocate() }

    /// Returns the parameters for opening the decoder.
    static func decoded(_ parameters: CodecParameters) -> CodecParameters {
        guard let name = interleavedName(parameters.codec) else { return parameters }
        var plain = parameters
        plain.codec = name
        return plain
    }

    private static func interleavedName(_ codec: String) -> String? {
        guard codec.hasPrefix("pcm_"), codec.hasSuffix(ending), avcodec_descriptor_get_by_name(codec) == nil else {
            return nil
        }
        return String(codec.dropLast(ending.count))
    }

    /// Returns the interleaved samples; valid until the next call. An incomplete last frame is dropped.
    func interleaved(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let frames = bytes.count / (channels * sampleBytes)
        let needed = frames * channels * sampleBytes
        if scratch.count < needed {
            scratch.deallocate()
            scratch = .allocate(byteCount: needed, alignment: 64)
        }
        for channel in 0..<channels {
            let plane = channel * frames * sampleBytes
            for frame in 0..<frames {
                let target = (frame * channels + channel) * sampleBytes
                for byte in 0..<sampleBytes { scratch[target + byte] = bytes[plane + frame * sampleBytes + byte] }
            }
        }
        return UnsafeRawBufferPointer(rebasing: scratch[0..<needed])
    }
}
