import Foundation
import MediaCore
import SyncRendering

/// A signal of pulses every 100 ms over a quiet tone. The pulses show when the film was audible, gaps in the tone show
/// silence.
enum PulsedTone {
    /// `spacing`: film seconds between pulses. `pulse`: half the duration of a pulse in seconds.
    static let spacing = 0.1
    static let pulse = 0.0004
    static let tone: Float = 0.04

    static func value(at seconds: Double) -> Float {
        let since = seconds - (seconds / spacing).rounded() * spacing
        let value = tone * Float(sin(seconds * 2 * .pi * 440))
        return abs(since) < pulse ? value + Float(0.7 * (0.5 + 0.5 * cos(.pi * since / pulse))) : value
    }

    /// Returns one second of the signal as PCM in packets of 100 ms.
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

    /// Returns how late each pulse of a recording was relative to a timebase segment, in milliseconds, and the seconds
    /// since the segment's start.
    static func lateness(_ recording: OutputCapture, _ line: TimebaseSegment) -> [(seconds: Double, late: Double)] {
        recording.pulses(above: 0.2).map { pulse in
            let instant = HostInstant(nanoseconds: Int64(pulse.at))
            let film = line.mediaTime(at: instant).seconds
            let due = (film / spacing).rounded() * spacing
            return ((instant - line.hostAnchor).inSeconds, (film - due) / line.rate * 1000)
        }
    }
}
