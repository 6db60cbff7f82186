internal import CALSA
internal import MediaCore
internal import SyncRendering

/// The hardware configurations that a device still allows, narrowed by each `set…` call.
final class HardwareParameters {
    private let handle: OpaquePointer
    private let device: String
    private let raw: OpaquePointer

    init(_ handle: OpaquePointer, device: String) throws(OutputError) {
        self.handle = handle
        self.device = device
        var raw: OpaquePointer?
        snd_pcm_hw_params_malloc(&raw)
        self.raw = raw!
        try check(snd_pcm_hw_params_any(handle, raw))
        try check(snd_pcm_hw_params_set_access(handle, raw, SND_PCM_ACCESS_RW_INTERLEAVED))
        // ALSA's converter interpolates linearly; the resampler of the decoder is better.
        snd_pcm_hw_params_set_rate_resample(handle, raw, 0)
    }

    deinit { snd_pcm_hw_params_free(raw) }

    private func check(_ code: Int32) throws(OutputError) {
        guard code >= 0 else { throw OutputError.alsa(code, device: device) }
    }

    func takes(channels: Int) -> Bool {
        snd_pcm_hw_params_test_channels(handle, raw, UInt32(clamping: channels)) == 0
    }

    /// Returns the supported channel count nearest to `wanted`.
    func channels(near wanted: Int) -> Int {
        var count: UInt32 = 0
        if snd_pcm_hw_params_get_channels_min(raw, &count) >= 0, count > UInt32(wanted) { return Int(count) }
        if snd_pcm_hw_params_get_channels_max(raw, &count) >= 0 { return min(wanted, max(1, Int(count))) }
        return wanted
    }

    func set(channels: Int) throws(OutputError) {
        try check(snd_pcm_hw_params_set_channels(handle, raw, UInt32(clamping: channels)))
    }

    /// Sets the supported sample rate nearest to `wanted` and returns it, in Hz.
    func setRate(near wanted: Int) throws(OutputError) -> Int {
        var rate = UInt32(clamping: wanted)
        var direction: Int32 = 0
        try check(snd_pcm_hw_params_set_rate_near(handle, raw, &rate, &direction))
        return Int(rate)
    }

    /// Sets the preferred sample format among those supported and returns it.
    func setSampleFormat() throws(OutputError) -> SampleFormat {
        for format in SampleFormat.allCases where snd_pcm_hw_params_test_format(handle, raw, format.alsa) == 0 {
            try check(snd_pcm_hw_params_set_format(handle, raw, format.alsa))
            return format
        }
        throw OutputError(
            .unsupportedFormat,
            "the sound device \"\(device)\" supports no known sample format; try \"plug:\(device)\"")
    }

    /// Sets the period and buffer times nearest to `sizes`. Returns both in frames.
    func setSizes(_ sizes: ALSADevice.Sizes) throws(OutputError) -> (period: Int, buffer: Int) {
        var period = UInt32(clamping: sizes.period.wholeNanoseconds / 1000)
        var buffer = UInt32(clamping: sizes.buffer.wholeNanoseconds / 1000)
        var direction: Int32 = 0
        try check(snd_pcm_hw_params_set_period_time_near(handle, raw, &period, &direction))
        direction = 0
        try check(snd_pcm_hw_params_set_buffer_time_near(handle, raw, &buffer, &direction))
        var periodFrames: snd_pcm_uframes_t = 0
        var bufferFrames: snd_pcm_uframes_t = 0
        direction = 0
        // Some devices determine the sizes only in snd_pcm_hw_params(); until then they report a range.
        if snd_pcm_hw_params_get_period_size(raw, &periodFrames, &direction) < 0
            || snd_pcm_hw_params_get_buffer_size(raw, &bufferFrames) < 0
        {
            try check(snd_pcm_hw_params(handle, raw))
            try check(snd_pcm_hw_params_get_period_size(raw, &periodFrames, &direction))
            try check(snd_pcm_hw_params_get_buffer_size(raw, &bufferFrames))
        }
        return (Int(periodFrames), Int(bufferFrames))
    }

    func apply() throws(OutputError) { try check(snd_pcm_hw_params(handle, raw)) }

    /// Whether the position of the device advances in bursts instead of continuously.
    var isBatch: Bool { snd_pcm_hw_params_is_batch(raw) != 0 }
}
