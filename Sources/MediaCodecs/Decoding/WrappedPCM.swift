internal import CFFmpeg
internal import MediaCore

/// Wraps decoded audio of an application in libavutil frames without a copy; the path after the decoder is the same.
///
/// Owned and called by one thread.
struct WrappedPCM {
    private var last: AudioFormat?

    /// Returns the format that the block would have as packets.
    mutating func format(of block: PCMBlock) -> AudioFormat {
        let layout = block.format.layout
        if let last, last.sampleRate == block.format.sampleRate, last.layout == layout { return last }
        let format = AudioFormat(LinearPCM(.float32), sampleRate: block.format.sampleRate, layout: layout)
        last = format
        return format
    }

    /// Lends a block's samples to a frame. The frame must be unreferenced or reused before the block is released.
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
