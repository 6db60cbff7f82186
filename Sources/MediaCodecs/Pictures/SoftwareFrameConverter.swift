internal import CFFmpeg
public import MediaCore
public import SyncRendering

/// Converts frames with libswscale, format and size in one pass. Owned and called by one thread.
///
/// libswscale's vector code works in blocks of eight pixels. If the target's width is not a multiple of that, it omits
/// the last columns or writes beyond them. Those columns are converted separately here, so that exactly the target is
/// written, which may be part of a larger surface.
///
/// HDR becomes BT.709; the first HDR frame needs 13 MB and 70 ms for the table.
public final class SoftwareFrameConverter: VideoFrameConverter {
    private static let block = 8

    private let mainPass: ScalerPass
    private let edge: ScalerPass
    private var scratch: UnsafeMutableRawPointer?
    private var scratchSize = 0
    /// Nil until the first HDR frame.
    private var tones: ToneMapper?

    private let drawing: VideoRenderingOptions

    /// Creates a converter.
    ///
    /// - Parameters:
    ///   - threads: The number of slices converted in parallel. More than one was not faster in measurements.
    ///   - drawing: Tone mapping and scaling; BT.2390 and bilinear replace what only libplacebo supports.
    public init(threads: Int = 1, drawing: VideoRenderingOptions = VideoRenderingOptions()) {
        self.drawing = drawing
        mainPass = ScalerPass(threads: max(1, threads))
        edge = ScalerPass(threads: 1)
    }

    deinit { scratch?.deallocate() }

    /// Converts a whole frame. Returns false on failure; the target's contents are then undefined.
    public func convert(_ frame: any VideoFrame, to target: PixelTarget) -> Bool {
        convert(frame, PixelRect(x: 0, y: 0, width: frame.size.width, height: frame.size.height), target)
    }

    /// Converts a part of a frame, in its own pixels. Returns false on failure or if the part is invalid.
    ///
    /// - Parameter part: Inside the frame; left and top edges are multiples of 16.
    public func convert(_ frame: any VideoFrame, part: PixelRect, to target: PixelTarget) -> Bool {
        let bounds = PixelRect(x: 0, y: 0, width: frame.size.width, height: frame.size.height)
        guard part.isInside(bounds), part.x % 16 == 0, part.y % 16 == 0 else { return false }
        return convert(frame, part, target)
    }

    /// Whether the frame is HDR and is converted to BT.709.
    public func mapsTones(of frame: any VideoFrame) -> Bool {
        frame.color.isHighDynamicRange && frame is DecodedFrame
    }

    /// Returns an HDR frame mapped to BT.709. Decoders leave it unmapped for screens that
    /// map tones; screenshots need this.
    private func mapped(_ frame: any VideoFrame) -> DecodedFrame? {
        guard frame.color.isHighDynamicRange, let decoded = frame as? DecodedFrame, let format = decoded.format
        else { return nil }
        let tones = self.tones ?? ToneMapper(drawing)
        self.tones = tones
        return tones.map(decoded, of: format)
    }

    private func convert(_ frame: any VideoFrame, _ part: PixelRect, _ target: PixelTarget) -> Bool {
        let frame: any VideoFrame = mapped(frame) ?? frame
        guard let source = Self.libavFormat(of: frame), let output = Self.libavFormat(of: target.format),
            target.size.width > 0, target.size.height > 0, part.width > 0, part.height > 0,
            target.size.width <= 1 << 15, target.size.height <= 1 << 15
        else { return false }
        let setup = ScalerPass.Setup(
            source: source, sourceSize: part.size, target: output, targetSize: target.size,
            matrix: frame.color.matrix(for: frame.size), isFullRange: frame.color.isFullRange,
            filter: ScalerPass.filter(drawing.scaler))
        return frame.withPlanes { planes in
            var from = planes
            if part.x > 0 || part.y > 0 { Self.move(&from, to: part, in: source) }
            if target.format == .bgra, target.size.width % Self.block != 0 {
                return setup.sourceSize == setup.targetSize && Self.canBeCut(source)
                    ? convertWithStrip(from, setup, target) : convertAside(from, setup, target)
            }
            return mainPass.prepare(setup) && mainPass.run(from, to: target)
        }
    }

    // MARK: Widths that are not a multiple of a block

