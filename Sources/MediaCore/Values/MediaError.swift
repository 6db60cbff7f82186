/// The reason why an item or a part of it cannot be read or decoded.
public typealias MediaError = CodedError<MediaErrors>

/// The domain of the codes of `MediaError`.
public enum MediaErrors {}

extension CodedError<MediaErrors>.Code {
    /// The file does not exist or cannot be opened.
    public static var cannotOpen: Self { Self(rawValue: "cannotOpen") }
    /// The process may not read the file.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// A server failed authentication, or redirected to a target that is not allowed.
    public static var untrusted: Self { Self(rawValue: "untrusted") }
    /// The data is in no recognized media format.
    public static var notMedia: Self { Self(rawValue: "notMedia") }
    /// No decoder or demuxer for this format is available.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
    /// This packet is damaged; reading can continue with the next one.
    public static var damagedPacket: Self { Self(rawValue: "damagedPacket") }
    /// A segment of a stream cannot be read. Reading continues after it.
    public static var lostSegment: Self { Self(rawValue: "lostSegment") }
    /// The stream changes in a way that is not supported. Reading continues after the change.
    public static var unsupportedChange: Self { Self(rawValue: "unsupportedChange") }
    /// Reading failed permanently.
    public static var readFailed: Self { Self(rawValue: "readFailed") }
    /// The data ends before the length in the container's header. Everything before was read.
    public static var incomplete: Self { Self(rawValue: "incomplete") }
    /// The file became shorter while it was open. Everything before its present end was read.
    public static var truncated: Self { Self(rawValue: "truncated") }
    /// The operation exceeded its timeout.
    public static var timedOut: Self { Self(rawValue: "timedOut") }
    /// The caller cancelled the operation.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// A number in the file exceeds a limit.
    public static var limitExceeded: Self { Self(rawValue: "limitExceeded") }
    /// The system is out of descriptors, threads or memory; a retry may succeed.
    public static var exhausted: Self { Self(rawValue: "exhausted") }
}

extension MediaError {
    /// Whether the next call to `SampleSource.read()` may succeed.
    package var isRecoverable: Bool { code == .damagedPacket || isPartial }
    /// Whether a part of the stream is missing or wrong, and reading continues after it.
    package var isPartial: Bool { code == .lostSegment || code == .unsupportedChange }
    /// Whether data is missing at the end, and everything before was read.
    package var isIncomplete: Bool { code == .incomplete || code == .truncated }
}
