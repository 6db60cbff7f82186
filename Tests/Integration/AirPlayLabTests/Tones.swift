import Foundation
import MediaCore

/// Tones that tell stretches of sound apart, and the sample at which one follows another.
enum Tone: Int, CaseIterable {
    case kept = 500
    case removed = 1200
    case following = 2000

    static let level: Float = 0.4
    static let format = AudioFormat(
        parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: 48000, layout: .stereo)

    /// A stretch of the timeline as plain samples; the tone's phase is zero at frame 0 of the timeline.
    func buffer(frames range: Range<Int64>) -> SampleBuffer {
        let samples = range.flatMap { frame -> [Float] in
            let value = Self.level * Float(sin(2 * Double.pi * Double(rawValue) * Double(frame) / 48000))
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
            payload: .encodedAudio(Self.format, batch),
            presentationTime: MediaTime(value: range.lowerBound, timescale: 48000),
            duration: MediaTime(value: Int64(range.count), timescale: 48000), flags: .sync)
    }
}

/// What is heard in a recording, by tones.
struct ToneRecording {
    let samples: [Float]
    let rate: Double

    /// A file of 16-bit samples, the left channel of it.
    init(_ file: URL) throws {
        let bytes = [UInt8](try Data(contentsOf: file))
        func word(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        var offset = 12
        var (channels, rate) = (2, 44100)
        var samples: [Float] = []
        while offset + 8 <= bytes.count {
            let name = String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self)
            let size = word(offset + 4) | word(offset + 6) << 16
            if name == "fmt " { (channels, rate) = (word(offset + 10), word(offset + 12) | word(offset + 14) << 16) }
            if name == "data" {
                let end = min(bytes.count, offset + 8 + size) - 1
                for position in stride(from: offset + 8, to: end, by: channels * 2) {
                    samples.append(Float(Int16(truncatingIfNeeded: word(position))) / 32768)
                }
            }
            offset += 8 + size + size % 2
        }
        self.samples = samples
        self.rate = Double(rate)
    }

    /// How strong a frequency is in a stretch, 1 for a tone of full scale, and its phase in turns at sample 0.
    func look(_ hertz: Int, _ range: Range<Int>) -> (level: Double, turns: Double) {
        var (sine, cosine) = (0.0, 0.0)
        for index in range where samples.indices.contains(index) {
            let angle = 2 * Double.pi * Double(hertz) * Double(index) / rate
            sine += Double(samples[index]) * sin(angle)
            cosine += Double(samples[index]) * cos(angle)
        }
        let count = Double(range.count)
        return (2 * (sine * sine + cosine * cosine).squareRoot() / count, atan2(cosine, sine) / (2 * .pi))
    }

    /// A stretch in which one frequency is by far the strongest, in seconds of the recording.
    struct Stretch: CustomStringConvertible {
        var hertz: Int
        var start: Double
        var end: Double
        var description: String { "\(hertz) Hz \(String(format: "%.2f…%.2f", start, end))" }
    }

    /// The recording as stretches, looked at in windows of 20 ms; silence is left out.
    func stretches(of hertz: [Int], above threshold: Double = 0.03) -> [Stretch] {
        let window = Int(rate * 0.02)
        var all: [Stretch] = []
        for start in stride(from: 0, to: samples.count - window, by: window) {
            let levels = hertz.map { (hertz: $0, level: look($0, start..<(start + window)).level) }
            guard let strongest = levels.max(by: { $0.level < $1.level }), strongest.level > threshold else { continue }
            let (from, to) = (Double(start) / rate, Double(start + window) / rate)
            if let last = all.last, last.hertz == strongest.hertz, from - last.end < 0.03 {
                all[all.count - 1].end = to
            } else {
                all.append(Stretch(hertz: strongest.hertz, start: from, end: to))
            }
        }
        return all
    }

    /// By how many samples of 48 kHz one tone lies later against another than it should, modulo its own period: what a
    /// joint between them has lost or doubled. Both have phase zero at the same moment, and the first one's period is a
    /// multiple of the second one's.
    func jointError(_ first: Stretch, _ second: Stretch) -> Double {
        func shift(_ stretch: Stretch, _ from: Double, _ to: Double) -> Double {
            let (level, turns) = look(stretch.hertz, Int(from * rate)..<Int(to * rate))
            return level > 0 ? -turns / Double(stretch.hertz) * 48000 : .nan
        }
        let before = shift(first, max(first.start + 0.05, first.end - 0.55), first.end - 0.05)
        let after = shift(second, second.start + 0.05, min(second.end - 0.05, second.start + 0.55))
        let period = 48000 / Double(second.hertz)
        let away = (after - before) / period
        return (away - away.rounded()) * period
    }
}
