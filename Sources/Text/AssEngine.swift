internal import CASS

/// A libass library and renderer with a common lifetime. Not thread-safe: one thread at a time.
final class AssEngine {
    let library: OpaquePointer
    let renderer: OpaquePointer

    /// Creates both and scans the system fonts. Nil if out of memory.
    ///
    /// - Parameters:
    ///   - glyphs: maximum number of cached glyphs.
    ///   - megabytes: maximum size of the bitmap cache, in the unit of `ass_set_cache_limits`.
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

    /// Scans the system fonts, and fonts added since.
    func findFonts() {
        ass_set_fonts(renderer, nil, "sans-serif", Int32(ASS_FONTPROVIDER_AUTODETECT.rawValue), nil, 1)
    }
}
