internal import CPlacebo
internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Draws decoded frames with libplacebo: a graphics processor converts, scales, rotates and dithers them, and maps HDR
/// tones and wide gamuts.
///
/// Uses OpenGL, since SDL provides a context wherever it has a window. The first presenter opens the library at run
/// time.
final class PlaceboPresenter: VideoPresenter {
    let description: String
    let mapsTones = true
    /// Whether the "graphics processor" is a software renderer.
    let isSoftware: Bool
    var gravity = VideoGravity.resizeAspect
    var view = VideoGeometry()
    var arrangement = ScreenArrangement()
    private let window: OpaquePointer
    private let context: SDL_GLContext
    private let output: OpaquePointer
    private let converter: any VideoFrameConverter
    private var pacing: FlipPacing
    /// The textures of the current overlays, with their source images.
    private var overlayTextures: [(image: OverlayImage, texture: OpaquePointer)] = []
    private var laidOver: [cpl_overlay] = []
    /// A texture of one black pixel.
    private var black: OpaquePointer?
    /// The converter's output for frames that cannot be uploaded directly.
    private var staging: [UInt8] = []

    /// - Parameters:
    ///   - window: A window created for OpenGL.
    ///   - drawing: Tone mapping and scaling.
    ///   - takesSoftware: Whether a software renderer is acceptable.
    /// - Throws: `.unavailable` without a graphics processor, `.failed` if it cannot be used. The window is unchanged
    ///   then.
    init(
        window: OpaquePointer, converter: any VideoFrameConverter, drawing: VideoRenderingOptions, takesSoftware: Bool
    ) throws(OutputError) {
        self.window = window
        self.converter = converter
        guard let context = SDL_GL_CreateContext(window) else {
            throw OutputError(.failed, "OpenGL is not available: \(sdlError())")
        }
        let name = GraphicsProcessor.contextName ?? "OpenGL"
        isSoftware = GraphicsProcessor.isSoftware(name)
        guard takesSoftware || !isSoftware else {
            SDL_GL_DeleteContext(context)
            throw OutputError(.unavailable, "there is no graphics processor, only \(name)")
        }
        var output: OpaquePointer?
        let outcome = Self.withWishes(drawing) {
            cpl_open(&output, $0, { SDL_GL_SwapWindow(OpaquePointer($0)) }, UnsafeMutableRawPointer(window))
        }
        guard outcome == cpl_ready, let output else {
            SDL_GL_DeleteContext(context)
            throw OutputError(.failed, Self.reason(outcome, name))
        }
        self.context = context
        self.output = output
        description = "\(name) (libplacebo)"
        let waits = SDL_GL_SetSwapInterval(1) == 0
        pacing = FlipPacing(window: window, waitsForFlips: waits && !isSoftware)
    }

    deinit {
        for (_, texture) in overlayTextures { cpl_texture_free(output, texture) }
        if let black { cpl_texture_free(output, black) }
        cpl_close(output)
        SDL_GL_DeleteContext(context)
    }

    /// Calls `body` with the options of libplacebo, whose names are mpv's without dots.
    private static func withWishes(_ drawing: VideoRenderingOptions, _ body: (cpl_wishes) -> cpl_outcome) -> cpl_outcome
    {
        let curve = drawing.toneMapping == .auto ? VideoRenderingOptions.ToneMapping.bt2390 : drawing.toneMapping
        return String(curve.rawValue.filter { $0 != "." }).withCString { curve in
            func open(_ scaler: UnsafePointer<CChar>?) -> cpl_outcome {
                body(
                    cpl_wishes(
                        tone_mapping: curve, target_peak: Float(drawing.targetPeak ?? 0), scaler: scaler))
            }
            guard let scaler = drawing.scaler?.rawValue else { return open(nil) }
            return scaler.withCString { open($0) }
        }
    }

    private static func reason(_ outcome: cpl_outcome, _ name: String) -> String {
        switch outcome {
        case cpl_not_built: "this program was built without libplacebo support"
        case cpl_no_library:
            "\(cpl_library_name().map { String(cString: $0) } ?? "libplacebo") is not installed"
        default: "libplacebo cannot draw with \(name)"
        }
    }

    /// The reason why libplacebo cannot be used, as far as detectable without a window; nil if none is known.
    static var obstacle: String? {
        let outcome = cpl_look()
        return outcome == cpl_ready ? nil : reason(outcome, "OpenGL")
    }

