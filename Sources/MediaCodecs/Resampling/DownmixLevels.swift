internal import CFFmpeg

/// How many channels become few: the film's own numbers where it carries them (AC-3 and E-AC-3 do: ETSI TS 102 366,
/// 5.4.2.4, 5.4.2.5 and annex D), otherwise −3 dB for centre and surround and nothing of the low-frequency channel
/// (ITU-R BS.775-3, annex 4). The sum is scaled so that full scale in every channel does not clip.
struct DownmixLevels: Equatable {
    var center = 0.5.squareRoot()
    var surround = 0.5.squareRoot()
    var lowFrequency = 0.0

    init() {}

    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        guard let side = av_frame_get_side_data(frame, AV_FRAME_DATA_DOWNMIX_INFO),
            side.pointee.size >= MemoryLayout<AVDownmixInfo>.size, let data = side.pointee.data
        else { return }
        let stated = UnsafeRawPointer(data).loadUnaligned(as: AVDownmixInfo.self)
        func sensible(_ level: Double, _ usual: Double) -> Double {
            level.isFinite && level >= 0 && level <= 2 ? level : usual
        }
        center = sensible(stated.center_mix_level, center)
        surround = sensible(stated.surround_mix_level, surround)
        lowFrequency = sensible(stated.lfe_mix_level, 0)
    }

    func apply(to resampler: UnsafeMutableRawPointer) {
        av_opt_set_double(resampler, "center_mix_level", center, 0)
        av_opt_set_double(resampler, "surround_mix_level", surround, 0)
        av_opt_set_double(resampler, "lfe_mix_level", lowFrequency, 0)
        av_opt_set_double(resampler, "rematrix_maxval", 1, 0)
    }
}
