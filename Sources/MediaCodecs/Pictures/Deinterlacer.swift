internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Makes two pictures of each that consists of two fields, with libavfilter's `bwdif`. Owned and called by one thread.
///
/// The filter looks one picture ahead and one back; what is inside comes out with `finish`. It counts pictures and knows no
/// times: those are kept here, so that they stay exact, whatever holes a film has.
final class Deinterlacer {
    /// What the graph was made for.
    private struct Shape: Equatable {
        var width, height, format: Int32
        var takesAll: Bool
    }

    /// A picture inside the graph.
    private struct Inside {
        var buffer: SampleBuffer
        var hasTwo: Bool
    }

    private var graph: FilterGraph?
    private var shape: Shape?
    /// This FFmpeg, or this kind of picture, has no graph.
    private var refused: Shape?
    private var pool = RecyclingPool<DecodedPicture> { DecodedPicture() }
    private var inside: [Inside] = []
    /// The filter's number of the first of them.
    private var number: Int64 = 0
    /// The filter's number of the picture whose first field came out last.
    private var begun: Int64 = -1

    /// Something may be inside.
    var isInUse: Bool { graph != nil }

    /// Forgets what is inside, for a jump.
    func flush() {
        graph = nil
        shape = nil
        inside.removeAll(keepingCapacity: true)
        (number, begun) = (0, -1)
    }

    /// Takes a picture in; what comes out is appended to `ready`, in order of showing.
    ///
    /// - Parameter takesAll: also pictures that do not say that they have two fields.
    /// - Returns: false when it cannot; then it is empty, and the picture is to be shown as it is.
    func push(
        _ buffer: SampleBuffer, _ picture: DecodedPicture, takesAll: Bool, of format: VideoFormat,
        to ready: inout [SampleBuffer]
    ) -> Bool {
        let frame = picture.frame
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

    /// Gives out what is inside, and is empty.
    func finish(_ format: VideoFormat, to ready: inout [SampleBuffer]) {
        if graph?.push(nil) == true { pull(format, to: &ready) }
        flush()
    }

    private func pull(_ format: VideoFormat, to ready: inout [SampleBuffer]) {
        while true {
            let picture = pool.acquire()
            av_frame_unref(picture.frame)
            guard graph?.pull(into: picture.frame) == true else { return }
            // Counted in halves: two for each picture.
            let count = picture.frame.pointee.pts
            let index = Int((count >> 1) - number)
            guard count != cff_nopts_value, inside.indices.contains(index) else { continue }
            inside.removeFirst(index)
            number += Int64(index)
            picture.describe(format)
            // Of a picture that was alone inside, both fields have the first one's number.
            let isSecond = count & 1 == 1 || begun == number
            begun = number
            ready.append(field(isSecond, picture))
        }
    }

    /// A field's own moment: the first has its picture's, the second lies in the middle.
    private func field(_ isSecond: Bool, _ picture: DecodedPicture) -> SampleBuffer {
        var buffer = inside[0].buffer
        buffer.payload = .picture(picture)
        guard inside[0].hasTwo else { return buffer }
        let whole = length
        let half = whole.half
        if isSecond {
            buffer.presentationTime = buffer.presentationTime.map { $0 + half }
            buffer.duration = whole - half
            buffer.flags.remove([.sync, .discontinuity])
        } else {
            buffer.duration = half
        }
        return buffer
    }

    /// How long the first picture inside lasts: up to the next one, unless there is a hole between them. Where fields are
    /// packets of their own (H.264 in transport streams) a picture states the length of one of them.
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
    /// Exact, where the timescale allows it.
    fileprivate var half: MediaTime {
        value % 2 == 0 || timescale > Int32.max / 2
            ? MediaTime(value: value / 2, timescale: timescale) : MediaTime(value: value, timescale: timescale * 2)
    }
}
