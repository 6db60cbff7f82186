package import MediaCore

/// A sound card from the pump's view: a queue of frames that drains in real time. Implemented for ALSA and by a test
/// device.
///
/// All calls come from the owning thread and must not block for longer than microseconds, except `discard` and
/// `recover`.
package protocol PlayoutDevice: AnyObject {
    /// The configured format; constant while open.
    var format: PCMFormat { get }
    /// The capacity of the queue in frames.
    var capacity: Int { get }
    /// Whether queued frames can be rewound. Otherwise only the whole queue can be discarded.
    var canRewind: Bool { get }
    /// The latency as the device's sound server measures it; nil for hardware, whose own delay is exact. Constant.
    var serverLatency: ServerLatency? { get }

    /// Returns the device's state; all values belong to the same instant.
    func readState() -> PlayoutDeviceReading
    /// Writes frames to the queue, at most those that fit; returns their number or the failure.
    func write(_ samples: UnsafePointer<Float>, frames: Int) -> PlayoutDeviceResult
    /// Starts draining the queue; no effect if it is running.
    func start()
    /// Removes the newest frames from the queue; returns their number.
    func rewind(_ frames: Int) -> Int
    /// Discards the whole queue, which silences the device at once, and prepares it for new frames. Returns false if
    /// the device is not ready.
    func discard() -> Bool
    /// Prepares the device after an underrun or a suspend; returns false if the caller has to retry later.
    func recover() -> Bool
}

/// The state of a device at one instant.
package struct PlayoutDeviceReading: Sendable, BitwiseCopyable {
    /// The state of the queue.
    package enum State: UInt8, Sendable, BitwiseCopyable {
        /// Filled or being filled, not draining.
        case prepared
        /// Draining.
        case running
        /// The queue ran empty.
        case underrun
        /// The machine or the device was suspended.
        case suspended
        /// Permanently lost: unplugged, or the server ended.
        case lost
    }

    /// The state of the queue.
    var state: State
    /// The number of frames that can be written now.
    var free: Int
    /// The number of frames between the next written frame and the listener, at most `maxDelay`. Negative where a
    /// desktop's latency offset exceeds the device's own delay.
    var delay: Int
    /// When the other values were read.
    var instant: HostInstant

    /// A minute at 192 kHz: a sound server may state any number.
    static let maxDelay = 60 * 192_000

    /// Creates a reading.
    package init(state: State, free: Int, delay: Int, instant: HostInstant) {
        self.state = state
        self.free = free
        self.delay = max(-Self.maxDelay, min(Self.maxDelay, delay))
        self.instant = instant
    }
}

/// The result of a write to a device.
package enum PlayoutDeviceResult: Sendable, Equatable {
    /// The number of frames written.
    case wrote(Int)
    /// The queue ran empty.
    case underrun
    /// The machine or the device was suspended.
    case suspended
    /// The device is permanently lost.
    case lost
}