    var area: PixelSize {
        var (width, height): (Int32, Int32) = (1, 1)
        SDL_GL_GetDrawableSize(window, &width, &height)
        return PixelSize(width: Int(max(1, width)), height: Int(max(1, height)))
    }

    func invalidate() { pacing.forget() }

    var refresh: RefreshEvidence { pacing.refresh }

    func prepare(_ frame: (any VideoFrame)?, overlays: [OverlayImage]) -> Bool {
        let area = self.area
        laidOver.removeAll(keepingCapacity: true)
        guard let frame else {
            layOver(overlays)
            return draw(nil, in: area)
        }
        let placement = placement(of: frame, on: area)
        if !placement.rect.isInside(placement.visible), placement.visible.size != area { cover(placement) }
        layOver(overlays)
        if let layout = frame.planeLayout {
            let isShown = frame.withPlanes { planes in
                guard var described = Self.described(frame, layout, planes) else { return false }
                setRectangles(&described, by: placement)
                return draw(&described, in: area)
            }
            if isShown { return true }
        }
        return drawConverted(frame, placement, in: area)
    }

    func present() -> HostInstant { pacing.present { cpl_swap(output) } }

    // MARK: Drawing

    private func draw(_ frame: UnsafeMutablePointer<cpl_picture>?, in area: PixelSize) -> Bool {
        laidOver.withUnsafeBufferPointer { overlays in
            cpl_draw(
                output, Int32(clamping: area.width), Int32(clamping: area.height), frame, overlays.baseAddress,
                Int32(overlays.count)) != 0
        }
    }

    private func setRectangles(_ frame: inout cpl_picture, by placement: VideoPlacement) {
        let rect = placement.rect
        frame.quarter_turns = Int32(placement.rotation / 90)
        (frame.left, frame.top) = (Float(rect.x), Float(rect.y))
        (frame.right, frame.bottom) = (Float(rect.x + rect.width), Float(rect.y + rect.height))
    }

    /// Returns the description of a frame; nil if its planes are unsuitable for upload.
    private static func described(
        _ frame: any VideoFrame, _ layout: PlaneLayout, _ planes: VideoFramePlanes
    ) -> cpl_picture? {
        var described = cpl_picture()
        guard (1...4).contains(layout.planes.count) else { return nil }
        let isComplete = withUnsafeMutableBytes(of: &described.planes) { bytes in
            let targets = bytes.bindMemory(to: cpl_plane.self)
            for (index, plane) in layout.planes.enumerated() {
                let size = plane.size(of: frame.size)
                let (base, stride) = planes[index]
                guard let base, stride > 0, stride % (plane.count * layout.sampleBits / 8) == 0 else { return false }
                let meanings = plane.meanings
                targets[index] = cpl_plane(
                    pixels: UnsafeRawPointer(base), stride: Int64(stride), width: Int32(clamping: size.width),
                    height: Int32(clamping: size.height), components: Int32(plane.count),
                    meanings: (meanings[0], meanings[1], meanings[2], meanings[3]))
            }
            return true
        }
        guard isComplete else { return nil }
        let color = frame.color
        described.plane_count = Int32(layout.planes.count)
        (described.width, described.height) = (
            Int32(clamping: frame.size.width), Int32(clamping: frame.size.height)
        )
        described.sample_bits = Int32(layout.sampleBits)
        (described.depth, described.shift) = (Int32(layout.depth), Int32(layout.shift))
        (described.primaries, described.transfer) = (Int32(color.primaries), Int32(color.transfer))
        described.matrix = layout.isRGB ? 0 : matrix(of: color, size: frame.size)
        described.is_full_range = layout.isRGB || color.isFullRange ? 1 : 0
        described.chroma_location = frame.chromaLocation.map { Int32($0) } ?? -1
        // Only PQ (16) is absolute; HLG is relative to the display.
        described.peak = color.transfer == 16 ? Float(PeakLuminance.believable(frame.peakLuminance)) : 0
        return described
    }

