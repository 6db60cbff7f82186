internal import Foundation
package import MediaCore

/// Tones that identify parts of a recording, and whose phase shows the sample at which one follows another.
package enum Tone: Int, CaseIterable {
    case kept = 500
    case removed = 1200
    case following = 2000

    package static let level: Float = 0.4
    package static let format = AudioFormat(
        parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: 48000, layout: .stereo)

    /// Returns an interval of the timeline as PCM; the tone's phase is zero at frame 0 of the timeline.
    package func buffer(frames range: Range<Int64>) -> SampleBuffer { Self.buffer(hertz: rawValue, frames: range) }

    /// Returns an interval of the timeline as PCM for any frequency.
    package static func buffer(hertz: Int, frames range: Range<Int64>) -> SampleBuffer {
        let samples = range.flatMap { frame -> [Float] in
            let value = level * Float(sin(2 * Double.pi * Double(hertz) * Double(frame) / 48000))
            return [value, value]
        }
        let batch = PacketBatch(reservingBytes: samples.count * 4, packets: 16)
        samples.withUnsafeBytes { bytes in
            for start in stride(from: Int64(0), to: Int64(range.count), by: 4800) {
                let end = min(start + 4800, Int64(range.count))
                batch.append(
                    UnsafeRawBufferPointer(rebasing: bytes[Int(start * 8)..<Int(end * 8)]),
                    as: .init(
                        presentationTime: MediaTime(value: range.lowerBound + start, timescale: 48000),
                        duration: MediaTime(value: end - start, timescale: 48000)))
            }
        }
        return SampleBuffer(
            payload: .encodedAudio(format, batch),
            presentationTime: MediaTime(value: range.lowerBound, timescale: 48000),
            duration: MediaTime(value: Int64(range.count), timescale: 48000), flags: .sync)
    }
}
