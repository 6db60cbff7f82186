internal import CFFmpeg
internal import Glibc
internal import SyncRendering

/// A hardware decoding device. Tests implement their own.
protocol HardwareAcceleration: AnyObject {
    /// The value of `--hwdec`.
    var name: String { get }
    /// The pixel format of frames in the device's memory.
    var pixelFormat: AVPixelFormat { get }
    /// Configures an unopened decoder. Returns false if the device is missing or does not support the codec.
    ///
    /// libavcodec checks the bitstream again later and falls back to software if the device refuses it.
    func attach(to context: UnsafeMutablePointer<AVCodecContext>) -> Bool
    /// Copies a frame from the device's memory. Returns 0 or a libavutil error number.
    func download(_ frame: UnsafeMutablePointer<AVFrame>, to target: UnsafeMutablePointer<AVFrame>) -> Int32
}

/// VA-API on a render node. Owned by the decoder's thread.
final class VideoAcceleration: HardwareAcceleration {
    let name = HardwareDecoding.vaapi.rawValue
    let pixelFormat = AV_PIX_FMT_VAAPI
    private let nodes: [String]
    private var device: UnsafeMutablePointer<AVBufferRef>?
    private var wasOpened = false

    /// - Parameter nodes: Device paths to try in this order; the first one that opens is used.
    init(nodes: [String] = VideoAcceleration.renderNodes) { self.nodes = nodes }

    deinit { av_buffer_unref(&device) }

    /// Returns nil for `no`, and for `auto` without a render node.
    static func chosen(by wish: HardwareDecoding) -> VideoAcceleration? {
        switch wish {
        case .no: nil
        case .auto: renderNodes.isEmpty ? nil : VideoAcceleration()
        case .vaapi: VideoAcceleration()
        }
    }

    /// Accessible render nodes. Linux numbers them from 128 to 191 (drivers/gpu/drm/drm_drv.c,
    /// minors of `DRM_MINOR_RENDER`).
    static var renderNodes: [String] {
        (128..<192).map { "/dev/dri/renderD\($0)" }.filter { access($0, R_OK | W_OK) == 0 }
    }

    func attach(to context: UnsafeMutablePointer<AVCodecContext>) -> Bool {
        guard Self.decodes(context.pointee.codec) else { return false }
        if !wasOpened {
            wasOpened = true
            for node in nodes where device == nil {
                if av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, node, nil, 0) < 0 { device = nil }
            }
        }
        guard let device else { return false }
        // get_format of libavcodec prefers a given device and falls back if that fails.
        context.pointee.hw_device_ctx = av_buffer_ref(device)
        return context.pointee.hw_device_ctx != nil
    }

    private static func decodes(_ codec: UnsafePointer<AVCodec>?) -> Bool {
        guard let codec else { return false }
        var index: Int32 = 0
        while let config = avcodec_get_hw_config(codec, index) {
            if config.pointee.device_type == AV_HWDEVICE_TYPE_VAAPI,
                config.pointee.methods & Int32(AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0
            {
                return true
            }
            index += 1
        }
        return false
    }

    func download(_ frame: UnsafeMutablePointer<AVFrame>, to target: UnsafeMutablePointer<AVFrame>) -> Int32 {
        let code = av_hwframe_transfer_data(target, frame, 0)
        return code < 0 ? code : av_frame_copy_props(target, frame)
    }
}
