internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Changes the tempo with libavfilter's `atempo` and keeps the pitch. Owned and called by one thread.
///
/// One filter from half to double speed; beyond that two of the same tempo in series, because above double speed one
/// filter drops samples instead of mixing them.
final class TempoStretcher {
    private let format: PCMFormat
    /// The tempos of the filters in series; their product is the speed.
    private let tempos: [Double]
    private var graph: FilterGraph?
    private let frame: UnsafeMutablePointer<AVFrame>
    private let stretched: UnsafeMutablePointer<AVFrame>
    private var layout = AVChannelLayout()
    /// The number of consumed frames of `stretched`.
    private var taken = 0

    init(format: PCMFormat, speed: Double) throws(MediaError) {
        let range = AudioRenderer.speedRange
        guard range.contains(speed) else {
            let (lowest, highest) = (range.lowerBound, range.upperBound)
            throw MediaError(.unsupported, "cannot play at this speed; choose one from \(lowest) to \(highest)")
        }
        self.format = format
        tempos = (0.5...2).contains(speed) ? [speed] : [speed.squareRoot(), speed.squareRoot()]
        guard let frame = av_frame_alloc(), let stretched = av_frame_alloc() else { throw CodecContext.noMemory }
        (self.frame, self.stretched) = (frame, stretched)
        // The filters need channel positions; the default ones for the channel count if there are none.
        AudioLayouts.set(&layout, format.layout)
        if layout.order != AV_CHANNEL_ORDER_NATIVE {
            av_channel_layout_default(&layout, Int32(clamping: format.channels))
        }
        try begin()
    }

    deinit {
        var (first, second) = (Optional(frame), Optional(stretched))
        av_frame_free(&first)
        av_frame_free(&second)
    }

    /// Discards buffered audio and creates a new graph.
    ///
    /// - Throws: `unsupported` without libavfilter; all audio is dropped until a later call succeeds.
    func begin() throws(MediaError) {
        graph = nil
        av_frame_unref(stretched)
        taken = 0
        let layout = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            av_channel_layout_describe(&self.layout, text.baseAddress, 256) > 0
                ? String(cString: text.baseAddress!) : ""
        }
        let rate = format.sampleRate
        let settings = "sample_rate=\(rate):sample_fmt=flt:channel_layout=\(layout):time_base=1/\(rate)"
        graph = FilterGraph(
            [FilterGraph.Step(name: "abuffer", settings: settings)]
                + tempos.map { FilterGraph.Step(name: "atempo", settings: "tempo=\($0)") }
                + [FilterGraph.Step(name: "abuffersink")])
        if graph == nil {
            throw MediaError(
                .unsupported, "this machine's FFmpeg cannot change the speed of sound; play at speed 1")
        }
    }

    /// Sends interleaved audio.
    func push(_ samples: UnsafePointer<Float>, frames: Int) {
        guard let graph, frames > 0 else { return }
        frame.pointee.nb_samples = Int32(clamping: frames)
        frame.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        frame.pointee.sample_rate = Int32(clamping: format.sampleRate)
        guard av_channel_layout_copy(&frame.pointee.ch_layout, &layout) >= 0, av_frame_get_buffer(frame, 0) >= 0,
            let target = frame.pointee.data.0
        else { return }
        UnsafeMutableRawPointer(target).copyMemory(
            from: samples, byteCount: frames * format.channels * MemoryLayout<Float>.stride)
        // `push` consumes the reference on success; on failure it is released here.
        if !graph.push(frame) { av_frame_unref(frame) }
    }

    /// Ends the input.
    func finish() { graph?.push(nil) }

    /// Receives up to `room` frames. Returns their number, 0 if none are ready.
    func pull(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        guard let graph else { return 0 }
        if taken >= Int(stretched.pointee.nb_samples) {
            av_frame_unref(stretched)
            taken = 0
            guard graph.pull(into: stretched) else { return 0 }
        }
        guard let source = stretched.pointee.data.0 else { return 0 }
        let count = min(room, Int(stretched.pointee.nb_samples) - taken)
        let stride = format.channels * MemoryLayout<Float>.stride
        UnsafeMutableRawPointer(target).copyMemory(from: source + taken * stride, byteCount: count * stride)
        taken += count
        return count
    }
}
