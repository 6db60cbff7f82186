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
    static func filter(_ scaler: PictureDrawing.Scaler?) -> Int32 {
        switch scaler {
        case .nearest: cff_scale_nearest
        case .bicubic: cff_scale_bicubic
        case .lanczos: cff_scale_lanczos
        default: cff_scale_bilinear
        }
    }

    /// Base pointers and row strides in bytes; the tuples have the memory layout that libswscale expects.
    typealias Planes<Pointer> = (bases: (Pointer?, Pointer?, Pointer?, Pointer?), strides: (Int32, Int32, Int32, Int32))

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

    func run(_ source: Planes<UnsafePointer<UInt8>>, to target: Planes<UnsafeMutablePointer<UInt8>>) -> Bool {
        guard let context, let setup else { return false }
        // libswscale expects arrays of four; the tuples have the same memory layout.
        let rows = withUnsafeBytes(of: source.bases) { from in
            withUnsafeBytes(of: target.bases) { to in
                withUnsafeBytes(of: source.strides) { fromStrides in
                    withUnsafeBytes(of: target.strides) { toStrides in
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
