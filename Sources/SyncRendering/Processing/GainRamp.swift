/// Applies a gain without steps: a change is reached along a straight line.
package struct GainRamp {
    private(set) var current: Float
    private var target: Float
    private var framesLeft = 0
    private var slope: Float = 0
    /// The duration of a change in frames.
    let length: Int

    package init(gain: Float, length: Int) {
        current = gain
        target = gain
        self.length = max(1, length)
    }

    /// Multiplies interleaved frames in place by the gain, with a ramp from the preceding one.
    package mutating func apply(_ gain: Float, to samples: UnsafeMutablePointer<Float>, frames: Int, channels: Int) {
        if gain != target {
            target = gain
            framesLeft = length
            slope = (gain - current) / Float(length)
        }
        var frame = 0
        while framesLeft > 0, frame < frames {
            framesLeft -= 1
            current = framesLeft == 0 ? target : current + slope
            for channel in 0..<channels { samples[frame * channels + channel] *= current }
            frame += 1
        }
        if current == 1 { return }
        for index in (frame * channels)..<(frames * channels) { samples[index] *= current }
    }
}
