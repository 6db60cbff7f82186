import Foundation
import MediaCore
import SyncRendering

/// A film of pulses, one every 100 ms of film over a quiet tone: the pulses tell when the film was heard, the tone where
/// there was silence.
enum PulsedTone {
    /// Film seconds between pulses, and half of how long one is.
    static let spacing = 0.1
    static let pulse = 0.0004
    static let tone: Float = 0.04

    static func value(at seconds: Double) -> Float {
        let since = seconds - (seconds / spacing).rounded() * spacing
        let value = tone * Float(sin(seconds * 2 * .pi * 440))
        return abs(since) < pulse ? value + Float(0.7 * (0.5 + 0.5 * cos(.pi * since / pulse))) : value
    }

    /// One second of it as plain samples, cut into packets of a tenth.
    static func buffer(second: Int64) -> SampleBuffer {
        let format = AudioFormat(
            parameters: CodecParameters(codec: "pcm_s16le", bitsPerRawSample: 16), sampleRate: 48000, layout: .stereo)
        let batch = PacketBatch()
        for packet in 0..<Int64(10) {
            let first = second * 48000 + packet * 4800
            let samples = (0..<9600).map { Int16(32767 * value(at: Double(first + Int64($0 / 2)) / 48000)) }
            samples.withUnsafeBytes {
                batch.append(
                    $0,
                    as: .init(
                        presentationTime: MediaTime(value: first, timescale: 48000),
                        duration: MediaTime(value: 4800, timescale: 48000)))
            }
        }
        return SampleBuffer(
            payload: .encodedAudio(format, batch), presentationTime: MediaTime(value: second, timescale: 1),
            duration: MediaTime(value: 1, timescale: 1), flags: .sync)
    }

    /// How late each pulse of a recording was against a line, in milliseconds, with the time since the line's start.
    static func lateness(_ recording: Recording, _ line: TimebaseSegment) -> [(seconds: Double, late: Double)] {
        recording.pulses(above: 0.2).map { pulse in
            let instant = HostInstant(nanoseconds: Int64(pulse.at))
            let film = line.mediaTime(at: instant).seconds
            let due = (film / spacing).rounded() * spacing
            return ((instant - line.hostAnchor).inSeconds, (film - due) / line.rate * 1000)
        }
    }
}
