public import MediaCore

/// An error of a renderer or a synchronizer. The operation that throws it has changed nothing.
public typealias RenderError = CodedError<RenderErrors>

/// The domain of the codes of `RenderError`.
public enum RenderErrors {}

extension CodedError<RenderErrors>.Code {
    /// The renderer already belongs to a synchronizer.
    public static var alreadyAdded: Self { Self(rawValue: "alreadyAdded") }
    /// The synchronizer already has a long-form audio renderer.
    public static var secondLongFormAudio: Self { Self(rawValue: "secondLongFormAudio") }
    /// The renderer is invalidated.
    public static var invalidated: Self { Self(rawValue: "invalidated") }
    /// Video for an audio renderer, or audio for a layer.
    public static var wrongMedia: Self { Self(rawValue: "wrongMedia") }
    /// Encoded media for a renderer that was created without codecs.
    public static var noCodecs: Self { Self(rawValue: "noCodecs") }
    /// The system cannot provide a thread.
    public static var exhausted: Self { Self(rawValue: "exhausted") }
    /// A video frame without a presentation time.
    public static var missingTime: Self { Self(rawValue: "missingTime") }
}
