internal import Glibc

/// Night mode: reduces loud audio and raises quiet audio, so that voices remain intelligible at a low volume.
///
/// A feed-forward compressor without delay. Above −32 dBFS the ratio is 3:1 with a knee of 12 dB, and the make-up gain
/// is 12 dB. Speech at −23 dBFS becomes −17, an explosion at −3 becomes −10.3, a whisper at −50 becomes −38. The
/// maximum of all channels controls the gain, so that the stereo image is stable. The time constant is 10 ms for the
/// attack and 400 ms for the release, which is slower than syllables. Confined to one thread; allocates nothing.
struct NightCompressor {
    /// The threshold in dBFS.
    static let threshold: Float = -32
    /// The compression ratio above the threshold.
    static let ratio: Float = 3
    /// The width of the knee in dB.
    static let knee: Float = 12
    /// The make-up gain in dB.
    static let makeUp: Float = 12
    /// The time constant of a falling gain in seconds.
    private static let attack = 0.01
    /// The time constant of a rising gain in seconds.
    private static let release = 0.4
    /// The duration of switching on and off, in seconds.
    private static let fade = 0.05

    private let fall: Float
    private let rise: Float
    private let step: Float
    /// The current gain reduction in decibels, and the applied share of the whole effect, 0…1.
    private var reduction: Float = 0
    private var share: Float = 0

    init(sampleRate: Int) {
        fall = Float(1 - exp(-1 / (Self.attack * Double(sampleRate))))
        rise = Float(1 - exp(-1 / (Self.release * Double(sampleRate))))
        step = Float(1 / (Self.fade * Double(sampleRate)))
    }

    /// Returns the gain reduction in decibels for a level in dBFS: the static curve.
    static func reduction(at level: Float) -> Float {
        let over = level - threshold
        let slope = 1 - 1 / ratio
        if over <= -knee / 2 { return 0 }
        if over >= knee / 2 { return slope * over }
        return slope * (over + knee / 2) * (over + knee / 2) / (2 * knee)
    }

    /// Resets the state, without a fade.
    mutating func begin(isOn: Bool) { (reduction, share) = (0, isOn ? 1 : 0) }

    /// Compresses interleaved frames in place; `isOn` changes with a fade.
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
