internal import MediaCore

/// Domains under which names belong to different owners, such as `co.uk`: no server sets cookies for all of them (RFC 6265, 5.3).
enum PublicSuffix {
    /// Returns whether `domain` is a public suffix by libpsl's list. Without that library, a two-letter country with at most three
    /// letters before it is one.
    ///
    /// - Parameter domain: in lower case, without a leading dot, of at least two labels.
    static func contains(_ domain: String) -> Bool {
        let name = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
        guard let library else { return isCountryCategory(name) }
        return library.isSuffix(library.list, name) != 0
    }

    /// `com.au`, `co.uk`, `ac.jp`; also names such as `t.co`, whose own host still gets its cookies.
    static func isCountryCategory(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".")
        return labels.count == 2 && labels[1].utf8.count == 2 && labels[0].utf8.count <= 3
    }

    private struct Library: @unchecked Sendable {
        /// Constant data of the library (`psl_builtin`).
        var list: UnsafeRawPointer
        /// Thread-safe.
        var isSuffix: @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>) -> Int32
    }

    private static let library: Library? = {
        guard let file = OptionalLibrary("libpsl.so.5"),
            // ignored: a library without these functions is as good as none.
            let list: @convention(c) () -> UnsafeRawPointer? = try? file.function("psl_builtin"),
            let isSuffix: @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>) -> Int32 = try? file.function(
                "psl_is_public_suffix"), let builtin = list()
        else { return nil }
        return Library(list: builtin, isSuffix: isSuffix)
    }()
}
