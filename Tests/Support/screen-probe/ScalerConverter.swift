import CFFmpeg
import MediaCore
import SyncRendering

/// libswscale behind the seam, as plain as it can be: the probe measures the screen, not the converter.
final class ScalerConverter: PictureConverter {
    private var context: OpaquePointer?
    private var key: [Int32] = []
    private let flags: Int32

    init(flags: Int32 = SWS_BILINEAR) { self.flags = flags }

    deinit { sws_freeContext(context) }

    func convert(_ picture: any Picture, to target: PixelTarget) -> Bool {
        let format: AVPixelFormat
        switch picture.pixelFormat {
        case .yuv420p: format = AV_PIX_FMT_YUV420P
        case .nv12: format = AV_PIX_FMT_NV12
        default: return false
        }
        if context == nil || !isSame(picture, target) { remake(picture, format, target) }
        guard let context else { return false }
        return picture.withPlanes { planes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 4) { bases in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 8) { strides in
                    withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<UInt8>?.self, capacity: 4) { out in
                        (bases[0], bases[1], bases[2], bases[3]) = planes.bases
                        strides[0] = Int32(planes.strides.0)
                        strides[1] = Int32(planes.strides.1)
                        strides[2] = Int32(planes.strides.2)
                        strides[3] = 0
                        for index in 4..<8 { strides[index] = 0 }
                        strides[4] = Int32(target.stride)
                        out.initialize(repeating: nil)
                        out[0] = target.base.assumingMemoryBound(to: UInt8.self)
                        return sws_scale(
                            context, bases.baseAddress, strides.baseAddress, 0, Int32(picture.size.height),
                            out.baseAddress, strides.baseAddress! + 4) > 0
                    }
                }
            }
        }
    }

    private var size = PixelSize(width: 0, height: 0)
    private var targetSize = PixelSize(width: 0, height: 0)
    private var color = ColorDescription()
    private var format = PixelFormat.other

    private func isSame(_ picture: any Picture, _ target: PixelTarget) -> Bool {
        size == picture.size && targetSize == target.size && color == picture.color && format == picture.pixelFormat
    }

    private func remake(_ picture: any Picture, _ from: AVPixelFormat, _ target: PixelTarget) {
        (size, targetSize, color, format) = (picture.size, target.size, picture.color, picture.pixelFormat)
        sws_freeContext(context)
        context = sws_getContext(
            Int32(size.width), Int32(size.height), from, Int32(targetSize.width), Int32(targetSize.height),
            AV_PIX_FMT_BGRA, flags, nil, nil, nil)
        let space =
            switch color.matrix(forHeight: size.height) {
            case .bt601: SWS_CS_ITU601
            case .bt709: SWS_CS_ITU709
            case .bt2020: SWS_CS_BT2020
            }
        let table = sws_getCoefficients(space)
        sws_setColorspaceDetails(context, table, color.isFullRange ? 1 : 0, table, 1, 0, 1 << 16, 1 << 16)
    }
}
