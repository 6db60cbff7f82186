internal import Glibc
package import MediaCore

/// What a software speaker wrote down (`talkie speaker --record`): which frames it sounded when, on this computer's
/// monotonic clock. Read whole; the newest lines beyond a limit are left out.
package struct HeardRecord {
    /// A moment of sound: when, and how far from the anchor in force.
    package struct Point {
        package var instant: Int64
        /// What the sender said: the anchored frame is heard at this instant of the sender's timeline.
        var anchoredAt: Int64
        /// Seconds of sound from the anchored frame on.
        package var seconds: Double
    }

    private struct Span {
        package var instant: Int64
        package var position: UInt32
        var frames: Int64
        package var rate: Int64
    }

    private struct Anchor {
        var received: Int64
        package var position: UInt32
        package var instant: Int64

        package init(received: Int64, position: UInt32, instant: Int64) {
            self.received = received
            self.position = position
            self.instant = instant
        }
    }

    /// Spans, anchors and underruns each; a good day has 1440 spans.
    package static let limit = 20_000
    /// A speaker writes after a minute at the latest.
    private static let longestSpan: Int64 = 120
    /// Looks at a span so often.
    private static let looksPerSecond: Int64 = 10
    /// A rate that no speaker has would make a look of nothing.
    private static let rates: ClosedRange<Int64> = 8000...384_000

    private var spans: [Span] = []
    private var anchors: [Anchor] = []
    private var underruns: [Int64] = []
    private var spanIndex = 0
    private var look: Int64 = 0
    private var anchorIndex = -1
    private var underrunIndex = 0

    /// - Throws: status 66 when it cannot be read or holds nothing that was heard.
    package init(reading path: String) throws(TalkieError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Self.failure("the speaker's record '\(path)' cannot be opened (\(SystemCause.text(errno)))")
        }
        defer { close(descriptor) }
        var reader = LineReader()
        var parser = FlatJSON()
        var record = HeardRecord()
        let code = reader.read(descriptor: descriptor) { bytes, _ in
            if parser.parse(bytes) { record.add(FlatObject(bytes: bytes, json: parser)) }
        }
        if let code {
            throw Self.failure("the speaker's record '\(path)' cannot be read (\(SystemCause.text(code)))")
        }
        guard !record.spans.isEmpty else {
            throw TalkieError(.cannotOpen, "'\(path)' tells of nothing heard", remedy: .recordSpeaker)
        }
        record.order()
        self = record
    }

    package init() {}

    private static func failure(_ message: String) -> TalkieError {
        TalkieError(.cannotOpen, message + "; check its name")
    }

    /// Takes what a line says; what is no line of such a record is left out. `order` follows the last one.
    package mutating func add(_ object: FlatObject) {
        guard let kind = object.word("event"), let instant = object.whole("host_ns"), instant >= 0 else { return }
        switch kind {
        case "heard":
            guard spans.count < Self.limit, let position = object.whole("rtp").flatMap(UInt32.init(exactly:)),
                let frames = object.whole("frames"), let rate = object.whole("rate"), Self.rates.contains(rate),
                (1...rate * Self.longestSpan).contains(frames)
            else { return }
            spans.append(Span(instant: instant, position: position, frames: frames, rate: rate))
        case "anchor":
            guard anchors.count < Self.limit, let position = object.whole("rtp").flatMap(UInt32.init(exactly:)),
                let anchored = object.whole("ptp_ns")
            else { return }
            anchors.append(Anchor(received: instant, position: position, instant: anchored))
        case "underrun": if underruns.count < Self.limit { underruns.append(instant) }
        default: break
        }
    }

    /// Spans are written when they end.
    package mutating func order() {
        spans.sort { $0.instant < $1.instant }
        anchors.sort { $0.received < $1.received }
        underruns.sort()
        keepHoles()
    }

    /// Sound that ran out and went on later on the same line left a hole; the end of a film is none.
    private mutating func keepHoles() {
        var (span, anchor) = (0, 0)
        underruns.removeAll { moment in
            while span < spans.count, spans[span].instant < moment { span += 1 }
            while anchor < anchors.count, anchors[anchor].received < moment { anchor += 1 }
            guard span < spans.count else { return true }
            return anchor < anchors.count && anchors[anchor].received <= spans[span].instant
        }
    }

    /// The next moment up to an instant, in order; nil when there is none.
    package mutating func next(until instant: Int64) -> Point? {
        while spanIndex < spans.count {
            let span = spans[spanIndex]
            let frames = look * span.rate / Self.looksPerSecond
            guard frames < span.frames else {
                spanIndex += 1
                look = 0
                continue
            }
            let (heard, overflow) = span.instant.addingReportingOverflow(look * (1_000_000_000 / Self.looksPerSecond))
            guard !overflow, heard <= instant else { return nil }
            look += 1
            while anchorIndex + 1 < anchors.count, anchors[anchorIndex + 1].received <= heard { anchorIndex += 1 }
            guard anchorIndex >= 0 else { continue }
            let anchor = anchors[anchorIndex]
            // How often timestamps have gone round since the anchor came, the time tells that has passed.
            let passed = (heard - anchor.received) / 1_000_000_000 * span.rate
            let distance = RTPTimestamp(rawValue: anchor.position).distance(
                to: RTPTimestamp(rawValue: span.position).advanced(byFrames: frames), near: passed)
            return Point(instant: heard, anchoredAt: anchor.instant, seconds: Double(distance) / Double(span.rate))
        }
        return nil
    }

    /// Whether the speaker ran dry before an instant, once for each time.
    mutating func takesUnderrun(until instant: Int64) -> Bool {
        guard underrunIndex < underruns.count, underruns[underrunIndex] <= instant else { return false }
        underrunIndex += 1
        return true
    }
}
