internal import CFFmpeg
public import MediaCore
public import SyncRendering

/// Converts pictures with libswscale, in one pass for format and size. Owned and called by one thread.
public final class SoftwarePictureConverter: PictureConverter {
    /// Everything the conversion's tables depend on.
    private struct Setup: Equatable {
        var source: AVPixelFormat
        var sourceSize: PixelSize
        var target: AVPixelFormat
        var targetSize: PixelSize
        var matrix: YCbCrMatrix
        var isFullRange: Bool
    }

    private var context: OpaquePointer?
    private var setup: Setup?
    private let threads: Int

    /// - Parameter threads: slices converted side by side.
    public init(threads: Int = 1) { self.threads = max(1, threads) }

    deinit { sws_freeContext(context) }

    public func convert(_ picture: any Picture, to target: PixelTarget) -> Bool {
        guard let source = Self.libavFormat(of: picture), let output = Self.libavFormat(of: target.format),
            target.size.width > 0, target.size.height > 0, picture.size.width > 0, picture.size.height > 0
        else { return false }
        let wanted = Setup(
            source: source, sourceSize: picture.size, target: output, targetSize: target.size,
            matrix: picture.color.matrix(forHeight: picture.size.height), isFullRange: picture.color.isFullRange)
        guard prepare(wanted) else { return false }
        return picture.withPlanes { planes in scale(planes, height: picture.size.height, to: target) }
    }

    private func scale(_ planes: PicturePlanes, height: Int, to target: PixelTarget) -> Bool {
        var from = planes.bases
        var fromStrides = (
            Int32(clamping: planes.strides.0), Int32(clamping: planes.strides.1), Int32(clamping: planes.strides.2),
            Int32(clamping: planes.strides.3)
        )
        let none: UnsafeMutablePointer<UInt8>? = nil
        var to = (
            Optional(target.base.assumingMemoryBound(to: UInt8.self)),
            target.chroma.0?.assumingMemoryBound(to: UInt8.self) ?? none,
            target.chroma.1?.assumingMemoryBound(to: UInt8.self) ?? none, none
        )
        var toStrides = (
            Int32(clamping: target.stride), Int32(clamping: target.chromaStrides.0),
            Int32(clamping: target.chromaStrides.1), Int32(0)
        )
        // libswscale wants four of each, one after the other, as the tuples lie in memory.
        let rows = withUnsafeBytes(of: &from) { from in
            withUnsafeBytes(of: &to) { to in
                withUnsafeBytes(of: &fromStrides) { fromStrides in
                    withUnsafeBytes(of: &toStrides) { toStrides in
                        sws_scale(
                            context, from.bindMemory(to: UnsafePointer<UInt8>?.self).baseAddress!,
                            fromStrides.bindMemory(to: Int32.self).baseAddress!, 0, Int32(clamping: height),
                            to.bindMemory(to: UnsafeMutablePointer<UInt8>?.self).baseAddress!,
                            toStrides.bindMemory(to: Int32.self).baseAddress!)
                    }
                }
            }
        }
        return rows > 0
    }

    private func prepare(_ wanted: Setup) -> Bool {
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
        set("sws_flags", Int(wanted.sourceSize == wanted.targetSize ? SWS_POINT : SWS_BILINEAR))
        set("threads", threads)
        let toRGB = wanted.target == AV_PIX_FMT_BGRA
        let table = sws_getCoefficients(Self.coefficients(wanted.matrix))
        sws_setColorspaceDetails(
            context, table, wanted.isFullRange ? 1 : 0, toRGB ? sws_getCoefficients(SWS_CS_DEFAULT) : table,
            toRGB || wanted.isFullRange ? 1 : 0, 0, 1 << 16, 1 << 16)
        if sws_init_context(context, nil, nil) < 0 {
            sws_freeContext(context)
            self.context = nil
            return false
        }
        return true
    }

    private static func coefficients(_ matrix: YCbCrMatrix) -> Int32 {
        switch matrix {
        case .bt601: return SWS_CS_ITU601
        case .bt709: return SWS_CS_ITU709
        case .bt2020: return SWS_CS_BT2020
        }
    }

    private static func libavFormat(of format: PixelFormat) -> AVPixelFormat? {
        switch format {
        case .yuv420p: return AV_PIX_FMT_YUV420P
        case .nv12: return AV_PIX_FMT_NV12
        case .bgra: return AV_PIX_FMT_BGRA
        case .other: return nil
        }
    }

    private static func libavFormat(of picture: any Picture) -> AVPixelFormat? {
        if let known = libavFormat(of: picture.pixelFormat) { return known }
        guard let decoded = picture as? DecodedPicture else { return nil }
        // The J formats say with their name what `isFullRange` says already.
        switch decoded.libavFormat {
        case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P
        case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P
        case let other: return other
        }
    }
}
