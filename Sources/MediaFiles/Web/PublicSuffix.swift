internal import MediaCore

/// Domains whose subdomains have different owners, such as `co.uk`: servers cannot set cookies for them (RFC 6265,
/// 5.3).
enum PublicSuffix {
    /// Returns whether `domain` is a public suffix in libpsl's list. Without that library, a two-letter country with at
    /// most three letters before it counts as one.
    ///
    /// - Parameter domain: In lower case, without a leading dot, at least two labels.
    static func contains(_ domain: String) -> Bool {
        let name = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
        guard let library else { return isCountryCategory(name) }
        return library.isSuffix(library.list, name) != 0
    }

    /// Matches `com.au`, `co.uk`, `ac.jp`, and also names such as `t.co`, whose own host can still set cookies.
    static func isCountryCategory(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".")
        return labels.count == 2 && labels[1].utf8.count == 2 && labels[0].utf8.count <= 3
    }

    /// `@unchecked Sendable`: immutable pointers to constant data and a thread-safe function.
    private struct Library: @unchecked Sendable {
        /// Constant data of the library (`psl_builtin`).
        var list: UnsafeRawPointer
        /// Thread-safe.
        var isSuffix: @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>) -> Int32
    }

    private static let library: Library? = {
        guard let file = OptionalLibrary("libpsl.so.5"),
            // ignored: a library without these functions counts as missing.
            let list: @convention(c) () -> UnsafeRawPointer? = try? file.function("psl_builtin"),
            let isSuffix: @convention(c) (UnsafeRawPointer, UnsafePointer<CChar>) -> Int32 = try? file.function(
                "psl_is_public_suffix"), let builtin = list()
        else { return nil }
        return Library(list: builtin, isSuffix: isSuffix)
    }()
}
