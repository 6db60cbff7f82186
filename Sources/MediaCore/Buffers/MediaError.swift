/// Why a film or a part of it cannot be read or decoded.
public typealias MediaError = CodedError<MediaErrors>

/// The codes of `MediaError`.
public enum MediaErrors {}

extension CodedError<MediaErrors>.Code {
    /// There is no such file, or it cannot be opened.
    public static var cannotOpen: Self { Self(rawValue: "cannotOpen") }
    /// We may not read it.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// A server does not prove who it is, or leads to what it must not.
    public static var untrusted: Self { Self(rawValue: "untrusted") }
    /// It is not a film or a recording that can be recognised.
    public static var notMedia: Self { Self(rawValue: "notMedia") }
    /// Nothing here can decode this.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
    /// This packet is bad; the next may be good.
    public static var damagedPacket: Self { Self(rawValue: "damagedPacket") }
    /// A segment of a stream cannot be read. Reading continues after it.
    public static var lostSegment: Self { Self(rawValue: "lostSegment") }
    /// Reading failed and will fail again.
    public static var readFailed: Self { Self(rawValue: "readFailed") }
    /// The data end before the length that the container's header states. What is there has been read.
    public static var incomplete: Self { Self(rawValue: "incomplete") }
    /// It took too long.
    public static var timedOut: Self { Self(rawValue: "timedOut") }
    /// The one who asked has given up.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// Numbers in the file exceed what is sensible.
    public static var limitExceeded: Self { Self(rawValue: "limitExceeded") }
    /// The system gives no more descriptors, threads or memory; later it may.
    public static var exhausted: Self { Self(rawValue: "exhausted") }
}

extension MediaError {
    /// Whether the next call to `SampleSource.read()` may succeed.
    package var isRecoverable: Bool { code == .damagedPacket || code == .lostSegment }
}
