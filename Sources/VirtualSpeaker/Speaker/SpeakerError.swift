/// Why a speaker in software cannot be started.
public struct SpeakerError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another program listens on the port, or the computer does not have the address.
        public static let cannotListen = Code(rawValue: "cannot-listen")
        /// The clock's ports cannot be had.
        public static let noClock = Code(rawValue: "no-clock")
        /// The recording cannot be written.
        public static let cannotWrite = Code(rawValue: "cannot-write")
        /// The sound device cannot be used.
        public static let noOutput = Code(rawValue: "no-output")
        /// The ports may not be bound by this user.
        public static let notPermitted = Code(rawValue: "not-permitted")
        /// The options make no sense.
        public static let badOption = Code(rawValue: "bad-option")
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
