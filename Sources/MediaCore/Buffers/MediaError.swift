/// Why a film or a part of it cannot be read or decoded.
public struct MediaError: Error, Sendable, CustomStringConvertible {
    /// An open set: new codes do not break anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// There is no such file, or it cannot be opened.
        public static let cannotOpen = Code(rawValue: "cannotOpen")
        /// We may not read it.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// It is not a film or a recording that can be recognised.
        public static let notMedia = Code(rawValue: "notMedia")
        /// Nothing here can decode this.
        public static let unsupported = Code(rawValue: "unsupported")
        /// This packet is bad; the next may be good.
        public static let damagedPacket = Code(rawValue: "damagedPacket")
        /// Reading failed and will fail again.
        public static let readFailed = Code(rawValue: "readFailed")
        /// It took too long.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The one who asked has given up.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Numbers in the file exceed what is sensible.
        public static let limitExceeded = Code(rawValue: "limitExceeded")
    }

    public var code: Code
    /// One sentence for a person: what is wrong and what to do.
    public var message: String
    public var description: String { message }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
