/// A word that cannot be understood as the value it should be, with what would be understood.
public struct ValueError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is expected, as the end of a sentence: "a time is written 90, 1:30 or 01:02:03.5".
    public var description: String
    public init(_ description: String) { self.description = description }
}
