/// A parse error of a value, which describes the expected form.
public struct ValueError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The expected form as the end of a sentence: "a time is written 90, 1:30 or 01:02:03.5".
    public var description: String
    /// Creates an error.
    public init(_ description: String) { self.description = description }
}
