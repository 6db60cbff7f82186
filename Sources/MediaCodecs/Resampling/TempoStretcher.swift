internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Stretches sound in time and keeps its pitch, with libavfilter's `atempo`: one from half to double speed, and two of the same tempo
/// one behind the other beyond that, because above double speed a single one leaves samples out instead of mixing them.
final class TempoStretcher {
    private let format: PCMFormat
    /// Of the filters one behind the other; their product is the speed.
    private let tempos: [Double]
    private var graph: FilterGraph?
    private let frame: UnsafeMutablePointer<AVFrame>
    private let stretched: UnsafeMutablePointer<AVFrame>
    private var layout = AVChannelLayout()
    /// Frames of `stretched` already taken.
    private var taken = 0

    init(format: PCMFormat, speed: Double) throws(MediaError) {
        let range = AudioRenderer.speedRange
        guard range.contains(speed) else {
            let (least, most) = (range.lowerBound, range.upperBound)
            throw MediaError(.unsupported, "cannot play at that speed; choose one from \(least) to \(most)")
        }
        self.format = format
        tempos = (0.5...2).contains(speed) ? [speed] : [speed.squareRoot(), speed.squareRoot()]
        guard let frame = av_frame_alloc(), let stretched = av_frame_alloc() else { throw CodecContext.noMemory }
        (self.frame, self.stretched) = (frame, stretched)
        // The filters want to know positions; where there are none, those usual for the number of channels.
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

    /// Forgets what is inside and starts anew.
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

    /// Puts sound in.
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
        // The filter takes the reference over and leaves the frame empty, whether it could use it or not.
        if !graph.push(frame) { av_frame_unref(frame) }
    }

    /// No more sound follows.
    func finish() { graph?.push(nil) }

    /// Takes up to `room` stretched frames out; 0 when nothing is ready.
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
