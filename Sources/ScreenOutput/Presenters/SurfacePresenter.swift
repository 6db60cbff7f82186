internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Draws into window memory, for computers without a graphics processor.
///
/// The converter writes into the memory that the X server reads (MIT-SHM): a frame is touched once by each. SDL's
/// renderers are not used: the "software" one presents through OpenGL, ten times as expensive without a graphics
/// processor.
final class SurfacePresenter: VideoPresenter {
    let description = "window memory"
    let refresh = RefreshEvidence.immediate
    var gravity = VideoGravity.resizeAspect
    var view = VideoGeometry()
    var arrangement = ScreenArrangement()
    private let window: OpaquePointer
    private let converter: any VideoFrameConverter
    private var surface: UnsafeMutablePointer<SDL_Surface>?
    private var placement: VideoPlacement?
    private var isStale = true
    /// The frame before rotation, or before conversion to the window's pixel format.
    private var staging: UnsafeMutablePointer<SDL_Surface>?
    /// The rotated frame before its visible part is copied to the window.
    private var turned: UnsafeMutablePointer<SDL_Surface>?
    /// The region that was drawn since the last `present`; nil after it. A prepared picture may be replaced before it
    /// is presented.
    private var dirty: PixelRect?
    /// The rectangles of the previous overlays.
    private var covered: [PixelRect] = []

    init(window: OpaquePointer, converter: any VideoFrameConverter) throws(OutputError) {
        self.window = window
        self.converter = converter
        guard refreshSurface() else {
            throw OutputError(.failed, "no memory is available for the window: \(sdlError())")
        }
    }

    deinit {
        if let staging { SDL_FreeSurface(staging) }
        if let turned { SDL_FreeSurface(turned) }
    }

    var area: PixelSize {
        var (width, height): (Int32, Int32) = (0, 0)
        SDL_GetWindowSizeInPixels(window, &width, &height)
        return PixelSize(width: Int(max(1, width)), height: Int(max(1, height)))
    }

    func invalidate() { isStale = true }

