internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Maps HDR frames (PQ, HLG) to 8-bit BT.709. Owned and called by one thread.
final class ToneMapper {
    private var table: ToneTable?
    /// The last stated peak in cd/m²; not every frame repeats it.
    private var peak: Double?
    private var pool = RecyclingPool<DecodedFrame> { DecodedFrame() }
    /// Converts pixel formats that `TonePass` does not read.
    private let scaler = ScalerPass(threads: 1)
    private var plain: DecodedFrame?
    private let drawing: VideoRenderingOptions

    init(_ drawing: VideoRenderingOptions) { self.drawing = drawing }

    /// Returns the mapped frame, or nil if it is not HDR or cannot be converted.
    ///
    /// - Parameters:
    ///   - frame: A decoded frame.
    ///   - format: The format of its track.
    ///   - isCoarse: Whether to map with less precision in less than half of the time.
    func map(_ frame: DecodedFrame, of format: VideoFormat, isCoarse: Bool = false) -> DecodedFrame? {
        peak = frame.codedPeak ?? peak
        guard let source = readable(frame) else { return nil }
        let depth = source.bitDepth
        let stated = peak ?? format.peakLuminance
        guard let mapping = ToneMapping(frame.color, bitDepth: depth, peak: stated, drawing: drawing) else {
            return nil
        }
        let present = table.flatMap { $0.mapping == mapping ? $0 : nil }
        let table = present ?? ToneTable.table(of: mapping)
        self.table = table
        let target = pool.acquire()
        guard target.prepare(AV_PIX_FMT_YUV420P, as: frame) else { return nil }
        target.frame.pointee.color_primaries = AVCOL_PRI_BT709
        target.frame.pointee.color_trc = AVCOL_TRC_BT709
        target.frame.pointee.colorspace = AVCOL_SPC_BT709
        target.frame.pointee.color_range = AVCOL_RANGE_MPEG
        target.describe(format)
        func run<Sample: FixedWidthInteger & UnsignedInteger>(_: Sample.Type, _ shifts: (up: Int, down: Int)) {
            Self.run(Sample.self, table, from: source, to: target, shifts, isCoarse: isCoarse)
        }
        switch source.libavFormat {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: run(UInt8.self, (2, 0))
        case AV_PIX_FMT_P010LE: run(UInt16.self, (0, 6))
        default: run(UInt16.self, (0, depth - 10))
        }
        return target
    }

    /// Returns the frame, converted if `TonePass` does not read its format.
    private func readable(_ frame: DecodedFrame) -> DecodedFrame? {
        switch frame.libavFormat {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV420P12LE,
            AV_PIX_FMT_P010LE:
            return frame
        default: break
        }
        let plain = self.plain ?? DecodedFrame()
        self.plain = plain
        let matrix = ToneMapping.matrix(of: frame.color)
        return scaler.convert(frame, into: plain, as: AV_PIX_FMT_YUV420P10LE, matrix: matrix) ? plain : nil
    }

    private static func run<Sample: FixedWidthInteger & UnsignedInteger>(
        _: Sample.Type, _ table: ToneTable, from source: DecodedFrame, to target: DecodedFrame,
        _ shifts: (up: Int, down: Int), isCoarse: Bool
    ) {
        let (from, to) = (source.frame.pointee, target.frame.pointee)
        // P010 interleaves both chroma components in one plane.
        let isTogether = source.libavFormat == AV_PIX_FMT_P010LE
        let bytes = MemoryLayout<Sample>.stride
        guard let luma = from.data.0, let first = from.data.1, let y = to.data.0, let b = to.data.1, let r = to.data.2
        else {
            return
        }
        func samples(_ plane: UnsafeMutablePointer<UInt8>) -> UnsafePointer<Sample> {
            UnsafePointer(UnsafeMutableRawPointer(plane).assumingMemoryBound(to: Sample.self))
        }
        guard let last = isTogether ? first + bytes : from.data.2 else { return }
        TonePass<Sample>.run(
            table,
            from: TonePass<Sample>.Source(
                luma: samples(luma), blue: samples(first), red: samples(last),
                lumaStride: Int(from.linesize.0) / bytes, blueStride: Int(from.linesize.1) / bytes,
                redStride: Int(isTogether ? from.linesize.1 : from.linesize.2) / bytes,
                chromaStep: isTogether ? 2 : 1, up: shifts.up, down: shifts.down),
            to: TonePass<Sample>.Target(
                luma: y, blue: b, red: r, lumaStride: Int(to.linesize.0), blueStride: Int(to.linesize.1),
                redStride: Int(to.linesize.2)), width: target.size.width, height: target.size.height,
            isCoarse: isCoarse)
    }
}
