internal import MediaCore

/// How far the bytes of one film are read ahead of its readers. Any thread.
final class ReadAhead: Sendable {
    private struct State {
        var isOn = false
        var bytesPerSecond: Double?
    }
    private let state = Lock(State())
    /// The maximum size of the film's store in bytes. Bytes behind the readers are part of it.
    let maxBytes: Int64
    /// The maximum duration that is read ahead.
    let maxTime: Duration

    /// Two tracks of a film are up to this far apart.
    private static let minBytes: Int64 = 1 << 20
    /// The limit of the store if it only serves to share bytes between tracks.
    private static let maxSharedBytes: Int64 = 32 << 20
    /// The limit of what remains behind the readers, for other tracks and for seeks back.
    private static let maxBytesBehind: Int64 = 16 << 20

    init(_ options: ReadOptions) {
        maxTime = max(.zero, options.readAheadTime)
        let wanted = max(Self.minBytes, Int64(options.readAheadBytes))
        maxBytes = maxTime > .zero ? wanted : min(wanted, Self.maxSharedBytes)
    }

    /// The number of bytes that may be ahead of the readers.
    var maxBytesAhead: Int64 { maxBytes - min(maxBytes / 4, Self.maxBytesBehind) }

    /// Starts reading ahead.
    func start() { state.withLock { $0.isOn = true } }

    /// Sets the average bit rate of the film: its size and duration.
    func setRate(byteCount: Int64?, duration: MediaTime?) {
        guard let byteCount, let duration, duration.seconds > 0.1 else { return }
        state.withLock { $0.bytesPerSecond = Double(byteCount) / duration.seconds }
    }

    /// The number of bytes to read ahead; 0 before `start`.
    var distance: Int64 {
        let state = state.withLock { $0 }
        guard state.isOn else { return 0 }
        // Without a known bit rate only the bytes are limited.
        guard let rate = state.bytesPerSecond else { return maxTime > .zero ? maxBytesAhead : 0 }
        return Int64(clamping: rate * maxTime.inSeconds, in: 0...maxBytesAhead)
    }

    /// Returns the duration of bytes at the film's average bit rate; nil if that is unknown.
    func duration(of bytes: Int64) -> Duration? {
        state.withLock { $0.bytesPerSecond }.flatMap { $0 > 0 ? .seconds(Double(bytes) / $0) : nil }
    }
}
