internal import CFFmpeg
internal import MediaCore

/// Decoded sound that an application enqueues, as frames of libavutil: it goes the way of all sound behind the decoder, and nothing is
/// copied. Owned and called by one thread.
struct PlainSound {
    private var last: AudioFormat?

    /// What a block would be as packets of a film.
    mutating func format(of block: PCMBlock) -> AudioFormat {
        let layout = block.format.layout
        if let last, last.sampleRate == block.format.sampleRate, last.layout == layout { return last }
        let format = AudioFormat(LinearPCM(.float32), sampleRate: block.format.sampleRate, layout: layout)
        last = format
        return format
    }

    /// Lends a block's samples to a frame, which must be emptied or filled anew before the block goes.
    func lend(_ block: PCMBlock, at start: MediaTime, to frame: UnsafeMutablePointer<AVFrame>) {
        av_frame_unref(frame)
        frame.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        frame.pointee.sample_rate = Int32(clamping: block.format.sampleRate)
        frame.pointee.nb_samples = Int32(clamping: block.frames)
        AudioLayouts.set(&frame.pointee.ch_layout, block.format.layout)
        frame.pointee.data.0 = UnsafeMutableRawPointer(block.samples).assumingMemoryBound(to: UInt8.self)
        frame.pointee.linesize.0 = Int32(
            clamping: block.frames * block.format.channels * MemoryLayout<Float>.stride)
        frame.pointee.pts = start.value
    }
}
