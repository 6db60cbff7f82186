/// Why a renderer or a synchronizer cannot do what it was asked. Nothing has changed when it is thrown.
public struct RenderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An open set: new codes do not break anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The renderer belongs to a synchronizer already.
        public static let alreadyAdded = Code(rawValue: "alreadyAdded")
        /// The synchronizer has a long-form audio renderer already.
        public static let secondLongFormAudio = Code(rawValue: "secondLongFormAudio")
        /// The renderer was invalidated.
        public static let invalidated = Code(rawValue: "invalidated")
        /// A picture for a renderer of sound, or sound for a layer.
        public static let wrongMedia = Code(rawValue: "wrongMedia")
        /// A picture that does not say when it is to be seen.
        public static let missingTime = Code(rawValue: "missingTime")
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