    /// Converts whole blocks directly to the target, and the remaining columns via a temporary strip.
    private func convertWithStrip(
        _ from: VideoFramePlanes, _ setup: ScalerPass.Setup, _ target: PixelTarget
    ) -> Bool {
        let (width, height) = (target.size.width, target.size.height)
        let blocks = width - width % Self.block
        if blocks > 0 {
            var main = setup
            main.sourceSize.width = blocks
            main.targetSize.width = blocks
            guard mainPass.prepare(main), mainPass.run(from, to: target) else { return false }
        }
        // The strip includes one more block: libswscale handles very narrow images badly.
        let start = max(0, blocks - Self.block)
        var strip = setup
        strip.sourceSize.width = width - start
        strip.targetSize.width = width - start
        let stride = Self.block * 3 * 4
        guard edge.prepare(strip), let pixels = room(stride * height) else { return false }
        var shifted = from
        shifted.bases.0 = from.bases.0.map { $0 + start }
        shifted.bases.1 = from.bases.1.map { $0 + start / 2 }
        shifted.bases.2 = from.bases.2.map { $0 + start / 2 }
        guard edge.run(shifted, to: PixelTarget(base: pixels, stride: stride, size: strip.targetSize)) else {
            return false
        }
        let skipped = (blocks - start) * 4
        for row in 0..<height {
            (target.base + row * target.stride + blocks * 4).copyMemory(
                from: pixels + row * stride + skipped, byteCount: (width - blocks) * 4)
        }
        return true
    }

    /// Only planes of half width can be split at any block.
    private static func canBeCut(_ format: AVPixelFormat) -> Bool { format == AV_PIX_FMT_YUV420P }

    /// Converts everything to temporary memory first.
    private func convertAside(
        _ from: VideoFramePlanes, _ setup: ScalerPass.Setup, _ target: PixelTarget
    ) -> Bool {
        let stride = (target.size.width + 2 * Self.block) / Self.block * Self.block * 4
        guard mainPass.prepare(setup), let pixels = room(stride * target.size.height),
            mainPass.run(from, to: PixelTarget(base: pixels, stride: stride, size: target.size))
        else { return false }
        for row in 0..<target.size.height {
            (target.base + row * target.stride).copyMemory(
                from: pixels + row * stride, byteCount: target.size.width * 4)
        }
        return true
    }

    private func room(_ bytes: Int) -> UnsafeMutableRawPointer? {
        if bytes > scratchSize {
            scratch?.deallocate()
            scratch = .allocate(byteCount: bytes + 64, alignment: 64)
            scratchSize = bytes
        }
        return scratch
    }

    // MARK: Formats and planes

    /// Moves the base pointers to the corner of a part.
    private static func move(
        _ planes: inout VideoFramePlanes, to part: PixelRect, in format: AVPixelFormat
    ) {
        guard let description = av_pix_fmt_desc_get(format)?.pointee else { return }
        let hasPalette = description.flags & UInt64(AV_PIX_FMT_FLAG_PAL) != 0
        func offset(_ plane: Int32, _ stride: Int) -> Int {
            if hasPalette && plane > 0 { return 0 }
            let isColor = plane == 1 || plane == 2
            let row = isColor ? part.y >> Int(description.log2_chroma_h) : part.y
            return row * stride + Int(av_image_get_linesize(format, Int32(clamping: part.x), plane))
        }
        planes.bases.0 = planes.bases.0.map { $0 + offset(0, planes.strides.0) }
        planes.bases.1 = planes.bases.1.map { $0 + offset(1, planes.strides.1) }
        planes.bases.2 = planes.bases.2.map { $0 + offset(2, planes.strides.2) }
        planes.bases.3 = planes.bases.3.map { $0 + offset(3, planes.strides.3) }
    }

    private static func libavFormat(of format: PixelFormat) -> AVPixelFormat? {
        switch format {
        case .yuv420p: return AV_PIX_FMT_YUV420P
        case .nv12: return AV_PIX_FMT_NV12
        case .bgra: return AV_PIX_FMT_BGRA
        case .other: return nil
        }
    }

    private static func libavFormat(of frame: any VideoFrame) -> AVPixelFormat? {
        guard let decoded = frame as? DecodedFrame else { return libavFormat(of: frame.pixelFormat) }
        return plainName(of: decoded.libavFormat)
    }

    /// Returns the equivalent of a deprecated J format; `isFullRange` contains the range.
    static func plainName(of format: AVPixelFormat) -> AVPixelFormat {
        switch format {
        case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P
        case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P
        case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P
        case let other: return other
        }
    }
}
