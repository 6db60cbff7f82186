internal import Glibc

/// Night mode: what is loud becomes quieter, what is quiet louder, so that voices are heard and nobody wakes.
///
/// A feed-forward compressor without delay. Above −32 dBFS three decibels become one, with a knee of 12 dB, and everything is raised by 12 dB:
/// speech at −23 dBFS comes out at −17, an explosion at −3 at −10.3, a whisper at −50 at −38. It follows the highest of all channels, so
/// that nothing moves in the room; the gain falls with a time constant of 10 ms and rises with one of 400 ms, slower than syllables.
/// Owned by one thread; allocates nothing.
struct NightCompressor {
    static let threshold: Float = -32
    static let ratio: Float = 3
    static let knee: Float = 12
    static let makeUp: Float = 12
    private static let attack = 0.01
    private static let release = 0.4
    /// Switching on and off takes this long.
    private static let fade = 0.05

    private let fall: Float
    private let rise: Float
    private let step: Float
    /// Decibels that are taken off now, and how much of all that is in force, 0…1.
    private var reduction: Float = 0
    private var share: Float = 0

    init(sampleRate: Int) {
        fall = Float(1 - exp(-1 / (Self.attack * Double(sampleRate))))
        rise = Float(1 - exp(-1 / (Self.release * Double(sampleRate))))
        step = Float(1 / (Self.fade * Double(sampleRate)))
    }

    /// Decibels to be taken off at a level in decibels against full scale: the static curve.
    static func reduction(at level: Float) -> Float {
        let over = level - threshold
        let slope = 1 - 1 / ratio
        if over <= -knee / 2 { return 0 }
        if over >= knee / 2 { return slope * over }
        return slope * (over + knee / 2) * (over + knee / 2) / (2 * knee)
    }

    /// Begins with or without it, without a way there.
    mutating func begin(isOn: Bool) { (reduction, share) = (0, isOn ? 1 : 0) }

    mutating func process(_ samples: UnsafeMutablePointer<Float>, frames: Int, channels: Int, isOn: Bool) {
        let wanted: Float = isOn ? 1 : 0
        if share == 0, wanted == 0 { return }
        for frame in 0..<frames {
            let samples = samples + frame * channels
            var highest: Float = 1e-6
            for channel in 0..<channels { highest = max(highest, abs(samples[channel])) }
            let due = Self.reduction(at: 20 * log10f(highest))
            reduction += (due - reduction) * (due > reduction ? fall : rise)
            if share != wanted { share = wanted > share ? min(1, share + step) : max(0, share - step) }
            let gain = expf((Self.makeUp - reduction) * share * 0.115_129_25)
            for channel in 0..<channels { samples[channel] *= gain }
        }
    }
}
