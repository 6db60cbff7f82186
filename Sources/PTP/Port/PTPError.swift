/// Why this computer cannot take part in PTP timing.
public struct PTPError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The ports are below 1024 and this process may not bind them.
        public static let notPermitted = Code(rawValue: "not-permitted")
        /// Another program holds the ports on this address.
        public static let portsBusy = Code(rawValue: "ports-busy")
        /// This computer does not have the address, or the system refuses a socket.
        public static let unavailable = Code(rawValue: "unavailable")
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
