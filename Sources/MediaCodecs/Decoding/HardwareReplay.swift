internal import MediaCore

/// The buffers to decode again in software after a hardware failure: everything from the
/// previous sync frame's group on.
///
/// Frames of that group can still be inside the decoder.
struct HardwareReplay {
    /// Maximum size in bytes; 80 Mbit/s with a sync frame per second needs a third of it.
    static let maxBytes = 64 << 20

    private var groups: [[SampleBuffer]] = [[]]
    private var bytes = 0
    /// Whether the limit was exceeded: decoding can only resume at the next sync frame.
    private(set) var isBroken = false
    /// Failures since the last returned frame.
    var failures = 0
    /// Media time of the end of the last returned frame.
    var shownUntil: MediaTime?

    var buffers: [SampleBuffer] { isBroken ? [] : Array(groups.joined()) }

    mutating func append(_ buffer: SampleBuffer) {
        guard case .encodedVideo(_, let batch) = buffer.payload else { return }
        if buffer.flags.contains(.sync) {
            if groups.count > 1 { bytes -= Self.size(groups.removeFirst()) }
            if isBroken { forget() }
            groups.append([])
        }
        guard !isBroken else { return }
        groups[groups.count - 1].append(buffer)
        bytes += batch.byteCount
        if bytes > Self.maxBytes {
            forget()
            isBroken = true
        }
    }

    mutating func forget() {
        groups = [[]]
        (bytes, isBroken, failures) = (0, false, 0)
    }

    private static func size(_ buffers: [SampleBuffer]) -> Int {
        buffers.reduce(0) { sum, buffer in
            guard case .encodedVideo(_, let batch) = buffer.payload else { return sum }
            return sum + batch.byteCount
        }
    }
}
