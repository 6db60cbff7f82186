/// An error with a code for programs and a sentence for users. Each module has its own `Family`.
public struct CodedError<Family>: Error, Hashable, CustomStringConvertible {
    /// An open set of codes; later versions may add some.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code in text form; stable across versions.
        public let rawValue: String
        /// Creates a code.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The code, for programs.
    public let code: Code
    /// The message without the remedy.
    public let problem: String
    /// The action that resolves the error, if a program can offer it; nil if `problem` already contains the advice.
    public let remedy: Remedy?
    /// One sentence for the user: what happened and what to do.
    public var message: String { remedy?.sentence(after: problem) ?? problem }
    /// Same as `message`.
    public var description: String { message }

    /// - Parameter message: what happened; without a remedy also what to do.
    public init(_ code: Code, _ message: String, remedy: Remedy? = nil) {
        self.code = code
        self.problem = message
        self.remedy = remedy
    }

    /// Returns this error with other words for its remedy; nil from `words` keeps them.
    package func saying(_ words: (Remedy) -> String?) -> Self {
        Self(code, problem, remedy: remedy.map { $0.saying(words($0)) })
    }
}