    /// Returns the H.273 matrix number. If the media states none, or one unsuitable for YCbCr, all presenters use the
    /// same default.
    private static func matrix(of color: ColorDescription, size: PixelSize) -> Int32 {
        switch color.matrix {
        case 1, 5, 6, 7, 8, 9, 10: return Int32(color.matrix)
        default: break
        }
        if color.isHighDynamicRange { return 9 }
        switch color.matrix(for: size) {
        case .bt601: return 6
        case .bt709: return 1
        case .bt2020: return 9
        }
    }

    /// Draws a frame through the converter's R'G'B' output.
    private func drawConverted(_ frame: any VideoFrame, _ placement: VideoPlacement, in area: PixelSize) -> Bool {
        // A frame is converted at most at its displayed size: a 4K film in a small window is reduced here.
        let shown = placement.unrotatedSize
        let isReduced = shown.width < frame.size.width && shown.height < frame.size.height
        let size = isReduced ? shown : frame.size
        let (bytes, overflow) = size.width.multipliedReportingOverflow(by: size.height * 4)
        guard !overflow, bytes > 0, bytes <= 1 << 29 else {
            _ = draw(nil, in: area)
            return false
        }
        if staging.count != bytes { staging = [UInt8](repeating: 0, count: bytes) }
        let color = frame.color
        let isMapped = converter.mapsTones(of: frame)
        return staging.withUnsafeMutableBytes { pixels in
            guard let base = pixels.baseAddress,
                converter.convert(frame, to: PixelTarget(base: base, stride: size.width * 4, size: size))
            else {
                _ = draw(nil, in: area)
                return false
            }
            var described = cpl_picture()
            described.plane_count = 1
            described.planes.0 = cpl_plane(
                pixels: UnsafeRawPointer(base), stride: Int64(size.width * 4), width: Int32(clamping: size.width),
                height: Int32(clamping: size.height), components: 4, meanings: (2, 1, 0, -1))
            (described.width, described.height) = (Int32(clamping: size.width), Int32(clamping: size.height))
            (described.sample_bits, described.depth) = (8, 8)
            described.primaries = isMapped ? 1 : Int32(color.primaries)
            described.transfer = isMapped ? 1 : Int32(color.transfer)
            described.is_full_range = 1
            described.chroma_location = -1
            described.peak = color.transfer == 16 ? Float(PeakLuminance.believable(frame.peakLuminance)) : 0
            setRectangles(&described, by: placement)
            return draw(&described, in: area)
        }
    }

    // MARK: Overlays

    /// Covers video outside the visible part with black, since libplacebo clips at the window's edges only.
    private func cover(_ placement: VideoPlacement) {
        if black == nil { black = cpl_texture_make(output, 1, 1, [0, 0, 0, 255]) }
        guard let black else { return }
        let (area, seen) = (placement.area, placement.visible)
        let (right, bottom) = (seen.x + seen.width, seen.y + seen.height)
        for side in [
            PixelRect(x: 0, y: 0, width: area.width, height: seen.y),
            PixelRect(x: 0, y: bottom, width: area.width, height: area.height - bottom),
            PixelRect(x: 0, y: seen.y, width: seen.x, height: seen.height),
            PixelRect(x: right, y: seen.y, width: area.width - right, height: seen.height),
        ] where !side.isEmpty {
            laidOver.append(
                cpl_overlay(
                    texture: black, x: Int32(side.x), y: Int32(side.y), width: Int32(side.width),
                    height: Int32(side.height)))
        }
    }

    private func layOver(_ overlays: [OverlayImage]) {
        if !overlayTextures.isEmpty {
            overlayTextures.removeAll { image, texture in
                if overlays.contains(where: { $0 === image }) { return false }
                cpl_texture_free(output, texture)
                return true
            }
        }
        for overlay in overlays {
            guard let texture = texture(of: overlay) else { continue }
            laidOver.append(
                cpl_overlay(
                    texture: texture, x: Int32(clamping: overlay.rect.x), y: Int32(clamping: overlay.rect.y),
                    width: Int32(clamping: overlay.rect.width), height: Int32(clamping: overlay.rect.height)))
        }
    }

    private func texture(of overlay: OverlayImage) -> OpaquePointer? {
        if let known = overlayTextures.first(where: { $0.image === overlay }) { return known.texture }
        guard
            let made = cpl_texture_make(
                output, Int32(clamping: overlay.rect.width), Int32(clamping: overlay.rect.height), overlay.pixels)
        else { return nil }
        overlayTextures.append((overlay, made))
        return made
    }
}
