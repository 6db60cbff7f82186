internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// One libswscale configuration: a conversion of format and size with one matrix and range. Used by one thread.
final class ScalerPass {
    /// All parameters that the conversion tables depend on.
    struct Setup: Equatable {
        var source: AVPixelFormat
        var sourceSize: PixelSize
        var target: AVPixelFormat
        var targetSize: PixelSize
        var matrix: YCbCrMatrix
        var isFullRange: Bool
        /// The scaling filter, one of `cff_scale_…`.
        var filter = cff_scale_bilinear
    }

    /// Returns libswscale's filter for mpv's name; libswscale's spline differs from mpv's.
    static func filter(_ scaler: VideoRenderingOptions.Scaler?) -> Int32 {
        switch scaler {
        case .nearest: cff_scale_nearest
        case .bicubic: cff_scale_bicubic
        case .lanczos: cff_scale_lanczos
        default: cff_scale_bilinear
        }
    }

    private var context: cff_scaler?
    private var setup: Setup?
    private let threads: Int

    init(threads: Int) { self.threads = threads }

    deinit { sws_freeContext(context) }

    /// Prepares a conversion; allocates only if it differs from the last one. Returns false on failure.
    func prepare(_ wanted: Setup) -> Bool {
        if wanted == setup { return context != nil }
        setup = wanted
        sws_freeContext(context)
        context = sws_alloc_context()
        guard let context else { return false }
        let object = UnsafeMutableRawPointer(context)
        func set(_ name: String, _ value: Int) { av_opt_set_int(object, name, Int64(value), 0) }
        set("srcw", wanted.sourceSize.width)
        set("srch", wanted.sourceSize.height)
        set("src_format", Int(wanted.source.rawValue))
        set("dstw", wanted.targetSize.width)
        set("dsth", wanted.targetSize.height)
        set("dst_format", Int(wanted.target.rawValue))
        set("sws_flags", Int(wanted.sourceSize == wanted.targetSize ? cff_scale_nearest : wanted.filter))
        set("threads", threads)
        let toRGB = wanted.target == AV_PIX_FMT_BGRA
        // RGB is not affected by a stated matrix and range. libswscale converts some formats via Y'CbCr; both
        // directions need the same coefficients.
        let isRGB = Self.isRGB(wanted.source)
        let table = sws_getCoefficients(isRGB && toRGB ? SWS_CS_DEFAULT : Self.coefficients(wanted.matrix))
        let isFullRange = isRGB && toRGB ? true : wanted.isFullRange
        sws_setColorspaceDetails(
            context, table, isFullRange ? 1 : 0, toRGB ? sws_getCoefficients(SWS_CS_DEFAULT) : table,
            toRGB || isFullRange ? 1 : 0, 0, 1 << 16, 1 << 16)
        if sws_init_context(context, nil, nil) < 0 {
            sws_freeContext(context)
            self.context = nil
            return false
        }
        return true
    }

    /// Converts a frame to another format in its own size. Returns false on failure.
    func convert(
        _ frame: DecodedFrame, into target: DecodedFrame, as format: AVPixelFormat, matrix: YCbCrMatrix
    ) -> Bool {
        let setup = Setup(
            source: SoftwareFrameConverter.plainName(of: frame.libavFormat), sourceSize: frame.size,
            target: format, targetSize: frame.size, matrix: matrix, isFullRange: frame.color.isFullRange)
        guard target.prepare(format, as: frame), prepare(setup) else { return false }
        let (planes, strides) = (target.frame.pointee.data, target.frame.pointee.linesize)
        guard let base = planes.0 else { return false }
        let memory = PixelTarget(
            base: base, stride: Int(strides.0), size: frame.size,
            chroma: (UnsafeMutableRawPointer(planes.1), UnsafeMutableRawPointer(planes.2)),
            chromaStrides: (Int(strides.1), Int(strides.2)))
        return frame.withPlanes { run($0, to: memory) }
    }

    /// Converts planes of the prepared source into memory of the prepared target.
    func run(_ source: VideoFramePlanes, to target: PixelTarget) -> Bool {
        typealias Plane = UnsafeMutableRawPointer?
        guard let context, let setup else { return false }
        // libswscale expects arrays of four; tuples have the same memory layout.
        let targets: (Plane, Plane, Plane, Plane) = (target.base, target.chroma.0, target.chroma.1, nil)
        func strides(_ all: (Int, Int, Int, Int)) -> (Int32, Int32, Int32, Int32) {
            (Int32(clamping: all.0), Int32(clamping: all.1), Int32(clamping: all.2), Int32(clamping: all.3))
        }
        let targetStrides = strides((target.stride, target.chromaStrides.0, target.chromaStrides.1, 0))
        let rows = withUnsafeBytes(of: source.bases) { from in
            withUnsafeBytes(of: targets) { to in
                withUnsafeBytes(of: strides(source.strides)) { fromStrides in
                    withUnsafeBytes(of: targetStrides) { toStrides in
                        sws_scale(
                            context, from.bindMemory(to: UnsafePointer<UInt8>?.self).baseAddress!,
                            fromStrides.bindMemory(to: Int32.self).baseAddress!, 0,
                            Int32(clamping: setup.sourceSize.height),
                            to.bindMemory(to: UnsafeMutablePointer<UInt8>?.self).baseAddress!,
                            toStrides.bindMemory(to: Int32.self).baseAddress!)
                    }
                }
            }
        }
        return rows > 0
    }

    private static func isRGB(_ format: AVPixelFormat) -> Bool {
        guard let description = av_pix_fmt_desc_get(format) else { return false }
        return description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
    }

    private static func coefficients(_ matrix: YCbCrMatrix) -> Int32 {
        switch matrix {
        case .bt601: return SWS_CS_ITU601
        case .bt709: return SWS_CS_ITU709
        case .bt2020: return SWS_CS_BT2020
        }
    }
}
