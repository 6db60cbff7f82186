/// An error with a code for programs and a sentence for people. Each module has its own, told apart by `Family`.
public struct CodedError<Family>: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public let code: Code
    /// One sentence for a person: what is wrong and what to do.
    public let message: String
    public var description: String { message }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
