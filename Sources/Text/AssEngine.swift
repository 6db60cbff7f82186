internal import CASS
internal import CAssMemory

/// A libass library and renderer with a common lifetime. Not thread-safe: one thread at a time.
final class AssEngine {
    let library: OpaquePointer
    private(set) var renderer: OpaquePointer
    private let glyphs: Int32
    private let megabytes: Int32
    private let account: UnsafeMutablePointer<cam_account>

    /// Creates both and scans the system fonts. Nil if out of memory.
    ///
    /// - Parameters:
    ///   - glyphs: maximum number of cached glyphs.
    ///   - megabytes: maximum size of the bitmap cache, in the unit of `ass_set_cache_limits`.
    ///   - memory: maximum number of bytes that `limited` allocates.
    init?(glyphs: Int32, megabytes: Int32, memory: Int = .max) {
        guard let library = ass_library_init() else { return nil }
        cass_be_quiet(library)
        guard let renderer = ass_renderer_init(library) else {
            ass_library_done(library)
            return nil
        }
        (self.library, self.renderer, self.glyphs, self.megabytes) = (library, renderer, glyphs, megabytes)
        account = .allocate(capacity: 1)
        account.initialize(to: cam_account(used: 0, limit: memory, is_exhausted: false))
        configure()
    }

    deinit {
        ass_renderer_done(renderer)
        ass_library_done(library)
        account.deallocate()
    }

    private func configure() {
        ass_set_cache_limits(renderer, glyphs, megabytes)
        ass_set_fonts(renderer, nil, "sans-serif", Int32(ASS_FONTPROVIDER_AUTODETECT.rawValue), nil, 1)
    }

    // MARK: Memory

    /// Number of bytes that the renderer has allocated in `limited`.
    var usedMemory: Int { account.pointee.used }

    /// True if libass lacked memory since the renderer was created. Glyphs and parts of fonts may be missing.
    var isExhausted: Bool { account.pointee.is_exhausted }

    /// Calls functions of the renderer; beyond the maximum, their allocations fail.
    func limited<Result>(_ body: () -> Result) -> Result {
        cam_use(account)
        defer { cam_use(nil) }
        return body()
    }

    /// Replaces the renderer by one without memory, images and settings, and scans the system fonts and fonts added
    /// since. If out of memory, the renderer stays.
    func renewRenderer() {
        guard let next = ass_renderer_init(library) else { return }
        ass_renderer_done(renderer)
        renderer = next
        (account.pointee.used, account.pointee.is_exhausted) = (0, false)
        configure()
    }
}
