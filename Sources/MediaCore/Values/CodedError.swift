/// An error with a code for programs and a sentence for people. Each module has its own, told apart by `Family`.
public struct CodedError<Family>: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public let code: Code
    /// The message without the remedy.
    public let problem: String
    /// What a person can do, where a program can help with it; nil where the problem says it already.
    public let remedy: Remedy?
    /// One sentence for a person: what is wrong and what to do.
    public var message: String { remedy?.sentence(after: problem) ?? problem }
    public var description: String { message }

    /// - Parameter message: says what to do, too, unless there is a remedy.
    public init(_ code: Code, _ message: String, remedy: Remedy? = nil) {
        self.code = code
        self.problem = message
        self.remedy = remedy
    }

    /// The same error with its remedy in other words; nil leaves it as it is.
    public func saying(_ words: (Remedy) -> String?) -> Self {
        Self(code, problem, remedy: remedy.map { $0.saying(words($0)) })
    }
}
