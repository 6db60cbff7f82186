public import MediaCore

/// Why a renderer or a synchronizer cannot do what it was asked. Nothing has changed when it is thrown.
public typealias RenderError = CodedError<RenderErrors>

/// The codes of `RenderError`.
public enum RenderErrors {}

extension CodedError<RenderErrors>.Code {
    /// The renderer belongs to a synchronizer already.
    public static var alreadyAdded: Self { Self(rawValue: "alreadyAdded") }
    /// The synchronizer has a long-form audio renderer already.
    public static var secondLongFormAudio: Self { Self(rawValue: "secondLongFormAudio") }
    /// The renderer was invalidated.
    public static var invalidated: Self { Self(rawValue: "invalidated") }
    /// A picture for a renderer of sound, or sound for a layer.
    public static var wrongMedia: Self { Self(rawValue: "wrongMedia") }
    /// Something encoded for a renderer that was made without codecs.
    public static var noCodecs: Self { Self(rawValue: "noCodecs") }
    /// The system gives no thread for it now.
    public static var exhausted: Self { Self(rawValue: "exhausted") }
    /// A picture that does not say when it is to be seen.
    public static var missingTime: Self { Self(rawValue: "missingTime") }
}
