internal import MediaCore

/// What a decoder must do again by itself when its device fails: everything since the picture group before the present one, because
/// pictures of that one may still be inside.
struct HardwareReplay {
    /// What is kept at most; a film of 80 Mbit/s with a sync picture each second needs a third of it.
    static let most = 64 << 20

    private var groups: [[SampleBuffer]] = [[]]
    private var bytes = 0
    /// More came than is kept: what follows can be decoded from the next sync picture on only.
    private(set) var isBroken = false
    /// Failures since the last picture.
    var failures = 0
    /// Film time up to which pictures were handed out.
    var shownUntil: MediaTime?

    var buffers: [SampleBuffer] { isBroken ? [] : Array(groups.joined()) }

    mutating func note(_ buffer: SampleBuffer) {
        guard case .encodedVideo(_, let batch) = buffer.payload else { return }
        if buffer.flags.contains(.sync) {
            if groups.count > 1 { bytes -= Self.size(groups.removeFirst()) }
            if isBroken { forget() }
            groups.append([])
        }
        guard !isBroken else { return }
        groups[groups.count - 1].append(buffer)
        bytes += batch.byteCount
        if bytes > Self.most {
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
