internal import CSDL
internal import Glibc
internal import MediaCore
internal import SyncRendering

/// Uploads the planes of a frame to the graphics processor, which converts, scales and rotates them.
final class TexturePresenter: VideoPresenter {
    let description: String
    /// Whether the "graphics processor" is a software renderer.
    let isSoftware: Bool
    var gravity = VideoGravity.resizeAspect
    var view = VideoGeometry()
    var arrangement = ScreenArrangement()
    private let window: OpaquePointer
    private let renderer: OpaquePointer
    private let converter: any VideoFrameConverter
    private var texture: OpaquePointer?
    private var textureShape: Shape?
    /// The textures of the current overlays, with their source images.
    private var overlayTextures: [(image: OverlayImage, texture: OpaquePointer)] = []
    private var pacing: FlipPacing

    private struct Shape: Equatable {
        var format: UInt32
        var size: PixelSize
    }

    /// - Parameter waitsForFlips: False for a window without timed frames, so that presenting does not block.
    /// - Throws: `.unavailable` if SDL creates no renderer.
    init(
        window: OpaquePointer, converter: any VideoFrameConverter, scaler: VideoRenderingOptions.Scaler?,
        waitsForFlips: Bool = true
    ) throws(OutputError) {
        self.window = window
        self.converter = converter
        SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, scaler == .nearest ? "nearest" : "linear")
        let flags = SDL_RENDERER_ACCELERATED.rawValue | (waitsForFlips ? SDL_RENDERER_PRESENTVSYNC.rawValue : 0)
        guard let renderer = SDL_CreateRenderer(window, -1, flags) else {
            throw OutputError(.unavailable, "no graphics processor is usable: \(sdlError())")
        }
        self.renderer = renderer
        var info = SDL_RendererInfo()
        SDL_GetRendererInfo(renderer, &info)
        let name = info.name.map { String(cString: $0) } ?? "unknown"
        let context = GraphicsProcessor.contextName
        description = context.map { "\($0) (\(name))" } ?? name
        isSoftware = name == "software" || context.map(GraphicsProcessor.isSoftware) == true
        pacing = FlipPacing(
            window: window, waitsForFlips: info.flags & SDL_RENDERER_PRESENTVSYNC.rawValue != 0 && !isSoftware)
    }

    deinit {
        if let texture { SDL_DestroyTexture(texture) }
        for (_, texture) in overlayTextures { SDL_DestroyTexture(texture) }
        SDL_DestroyRenderer(renderer)
    }

    var area: PixelSize {
        var (width, height): (Int32, Int32) = (1, 1)
        SDL_GetRendererOutputSize(renderer, &width, &height)
        return PixelSize(width: Int(max(1, width)), height: Int(max(1, height)))
    }

    func invalidate() { pacing.forget() }

    var refresh: RefreshEvidence { pacing.refresh }

    func prepare(_ frame: (any VideoFrame)?, overlays: [OverlayImage]) -> Bool {
        SDL_SetRenderDrawColor(renderer, 0, 0, 0, 255)
        SDL_RenderClear(renderer)
        var isShown = true
        if let frame { isShown = draw(frame) }
        forgetTextures(otherThan: overlays)
        for overlay in overlays { draw(overlay) }
        // Submits upload and drawing now; only the flip is left.
        SDL_RenderFlush(renderer)
        return isShown
    }

    func present() -> HostInstant { pacing.present { SDL_RenderPresent(renderer) } }

    // MARK: Drawing

    private func draw(_ frame: any VideoFrame) -> Bool {
        let placement = placement(of: frame, on: area)
        guard upload(frame, placement), let texture else { return false }
        let rect = placement.rect
        let upright = placement.unrotatedSize
        // SDL rotates around the centre of the unrotated rectangle.
        var target = SDL_FRect(
            x: Float(rect.x) + Float(rect.width - upright.width) / 2,
            y: Float(rect.y) + Float(rect.height - upright.height) / 2, w: Float(upright.width),
            h: Float(upright.height))
        let isCut = placement.visible.size != placement.area
        if isCut {
            var clip = SDL_Rect(placement.visible)
            SDL_RenderSetClipRect(renderer, &clip)
        }
        defer { if isCut { SDL_RenderSetClipRect(renderer, nil) } }
        return SDL_RenderCopyExF(
            renderer, texture, nil, &target, Double(placement.rotation), nil, SDL_FLIP_NONE) == 0
    }

    private func upload(_ frame: any VideoFrame, _ placement: VideoPlacement) -> Bool {
        if let mode = Self.conversionMode(of: frame) {
            switch frame.pixelFormat {
            case .yuv420p:
                SDL_SetYUVConversionMode(mode)
                guard let texture = texture(SDL_PIXELFORMAT_IYUV, frame.size) else { return false }
                return frame.withPlanes { planes in
                    SDL_UpdateYUVTexture(
                        texture, nil, planes.bases.0, Int32(planes.strides.0), planes.bases.1,
                        Int32(planes.strides.1), planes.bases.2, Int32(planes.strides.2)) == 0
                }
            case .nv12:
                SDL_SetYUVConversionMode(mode)
                guard let texture = texture(SDL_PIXELFORMAT_NV12, frame.size) else { return false }
                return frame.withPlanes { planes in
                    SDL_UpdateNVTexture(
                        texture, nil, planes.bases.0, Int32(planes.strides.0), planes.bases.1,
                        Int32(planes.strides.1)) == 0
                }
            default: break
            }
        }
        // A frame is converted at most at its displayed size: a 4K film in a small window is reduced here.
        let shown = placement.unrotatedSize
        let isReduced = shown.width < frame.size.width && shown.height < frame.size.height
        let size = isReduced ? shown : frame.size
        guard let texture = texture(SDL_PIXELFORMAT_ARGB8888, size) else { return false }
        var pixels: UnsafeMutableRawPointer?
        var pitch: Int32 = 0
        guard SDL_LockTexture(texture, nil, &pixels, &pitch) == 0, let pixels else { return false }
        defer { SDL_UnlockTexture(texture) }
        return converter.convert(frame, to: PixelTarget(base: pixels, stride: Int(pitch), size: size))
    }

    /// Returns SDL 2.26's conversion mode for a frame; nil if it lacks the matrix and range, so that the converter is
    /// needed.
    private static func conversionMode(of frame: any VideoFrame) -> SDL_YUV_CONVERSION_MODE? {
        guard frame.bitDepth == 8, !frame.color.isHighDynamicRange else { return nil }
        switch (frame.color.matrix(for: frame.size), frame.color.isFullRange) {
        case (.bt601, false): return SDL_YUV_CONVERSION_BT601
        case (.bt601, true): return SDL_YUV_CONVERSION_JPEG
        case (.bt709, false): return SDL_YUV_CONVERSION_BT709
        default: return nil
        }
    }

    private func texture(_ format: SDL_PixelFormatEnum, _ size: PixelSize) -> OpaquePointer? {
        let shape = Shape(format: UInt32(format.rawValue), size: size)
        if let texture, textureShape == shape { return texture }
        if let texture { SDL_DestroyTexture(texture) }
        texture = SDL_CreateTexture(
            renderer, shape.format, Int32(SDL_TEXTUREACCESS_STREAMING.rawValue), Int32(clamping: size.width),
            Int32(clamping: size.height))
        textureShape = texture == nil ? nil : shape
        // The alpha channel of video is meaningless here.
        if let texture { SDL_SetTextureBlendMode(texture, SDL_BLENDMODE_NONE) }
        return texture
    }

    private func forgetTextures(otherThan overlays: [OverlayImage]) {
        guard !overlayTextures.isEmpty else { return }
        overlayTextures.removeAll { image, texture in
            if overlays.contains(where: { $0 === image }) { return false }
            SDL_DestroyTexture(texture)
            return true
        }
    }

    private func overlayTexture(of overlay: OverlayImage) -> OpaquePointer? {
        if let known = overlayTextures.first(where: { $0.image === overlay }) { return known.texture }
        guard
            let texture = SDL_CreateTexture(
                renderer, UInt32(SDL_PIXELFORMAT_ARGB8888.rawValue), Int32(SDL_TEXTUREACCESS_STATIC.rawValue),
                Int32(overlay.rect.width), Int32(overlay.rect.height))
        else { return nil }
        SDL_SetTextureBlendMode(texture, SDL_BLENDMODE_BLEND)
        SDL_UpdateTexture(texture, nil, overlay.pixels, Int32(overlay.rect.width * 4))
        overlayTextures.append((overlay, texture))
        return texture
    }

    private func draw(_ overlay: OverlayImage) {
        guard let texture = overlayTexture(of: overlay) else { return }
        var rect = SDL_Rect(
            x: Int32(overlay.rect.x), y: Int32(overlay.rect.y), w: Int32(overlay.rect.width),
            h: Int32(overlay.rect.height))
        SDL_RenderCopy(renderer, texture, nil, &rect)
    }
}
