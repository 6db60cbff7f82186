/// Why something could not be kept or read back.
public struct StateError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The folder or file cannot be read or written; nothing was changed.
        public static let inaccessible = Code(rawValue: "inaccessible")
        /// A newer Talkie wrote it; it is left as it is.
        public static let newer = Code(rawValue: "newer")
    }

    public let code: Code
    /// One sentence that says what to do.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
