internal import CFFmpeg
import MediaCore

/// A video frame in libavcodec's memory, without a copy.
///
/// `@unchecked Sendable`: the decoder's thread fills the frame before publication; afterwards it is only read.
/// `RecyclingPool` reuses the object only when it holds the last reference.
final class DecodedFrame: VideoFrame, @unchecked Sendable {
    let frame: UnsafeMutablePointer<AVFrame>
    /// The size in pixels, without rotation and pixel aspect ratio.
    private(set) var size = PixelSize(width: 0, height: 0)
    /// The pixel format; `other` for formats without a name in MediaCore.
    private(set) var pixelFormat = PixelFormat.other
    /// The pixel aspect ratio; the container's has priority over the bitstream's.
    private(set) var pixelAspect = Ratio.one
    /// The rotation for display in degrees, from the container.
    private(set) var rotation = 0
    /// The colour description; fields missing in the bitstream come from the container.
    private(set) var color = ColorDescription()
    /// Bits per component.
    private(set) var bitDepth = 8
    /// The memory layout of the planes; nil for formats that cannot be described.
    private(set) var planeLayout: PlaneLayout?
    /// The chroma location, 0 to 5 (H.273); nil if not stated.
    private(set) var chromaLocation: UInt8?
    /// The format of the track; nil before `describe`.
    private(set) var format: VideoFormat?
    /// The pixel format of `planeLayout`.
    private var laidOut = AV_PIX_FMT_NONE

    init() {
        guard let frame = av_frame_alloc() else { fatalError("there is no memory left for a picture's description") }
        self.frame = frame
    }

    deinit {
        var last: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&last)
    }

    /// Calls `body` with pointers to the planes; they are valid during the call.
    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        let (data, stride) = (frame.pointee.data, frame.pointee.linesize)
        return body(
            VideoFramePlanes(
                bases: (
                    data.0.map { UnsafePointer($0) }, data.1.map { UnsafePointer($0) },
                    data.2.map { UnsafePointer($0) }, data.3.map { UnsafePointer($0) }
                ),
                strides: (Int(stride.0), Int(stride.1), Int(stride.2), Int(stride.3))))
    }

    /// The pixel format in libavutil.
    var libavFormat: AVPixelFormat { AVPixelFormat(frame.pointee.format) }

    /// Whether the frame is marked as interlaced.
    var isInterlaced: Bool { cff_frame_is_interlaced(frame) != 0 }

    /// The brightest white in cd/m², from the bitstream or the container; nil if not stated.
    var peakLuminance: Double? { codedPeak ?? format?.peakLuminance }

    /// The brightest white in cd/m² of this frame's metadata; nil if not stated.
    var codedPeak: Double? {
        // The measured maximum (CTA-861.3, MaxCLL) has priority over the mastering display's.
        if let data = av_frame_get_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL)?.pointee,
            let bytes = data.data, data.size >= MemoryLayout<AVContentLightMetadata>.size
        {
            let peak = UnsafeMutableRawPointer(bytes).load(as: AVContentLightMetadata.self).MaxCLL
            if peak > 0 { return Double(peak) }
        }
        guard let data = av_frame_get_side_data(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA)?.pointee,
            let bytes = data.data, data.size >= MemoryLayout<AVMasteringDisplayMetadata>.size
        else { return nil }
        let display = UnsafeMutableRawPointer(bytes).load(as: AVMasteringDisplayMetadata.self)
        guard display.has_luminance != 0, display.max_luminance.den > 0 else { return nil }
        return Double(display.max_luminance.num) / Double(display.max_luminance.den)
    }

    /// Allocates memory for a frame of the same size; suitable memory is reused. The caller then calls `describe`.
    func prepare(_ format: AVPixelFormat, as other: DecodedFrame) -> Bool {
        let shape = other.frame.pointee
        let present = frame.pointee
        let hasRoom =
            present.buf.0 != nil && present.format == format.rawValue && present.width == shape.width
            && present.height == shape.height && av_frame_is_writable(frame) != 0
        if !hasRoom {
            av_frame_unref(frame)
            frame.pointee.format = format.rawValue
            (frame.pointee.width, frame.pointee.height) = (shape.width, shape.height)
            if av_frame_get_buffer(frame, 0) < 0 { return false }
        }
        frame.pointee.sample_aspect_ratio = shape.sample_aspect_ratio
        size = other.size
        bitDepth = av_pix_fmt_desc_get(format).map { Int($0.pointee.comp.0.depth) } ?? 8
        return true
    }

    /// Reads the properties of the frame in `frame`. Properties missing in the bitstream come from the container.
    func describe(_ format: VideoFormat) {
        let shown = frame.pointee
        self.format = format
        size = PixelSize(width: Int(shown.width), height: Int(shown.height))
        rotation = format.rotation
        let aspect = shown.sample_aspect_ratio
        pixelAspect =
            format.pixelAspect == .one && aspect.num > 0 && aspect.den > 0
            ? Ratio(Int(aspect.num), Int(aspect.den)) : format.pixelAspect
        let kind = libavFormat
        switch kind {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: pixelFormat = .yuv420p
        case AV_PIX_FMT_NV12: pixelFormat = .nv12
        case AV_PIX_FMT_BGRA, AV_PIX_FMT_BGR0: pixelFormat = .bgra
        default: pixelFormat = .other
        }
        bitDepth = av_pix_fmt_desc_get(kind).map { Int($0.pointee.comp.0.depth) } ?? 8
        if laidOut != kind { (planeLayout, laidOut) = (PlaneLayout(kind), kind) }
        // libavutil counts from 1; 0 is unspecified.
        let location = shown.chroma_location.rawValue
        chromaLocation = (1...6).contains(location) ? UInt8(location - 1) : nil
        // In H.273, 2 is unspecified in each of the three tables.
        func known(_ stated: UInt32, _ container: UInt8) -> UInt8 {
            stated == 2 ? container : UInt8(clamping: stated)
        }
        let isJPEGRange =
            kind == AV_PIX_FMT_YUVJ420P || kind == AV_PIX_FMT_YUVJ422P || kind == AV_PIX_FMT_YUVJ444P
            || kind == AV_PIX_FMT_YUVJ440P
        let isFull =
            shown.color_range == AVCOL_RANGE_UNSPECIFIED
            ? format.color.isFullRange : shown.color_range == AVCOL_RANGE_JPEG
        color = ColorDescription(
            primaries: known(shown.color_primaries.rawValue, format.color.primaries),
            transfer: known(shown.color_trc.rawValue, format.color.transfer),
            matrix: known(shown.colorspace.rawValue, format.color.matrix), isFullRange: isFull || isJPEGRange)
    }
}
