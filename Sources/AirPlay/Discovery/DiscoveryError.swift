/// Why a speaker was not found or cannot be named this way.
public struct DiscoveryError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No avahi-daemon answers; speakers can still be named by their address.
        public static let daemonMissing = Code(rawValue: "daemon-missing")
        /// Nothing of that name is on the network, or it went away.
        public static let notFound = Code(rawValue: "not-found")
        /// Several speakers have that name; their ids differ.
        public static let ambiguous = Code(rawValue: "ambiguous")
        /// The words are not an address.
        public static let badAddress = Code(rawValue: "bad-address")
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
