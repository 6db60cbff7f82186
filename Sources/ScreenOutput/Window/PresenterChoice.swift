internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Opens a window with the first presenter that works on this computer.
struct PresenterChoice {
    private let options: ScreenOptions
    private let converter: any VideoFrameConverter
    private let hasMemory: Bool

    /// - Parameter hasMemory: Whether windows have memory to draw into.
    init(_ options: ScreenOptions, _ converter: any VideoFrameConverter, hasMemory: Bool) {
        (self.options, self.converter, self.hasMemory) = (options, converter, hasMemory)
    }

    /// Opens a window with its presenter. Returns sentences for the user about what replaces the requested one.
    func open(
        _ size: PixelSize, at position: Int32, flags: UInt32
    ) throws(OutputError) -> (window: OpaquePointer, presenter: any VideoPresenter, notices: [String]) {
        var refusal: OutputError?
        for way in Self.ways(options.presentation, hasProcessor: GraphicsProcessor.isLikely, hasMemory: hasMemory) {
            do throws(OutputError) {
                let (window, presenter) = try make(way, size: size, position: position, flags: flags)
                let notices = [fallback(to: presenter, because: refusal), Self.shortcomings(of: way, options.drawing)]
                return (window, presenter, notices.compactMap { $0 })
            } catch {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? OutputError(.failed, "the window cannot be opened")
    }

    /// Returns the presentations to try, in order.
    ///
    /// - Parameters:
    ///   - hasProcessor: Whether a graphics processor is likely.
    ///   - hasMemory: Whether windows have memory to draw into. SDL 2 has none on Wayland.
    static func ways(
        _ request: ScreenOptions.Presentation, hasProcessor: Bool, hasMemory: Bool = true
    ) -> [ScreenOptions.Presentation] {
        let plain: ScreenOptions.Presentation = hasMemory ? .surface : .texture
        let all: [ScreenOptions.Presentation] = hasMemory ? [.placebo, .texture, .surface] : [.placebo, .texture]
        return switch request {
        case .automatic: hasProcessor ? all : [plain]
        case .placebo: hasProcessor ? all : [.placebo, plain]
        case .texture: [.texture]
        case .surface: [plain]
        }
    }

    /// Returns whether the first presentation to try would tone-map.
    static func expectsToMapTones(_ options: ScreenOptions) -> Bool {
        ways(options.presentation, hasProcessor: GraphicsProcessor.isLikely).first == .placebo
    }

    private func make(
        _ way: ScreenOptions.Presentation, size: PixelSize, position: Int32, flags: UInt32
    ) throws(OutputError) -> (window: OpaquePointer, presenter: any VideoPresenter) {
        let further = way == .surface ? 0 : SDL_WINDOW_OPENGL.rawValue
        guard
            let window = SDL_CreateWindow(
                options.title, position, position, Int32(size.width), Int32(size.height), flags | further)
        else { throw OutputError(.failed, "the window cannot be opened: \(sdlError())") }
        do throws(OutputError) {
            return (window, try makePresenter(way, for: window))
        } catch {
            SDL_DestroyWindow(window)
            throw error
        }
    }

    private func makePresenter(
        _ way: ScreenOptions.Presentation, for window: OpaquePointer
    ) throws(OutputError) -> any VideoPresenter {
        // Window memory is cheaper than a software renderer of OpenGL.
        let takesSoftware = way == options.presentation || !hasMemory
        switch way {
        case .placebo:
            return try PlaceboPresenter(
                window: window, converter: converter, drawing: options.drawing, takesSoftware: takesSoftware)
        case .texture:
            let presenter = try TexturePresenter(
                window: window, converter: converter, scaler: options.drawing.scaler)
            guard takesSoftware || !presenter.isSoftware else {
                throw OutputError(.unavailable, "there is no graphics processor, only \(presenter.description)")
            }
            return presenter
        case .surface, .automatic:
            return try SurfacePresenter(window: window, converter: converter)
        }
    }

    /// Returns which requested features a presentation lacks, and what it uses instead; nil if it supports all.
    static func shortcomings(of way: ScreenOptions.Presentation, _ drawing: VideoRenderingOptions) -> String? {
        guard way != .placebo else { return nil }
        let scalers: [VideoRenderingOptions.Scaler] =
            way == .texture ? [.nearest, .bilinear] : [.nearest, .bilinear, .bicubic, .lanczos]
        var (wanted, taken): ([String], [String]) = ([], [])
        if ![.auto, .clip, .bt2390].contains(drawing.toneMapping) {
            wanted.append("tone mapping by \(drawing.toneMapping.rawValue)")
            taken.append("bt.2390")
        }
        if let scaler = drawing.scaler, !scalers.contains(scaler) {
            wanted.append("scaling by \(scaler.rawValue)")
            taken.append("bilinear")
        }
        guard !wanted.isEmpty else { return nil }
        let (need, are) = wanted.count > 1 ? ("need", "are") : ("needs", "is")
        return "\(wanted.joined(separator: " and ")) \(need) libplacebo; "
            + "\(taken.joined(separator: " and ")) \(are) used"
    }

    /// Returns a sentence if the requested presenter is replaced. A missing graphics processor counts only if it was
    /// requested.
    private func fallback(to presenter: any VideoPresenter, because refusal: OutputError?) -> String? {
        guard let refusal, options.presentation == .placebo || refusal.code != .unavailable else { return nil }
        return "libplacebo is not used because \(refusal.message); \(presenter.description) is used instead"
    }
}
