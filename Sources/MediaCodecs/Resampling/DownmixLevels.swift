internal import CFFmpeg
internal import Glibc

/// Downmix levels: the film's own if stated (AC-3 and E-AC-3: ETSI TS 102 366, 5.4.2.4, 5.4.2.5 and annex D).
///
/// Otherwise −3 dB for centre and surround, and no low-frequency channel (ITU-R BS.775-3, annex 4). The sum is scaled
/// so that full scale in all channels does not clip.
///
/// An additional lift of the centre channel leaves the other channels unchanged. Full scale in all channels then
/// exceeds full scale, which the limiter handles (`AudioProcessing`).
struct DownmixLevels: Equatable {
    var center = 0.5.squareRoot()
    var surround = 0.5.squareRoot()
    var lowFrequency = 0.0
    /// The additional gain of the centre channel in dB.
    var dialogueLift = 0.0

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

    /// Configures a resampler that is not initialized yet.
    func apply(to resampler: OpaquePointer, from: inout AVChannelLayout, to output: inout AVChannelLayout) {
        let options = UnsafeMutableRawPointer(resampler)
        av_opt_set_double(options, "center_mix_level", center, 0)
        av_opt_set_double(options, "surround_mix_level", surround, 0)
        av_opt_set_double(options, "lfe_mix_level", lowFrequency, 0)
        av_opt_set_double(options, "rematrix_maxval", 1, 0)
        if dialogueLift != 0 { lift(resampler, &from, &output) }
    }

    /// Sets the default matrix of libswresample with a larger centre column.
    private func lift(_ resampler: OpaquePointer, _ from: inout AVChannelLayout, _ output: inout AVChannelLayout) {
        let (inputs, outputs) = (Int(from.nb_channels), Int(output.nb_channels))
        let center = Int(av_channel_layout_index_from_channel(&from, AV_CHAN_FRONT_CENTER))
        guard center >= 0, inputs > 1, inputs <= Self.maxChannels, outputs <= Self.maxChannels else { return }
        // FFmpeg 5.1 scales the whole largest matrix whatever the layouts; with a smaller stride
        // rows overlap and are scaled twice.
        let stride = Self.maxChannels
        var matrix = [Double](repeating: 0, count: stride * stride)
        let code = swr_build_matrix2(
            &from, &output, self.center, surround, lowFrequency, 1, 1, &matrix, stride, AV_MATRIX_ENCODING_NONE, nil)
        guard code >= 0 else { return }
        let factor = pow(10, dialogueLift / 20)
        for row in 0..<outputs { matrix[row * stride + center] *= factor }
        swr_set_matrix(resampler, matrix, Int32(stride))
    }

    /// SWR_CH_MAX.
    private static let maxChannels = 64
}