    func prepare(_ frame: (any VideoFrame)?, overlays: [OverlayImage]) -> Bool {
        guard refreshSurface(), let surface else { return false }
        let bounds = PixelRect(x: 0, y: 0, width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        let wanted = frame.map { placement(of: $0, on: bounds.size) }
        let isFullRedraw = isStale || wanted == nil || wanted != placement
        let redrawn = isFullRedraw ? bounds : wanted.map { $0.rect.intersection($0.visible) } ?? bounds
        var changed = redrawn
        // Borders are painted only if they moved, or where an overlay was.
        if isFullRedraw { Self.blacken(bounds, of: surface) }
        for rect in covered where !rect.isInside(redrawn) {
            Self.blacken(rect, of: surface)
            changed = changed.union(rect)
        }
        isStale = false
        placement = wanted
        covered.removeAll(keepingCapacity: true)
        var isShown = true
        if let frame, let wanted { isShown = draw(frame, at: wanted, on: surface) }
        for overlay in overlays {
            blend(overlay, on: surface)
            covered.append(overlay.rect.intersection(bounds))
            changed = changed.union(overlay.rect.intersection(bounds))
        }
        dirty = dirty?.union(changed) ?? changed
        return isShown
    }

    func present() -> HostInstant {
        // SDL's X11 driver ends with XSync: when it returns, the server has copied the frame.
        if var rect = dirty.map({ SDL_Rect($0) }), SDL_UpdateWindowSurfaceRects(window, &rect, 1) != 0 {
            isStale = true
        }
        dirty = nil
        return .now
    }

    private static func blacken(_ destination: PixelRect, of surface: UnsafeMutablePointer<SDL_Surface>) {
        var rect = SDL_Rect(destination)
        SDL_FillRect(surface, &rect, SDL_MapRGB(surface.pointee.format, 0, 0, 0))
    }

    /// Gets the window memory, which changes with the window's size. Returns false if there is none.
    private func refreshSurface() -> Bool {
        let before = surface.map { ($0, $0.pointee.w, $0.pointee.h) }
        surface = SDL_GetWindowSurface(window)
        guard let surface else { return false }
        if let before, before == (surface, surface.pointee.w, surface.pointee.h) { return true }
        (isStale, dirty) = (true, nil)
        return true
    }

    // MARK: Drawing

    /// A multiple of every chroma subsampling step and of the SIMD load width, in source pixels.
    private static let regionStep = 16

    private func draw(
        _ frame: any VideoFrame, at placement: VideoPlacement, on surface: UnsafeMutablePointer<SDL_Surface>
    ) -> Bool {
        let isDirect = Self.isBGRA(surface)
        let isFullyVisible = placement.rect.isInside(placement.visible)
        if placement.rotation == 0, isDirect, isFullyVisible {
            return converter.convert(frame, to: Self.target(surface, placement.rect))
        }
        // Only the visible part is converted, so that zooming costs nothing extra.
        let all = PixelRect(x: 0, y: 0, width: frame.size.width, height: frame.size.height)
        let seen =
            isFullyVisible
            ? VideoPlacement.Region(source: all, target: placement.rect)
            : placement.visibleRegion(of: frame.size, step: Self.regionStep)
        guard let seen else { return true }
        let destination = seen.target
        let upright =
            placement.rotation % 180 == 0
            ? destination.size : PixelSize(width: destination.height, height: destination.width)
        guard let staging = Self.fit(&staging, to: upright) else { return false }
        let room = Self.target(staging, PixelRect(x: 0, y: 0, width: upright.width, height: upright.height))
        let isDrawn =
            seen.source == all
            ? converter.convert(frame, to: room) : converter.convert(frame, part: seen.source, to: room)
        guard isDrawn else { return false }
        // SDL converts to a window of 16 bits or of another byte order. Rotation is unsupported there.
        guard placement.rotation != 0, isDirect else {
            return Self.copy(staging, to: destination, within: placement.visible, of: surface)
        }
        if isFullyVisible {
            Self.turn(staging, placement.rotation, to: Self.target(surface, destination))
            return true
        }
        guard let turned = Self.fit(&turned, to: destination.size) else { return false }
        let target = PixelRect(x: 0, y: 0, width: destination.width, height: destination.height)
        Self.turn(staging, placement.rotation, to: Self.target(turned, target))
        return Self.copy(turned, to: destination, within: placement.visible, of: surface)
    }

    private static func turn(
        _ source: UnsafeMutablePointer<SDL_Surface>, _ rotation: Int, to target: PixelTarget
    ) {
        let size = PixelSize(width: Int(source.pointee.w), height: Int(source.pointee.h))
        source.pointee.pixels.withMemoryRebound(to: UInt32.self, capacity: 1) { pixels in
            PixelRotation.copy(
                from: pixels, stride: Int(source.pointee.pitch) / 4, size: size, turned: rotation,
                to: target.base.assumingMemoryBound(to: UInt32.self), stride: target.stride / 4)
        }
    }

    /// Copies with scaling; pixels outside `visible` are clipped.
    private static func copy(
        _ source: UnsafeMutablePointer<SDL_Surface>, to destination: PixelRect, within visible: PixelRect,
        of surface: UnsafeMutablePointer<SDL_Surface>
    ) -> Bool {
        var clip = SDL_Rect(visible)
        SDL_SetClipRect(surface, &clip)
        defer { SDL_SetClipRect(surface, nil) }
        var rect = SDL_Rect(destination)
        return SDL_UpperBlitScaled(source, nil, surface, &rect) == 0
    }

    /// Returns a surface of this size; replaces one of another size.
    private static func fit(
        _ surface: inout UnsafeMutablePointer<SDL_Surface>?, to size: PixelSize
    ) -> UnsafeMutablePointer<SDL_Surface>? {
        if let surface, Int(surface.pointee.w) == size.width, Int(surface.pointee.h) == size.height { return surface }
        if let surface { SDL_FreeSurface(surface) }
        surface = SDL_CreateRGBSurfaceWithFormat(
            0, Int32(size.width), Int32(size.height), 32, UInt32(SDL_PIXELFORMAT_RGB888.rawValue))
        return surface
    }

    private func blend(_ overlay: OverlayImage, on surface: UnsafeMutablePointer<SDL_Surface>) {
        guard Self.isBGRA(surface) else { return Self.blit(overlay, on: surface) }
        let bounds = PixelRect(x: 0, y: 0, width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        let visible = overlay.rect.intersection(bounds)
        guard !visible.isEmpty else { return }
        let target = Self.target(surface, visible)
        overlay.pixels.withUnsafeBufferPointer { pixels in
            for row in 0..<visible.height {
                let start = ((visible.y - overlay.rect.y + row) * overlay.rect.width + visible.x - overlay.rect.x) * 4
                let line = target.base.assumingMemoryBound(to: UInt8.self) + row * target.stride
                for column in 0..<visible.width {
                    let alpha = Int32(pixels[start + column * 4 + 3])
                    if alpha == 0 { continue }
                    for channel in 0..<3 {
                        let under = Int32(line[column * 4 + channel])
                        let over = Int32(pixels[start + column * 4 + channel])
                        line[column * 4 + channel] = UInt8(truncatingIfNeeded: under + (over - under) * alpha / 255)
                    }
                }
            }
        }
    }

    /// Blends an overlay by SDL, for a window of 16 bits or of another byte order.
    static func blit(_ overlay: OverlayImage, on surface: UnsafeMutablePointer<SDL_Surface>) {
        overlay.pixels.withUnsafeBytes { pixels in
            // SDL only reads the source of a blit.
            let image = SDL_CreateRGBSurfaceWithFormatFrom(
                UnsafeMutableRawPointer(mutating: pixels.baseAddress), Int32(overlay.rect.width),
                Int32(overlay.rect.height), 32, Int32(overlay.rect.width * 4),
                UInt32(SDL_PIXELFORMAT_ARGB8888.rawValue))
            guard let image else { return }
            defer { SDL_FreeSurface(image) }
            SDL_SetSurfaceBlendMode(image, SDL_BLENDMODE_BLEND)
            var rect = SDL_Rect(overlay.rect)
            SDL_UpperBlit(image, nil, surface, &rect)
        }
    }

    /// Returns whether pixels are 32-bit words with blue in the lowest byte, as on nearly all X screens.
    private static func isBGRA(_ surface: UnsafeMutablePointer<SDL_Surface>) -> Bool {
        let format = surface.pointee.format.pointee.format
        return format == UInt32(SDL_PIXELFORMAT_RGB888.rawValue)
            || format == UInt32(SDL_PIXELFORMAT_ARGB8888.rawValue)
    }

    private static func target(_ surface: UnsafeMutablePointer<SDL_Surface>, _ rect: PixelRect) -> PixelTarget {
        let pitch = Int(surface.pointee.pitch)
        return PixelTarget(base: surface.pointee.pixels + rect.y * pitch + rect.x * 4, stride: pitch, size: rect.size)
    }
}
