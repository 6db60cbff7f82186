/// Why an output cannot do what it was asked. The film can go on without it.
public struct OutputError: Error, Sendable, CustomStringConvertible {
    /// An open set: new codes do not break anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// There is no such device, or nothing answers there.
        public static let unavailable = Code(rawValue: "unavailable")
        /// Somebody else holds it.
        public static let busy = Code(rawValue: "busy")
        /// The system or the device refuses us.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// It was there and is gone.
        public static let lost = Code(rawValue: "lost")
        /// It cannot take this format.
        public static let unsupportedFormat = Code(rawValue: "unsupportedFormat")
        /// It insists on a clock while another output insists on another.
        public static let clockConflict = Code(rawValue: "clockConflict")
        /// It broke while running.
        public static let failed = Code(rawValue: "failed")
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
