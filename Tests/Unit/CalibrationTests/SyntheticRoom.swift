import MediaCore
internal import SyncRendering

@testable import Calibration
@testable import Profiles

/// A simulated run, and a microphone recording with configurable faults of a room.
struct SyntheticRoom {
    static let start = HostInstant(nanoseconds: 5_000_000_000_000)

    var record: CalibrationRecord
    var rate = 48000
    /// Delay of each speaker's audio in milliseconds.
    var delays: [Double] = [0]
    /// Clock drift of the audio in parts per million; positive is slow.
    var drift = 0.0
    var amplitude = 0.2
    /// Relative to the loudness of the chirps.
    var noise = 0.0
    /// An echo's delay in seconds, and its level relative to the sound.
    var echo: (delay: Double, share: Double)?
    var gain: Float = 1
    /// Delay of a light sensor on the second channel after the flip, in milliseconds.
    var light: Double?

    /// - Parameter flip: lateness of displayed frames in milliseconds.
    init(speakers: Int = 1, events: Int = 12, seed: UInt64 = 1, flip: Double = 0.4, mode: String = "unpaced window") {
        var numbers = SeededNumbers(state: seed)
        let plan = StimulusPlan(speakers: speakers, perSpeaker: events, using: &numbers)
        delays = [Double](repeating: 0, count: speakers)
        record = CalibrationRecord(
            run: "run-\(seed)",
            speakers: (0..<speakers).map {
                OutputIdentity(key: "A\($0)", name: "Room \($0)", query: "Room \($0)", route: "buffered")
            },
            display: CalibrationRecord.Display(name: "TV", mode: mode, statedDelay: nil),
            events: plan.events.map { event in
                let due = Self.start.advanced(by: event.time.duration)
                return CalibrationRecord.Event(
                    speaker: event.speaker, code: event.code, isLong: event.isLong, due: due,
                    flashed: due.advanced(by: .nanoseconds(Int64(flip * 1e6))))
            })
    }

    /// Host time of the recording's first frame.
    var origin: HostInstant { Self.start.advanced(by: .milliseconds(-700)) }

    func recording(seed: UInt64 = 7) -> Recording {
        let length = (record.events.last!.due - origin).inSeconds + 2
        let frames = Int(length * Double(rate))
        var sound = [Float](repeating: 0, count: frames)
        var lights = [Float](repeating: 0, count: frames)
        for event in record.events {
            let since = (event.due - origin).inSeconds
            let late = delays[event.speaker] / 1000 + drift * 1e-6 * since
            let onset = (since + late) * Double(rate)
            event.code.add(to: &sound, onset: onset, rate: Double(rate), amplitude: amplitude)
            if let echo {
                event.code.add(
                    to: &sound, onset: onset + echo.delay * Double(rate), rate: Double(rate),
                    amplitude: amplitude * echo.share)
            }
            if let light, let flashed = event.flashed {
                let begin = ((flashed - origin).inSeconds + light / 1000) * Double(rate)
                let end = begin + event.flashLength.inSeconds * Double(rate)
                // A panel takes some milliseconds to rise.
                for frame in max(0, Int(begin) - 400)..<min(frames, Int(end) + 400) {
                    let up = min(1, max(0, (Double(frame) - begin) / 240 + 0.5))
                    let down = min(1, max(0, (end - Double(frame)) / 240 + 0.5))
                    lights[frame] += Float(0.3 * min(up, down))
                }
            }
        }
        var numbers = SeededNumbers(state: seed)
        if noise > 0 {
            // The RMS level of a chirp is its amplitude over the square root of two.
            let pink = Self.pinkNoise(frames, using: &numbers)
            let level = Float(amplitude / 2.0.squareRoot() * noise)
            for index in sound.indices { sound[index] += pink[index] * level }
        }
        for index in sound.indices { sound[index] = max(-1, min(1, sound[index] * gain)) }
        let anchors = stride(from: 0, to: frames, by: rate / 2).map { frame in
            Recording.Anchor(
                frame: Int64(frame),
                instant: origin.advanced(by: .nanoseconds(Int64(Double(frame) / Double(rate) * 1e9))))
        }
        return Recording(sampleRate: rate, channels: light == nil ? [sound] : [sound, lights], anchors: anchors)
    }

    func answer() throws -> CalibrationAnswer {
        try CalibrationAnalysis(recording: recording(), record: record).answer()
    }

    /// Returns noise of −3 dB per octave and a standard deviation of 1 (Paul Kellet's sum of first-order filters).
    static func pinkNoise(_ count: Int, using numbers: inout SeededNumbers) -> [Float] {
        var (b0, b1, b2) = (0.0, 0.0, 0.0)
        var noise = [Float](repeating: 0, count: count)
        var sum = 0.0
        for index in 0..<count {
            let white = Double.random(in: -1...1, using: &numbers)
            b0 = 0.99765 * b0 + white * 0.0990460
            b1 = 0.96300 * b1 + white * 0.2965164
            b2 = 0.57000 * b2 + white * 1.0526913
            let value = b0 + b1 + b2 + white * 0.1848
            noise[index] = Float(value)
            sum += value * value
        }
        let scale = Float(1 / (sum / Double(count)).squareRoot())
        return noise.map { $0 * scale }
    }
}
