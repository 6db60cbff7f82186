public import MediaCore

/// A sound card as the pump sees it: a queue of frames that drains by itself. The real one is ALSA's, the other one
/// is driven by a test. All calls come from the one thread that owns it and must not block for longer than
/// microseconds, except `discard` and `recover`.
public protocol PlayoutDevice: AnyObject {
    /// What it is set to; constant while open.
    var format: PCMFormat { get }
    /// Frames its queue holds.
    var capacity: Int { get }
    /// Whether frames in the queue can be taken back. Where not, the whole queue can be thrown away.
    var canRewind: Bool { get }

    /// One look at the device: everything in it belongs to the same moment.
    func look() -> PlayoutDeviceReading
    /// Puts frames into the queue; never more than fit. Returns how many, or why not.
    func write(_ samples: UnsafePointer<Float>, frames: Int) -> PlayoutDeviceResult
    /// Begins to drain the queue, if it does not already.
    func start()
    /// Takes back the newest frames of the queue; returns how many.
    func rewind(_ frames: Int) -> Int
    /// Throws the whole queue away, so that the device falls silent at once, and makes it ready to be filled anew.
    func discard() -> Bool
    /// Makes it ready to be filled anew after an underrun or a suspend; false when it has to be tried again later.
    func recover() -> Bool
}

/// What one look at a device says.
public struct PlayoutDeviceReading: Sendable, BitwiseCopyable {
    public enum State: UInt8, Sendable, BitwiseCopyable {
        /// Filled or being filled, not draining.
        case prepared
        case running
        /// Ran dry.
        case underrun
        /// The machine or the device slept.
        case suspended
        /// Gone for good: unplugged, server ended.
        case lost
    }

    public var state: State
    /// Frames that can be written now.
    public var free: Int
    /// Frames between the next frame to be written and the ear.
    public var delay: Int
    /// When that was so.
    public var instant: HostInstant

    public init(state: State, free: Int, delay: Int, instant: HostInstant) {
        self.state = state
        self.free = free
        self.delay = delay
        self.instant = instant
    }
}

/// How writing to a device ended.
public enum PlayoutDeviceResult: Sendable, Equatable {
    case wrote(Int)
    case underrun
    case suspended
    case lost
}
