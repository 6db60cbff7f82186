internal import CASS

/// libass's library and renderer, made and given back together. Belongs to one thread at a time.
final class AssEngine {
    let library: OpaquePointer
    let renderer: OpaquePointer

    /// - Parameters:
    ///   - glyphs: kept at most.
    ///   - megabytes: of drawings that are kept; the unit of `ass_set_cache_limits`.
    /// - Returns: nil when there is no memory.
    init?(glyphs: Int32, megabytes: Int32) {
        guard let library = ass_library_init() else { return nil }
        cass_be_quiet(library)
        guard let renderer = ass_renderer_init(library) else {
            ass_library_done(library)
            return nil
        }
        (self.library, self.renderer) = (library, renderer)
        ass_set_cache_limits(renderer, glyphs, megabytes)
        findFonts()
    }

    deinit {
        ass_renderer_done(renderer)
        ass_library_done(library)
    }

    /// Looks for the system's fonts, and those that were added since.
    func findFonts() {
        ass_set_fonts(renderer, nil, "sans-serif", Int32(ASS_FONTPROVIDER_AUTODETECT.rawValue), nil, 1)
    }
}
