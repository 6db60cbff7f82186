internal import MediaCore

/// The times of a recording in `REC.wav.json`: `{"sample_rate": N, "anchors": [{"frame": N, "monotonic_ns": N}]}`.
///
/// Frame `frame` was recorded at `monotonic_ns` on CLOCK_MONOTONIC. Other members are ignored.
package enum RecordingSidecar {
    /// Maximum size of a file in bytes.
    package static let largestFile = 16 << 20
    private static let maxAnchors = 100_000

    package struct Content: Equatable {
        /// Frames per second; nil if not stated.
        package var sampleRate: Int?
        /// The host times; never empty.
        package var anchors: [Recording.Anchor]
    }

    /// Parses a file. Returns nil if it is not valid.
    package static func read(_ bytes: [UInt8]) -> Content? {
        bytes.withUnsafeBytes { raw in
            guard let object = JSONNode(object: raw, maxElements: largestFile / 8),
                let list = object.objects("anchors", maxCount: maxAnchors)
            else { return nil }
            let anchors = list.compactMap { anchor -> Recording.Anchor? in
                guard let instant = anchor.integer("monotonic_ns"), let real = anchor.real("frame"),
                    let frame = Int64(bounded: real.rounded(), in: -1_000_000_000_000...1_000_000_000_000),
                    (0...(1 << 62)).contains(instant)
                else { return nil }
                return Recording.Anchor(frame: frame, instant: HostInstant(nanoseconds: instant))
            }
            guard !anchors.isEmpty else { return nil }
            let rate = (object.integer("sample_rate") ?? object.integer("rate")).flatMap { Int(exactly: $0) }
            return Content(sampleRate: rate, anchors: anchors)
        }
    }

    /// Returns the file for a recording.
    package static func text(_ recording: Recording) -> String {
        let anchors = recording.anchors.map {
            JSONValue.object([
                ("frame", .integer(Int($0.frame))), ("monotonic_ns", .integer(Int($0.instant.nanoseconds))),
            ])
        }
        return JSONValue.object([("sample_rate", .integer(recording.sampleRate)), ("anchors", .array(anchors))])
            .formatted
    }
}
