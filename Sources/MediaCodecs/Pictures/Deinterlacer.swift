internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Deinterlaces each frame into two with libavfilter's `bwdif`. Owned and called by one thread.
///
/// The filter looks one frame ahead and back; `finish` returns the remaining ones. It gets frame numbers as timestamps.
/// The exact times are stored here, so that gaps in a film do not affect them.
final class Deinterlacer {
    /// The configuration of the graph.
    private struct Shape: Equatable {
        var width, height, format: Int32
        var takesAll: Bool
    }

    /// A frame inside the graph.
    private struct Inside {
        var buffer: SampleBuffer
        var hasTwo: Bool
    }

    private var graph: FilterGraph?
    private var shape: Shape?
    /// A configuration for which no graph could be created.
    private var refused: Shape?
    private var pool = RecyclingPool<DecodedFrame> { DecodedFrame() }
    private var inside: [Inside] = []
    /// The filter's number of the first frame in `inside`.
    private var number: Int64 = 0
    /// The filter's number of the frame whose first field was returned last.
    private var begun: Int64 = -1

    /// Whether frames may be inside.
    var isInUse: Bool { graph != nil }

    /// Discards the frames inside, for a seek.
    func flush() {
        graph = nil
        shape = nil
        inside.removeAll(keepingCapacity: true)
        (number, begun) = (0, -1)
    }

    /// Sends a frame; output is appended to `ready` in display order.
    ///
    /// - Parameter takesAll: Whether to deinterlace frames that are not marked as interlaced.
    /// - Returns: False on failure; the filter is then empty, and the frame is to be displayed unchanged.
    func push(
        _ buffer: SampleBuffer, _ decoded: DecodedFrame, takesAll: Bool, of format: VideoFormat,
        to ready: inout [SampleBuffer]
    ) -> Bool {
        let frame = decoded.frame
        let wanted = Shape(
            width: frame.pointee.width, height: frame.pointee.height, format: frame.pointee.format, takesAll: takesAll)
        if wanted != shape {
            finish(format, to: &ready)
            guard wanted != refused, begin(wanted) else {
                refused = wanted
                return false
            }
        }
        frame.pointee.pts = number + Int64(inside.count)
        inside.append(Inside(buffer: buffer, hasTwo: takesAll || cff_frame_is_interlaced(frame) != 0))
        if graph?.push(frame, keeps: true) != true {
            inside.removeLast()
            finish(format, to: &ready)
            return false
        }
        pull(format, to: &ready)
        return true
    }

    /// Appends the remaining frames and resets the filter.
    func finish(_ format: VideoFormat, to ready: inout [SampleBuffer]) {
        if graph?.push(nil) == true { pull(format, to: &ready) }
        flush()
    }

    private func pull(_ format: VideoFormat, to ready: inout [SampleBuffer]) {
        while true {
            let decoded = pool.acquire()
            av_frame_unref(decoded.frame)
            guard graph?.pull(into: decoded.frame) == true else { return }
            // The filter's timestamps are in half frames.
            let count = decoded.frame.pointee.pts
            let index = Int((count >> 1) - number)
            guard count != cff_nopts_value, inside.indices.contains(index) else { continue }
            inside.removeFirst(index)
            number += Int64(index)
            decoded.describe(format)
            // If a frame was the only one inside, both fields have the number of the first.
            let isSecond = count & 1 == 1 || begun == number
            begun = number
            ready.append(field(isSecond, decoded))
        }
    }

    /// Returns a field with its time: the first has the frame's start, the second starts halfway.
    private func field(_ isSecond: Bool, _ decoded: DecodedFrame) -> SampleBuffer {
        var buffer = inside[0].buffer
        buffer.payload = .videoFrame(decoded)
        guard inside[0].hasTwo else { return buffer }
        let duration = length
        let half = duration.half
        if isSecond {
            buffer.presentationTime = buffer.presentationTime.map { $0 + half }
            buffer.duration = duration - half
            buffer.flags.remove([.sync, .discontinuity])
        } else {
            buffer.duration = half
        }
        return buffer
    }

    /// The duration of the first frame inside: up to the next one unless there is a gap.
    ///
    /// If fields are separate packets (H.264 in transport streams), a frame states the duration of one field.
    private var length: MediaTime {
        let stated = inside[0].buffer.duration
        guard inside.count > 1, let start = inside[0].buffer.presentationTime,
            let next = inside[1].buffer.presentationTime, next > start, next - start <= stated * 2
        else { return stated }
        return next - start
    }

    private func begin(_ shape: Shape) -> Bool {
        guard shape.height >= 4, shape.width >= 4 else { return false }
        let settings =
            "video_size=\(shape.width)x\(shape.height):pix_fmt=\(shape.format):time_base=1/1:pixel_aspect=1/1"
        let fields = "mode=send_field:parity=auto:deint=\(shape.takesAll ? "all" : "interlaced")"
        graph = FilterGraph([
            FilterGraph.Step(name: "buffer", settings: settings), FilterGraph.Step(name: "bwdif", settings: fields),
            FilterGraph.Step(name: "buffersink"),
        ])
        guard graph != nil else { return false }
        self.shape = shape
        return true
    }
}

extension MediaTime {
    /// Half of the time, exact if the timescale can be doubled.
    fileprivate var half: MediaTime {
        value % 2 == 0 || timescale > Int32.max / 2
            ? MediaTime(value: value / 2, timescale: timescale) : MediaTime(value: value, timescale: timescale * 2)
    }
}
