internal import CFFmpeg

/// Converts interleaved floats to the planes of an encoder's frame.
enum PlanarSamples {
    /// - Parameter bits: Significant bits of integer formats; 24 are written to the upper part of 32.
    static func write(
        _ source: UnsafePointer<Float>, frames: Int, channels: Int, to frame: UnsafeMutablePointer<AVFrame>,
        at offset: Int, bits: Int32
    ) {
        guard let planes = frame.pointee.extended_data else { return }
        for channel in 0..<channels {
            guard let plane = planes[channel] else { continue }
            let raw = UnsafeMutableRawPointer(plane)
            let from = source + channel
            switch AVSampleFormat(frame.pointee.format) {
            case AV_SAMPLE_FMT_FLTP:
                let to = raw.assumingMemoryBound(to: Float.self) + offset
                for index in 0..<frames { to[index] = from[index &* channels] }
            case AV_SAMPLE_FMT_S16P:
                let to = raw.assumingMemoryBound(to: Int16.self) + offset
                for index in 0..<frames { to[index] = Int16(scaled(from[index &* channels], 32768)) }
            case AV_SAMPLE_FMT_S32P:
                let to = raw.assumingMemoryBound(to: Int32.self) + offset
                for index in 0..<frames { to[index] = scaled(from[index &* channels], 8_388_608) << 8 }
            default: return
            }
        }
    }

    /// Returns the nearest integer, clamped to full scale; NaN becomes 0. Integers from a decoder, which divides by
    /// the same power of two, are returned exactly.
    private static func scaled(_ sample: Float, _ full: Float) -> Int32 {
        let value = (sample * full).rounded()
        return value >= full ? Int32(full) - 1 : value >= -full ? Int32(value) : value < -full ? -Int32(full) : 0
    }
}
