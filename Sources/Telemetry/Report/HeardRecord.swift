internal import Glibc
import MediaCore

/// The record of a software speaker (`talkie speaker --record`): which frames were audible when.
///
/// Times are nanoseconds of this computer's monotonic clock. Read completely; lines beyond a limit are dropped.
struct HeardRecord {
    /// A sample of audible sound: its time, and its distance from the anchor in force.
    struct Point {
        /// When it was audible, in nanoseconds.
        var instant: Int64
        /// The time of the anchor on the sender's timeline, in nanoseconds.
        var anchoredAt: Int64
        /// Seconds of audio from the anchored frame.
        var seconds: Double
    }

    /// A reported anchor of an output: media time `film` is audible at `anchor`.
    struct Claim {
        /// Media time in seconds.
        var film: Double
        /// Host time in nanoseconds, or the time on the speaker's clock.
        var anchor: Int64
        /// The index of the output.
        var route: Int64
    }

    private struct Span {
        var instant: Int64
        var position: UInt32
        var frames: Int64
        var rate: Int64
    }

    private struct Anchor {
        var received: Int64
        var position: UInt32
        var instant: Int64
    }

    /// Maximum number of spans, of anchors and of underruns; a day without underruns has 1440 spans.
    static let limit = 20_000
    /// Maximum number of claims; anchors of the record refer to the newest.
    private static let maxClaims = 64
    /// Tolerance in nanoseconds: wire timestamps are rounded to 2⁻⁶⁴ s, by some senders to microseconds.
    private static let sameInstant: UInt64 = 1000
    /// Maximum duration of a span in seconds; a speaker writes a span at least once a minute.
    private static let longestSpan: Int64 = 120
    /// Samples per second of a span.
    private static let looksPerSecond: Int64 = 10
    /// Valid sample rates; others would break the arithmetic.
    private static let rates: ClosedRange<Int64> = 8000...384_000

    private var spans: [Span] = []
    private var anchors: [Anchor] = []
    private var underruns: [Int64] = []
    /// Anchors reported by the player, newest last; they relate the record to media time.
    private var claims: [Claim] = []
    private var spanIndex = 0
    private var look: Int64 = 0
    private var anchorIndex = -1
    private var underrunIndex = 0

    /// Reads a record.
    ///
    /// - Throws: Status 66 if it cannot be read or contains no sound.
    init(reading path: String) throws(TalkieError) {
        let descriptor = open(path.systemPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Self.failure("the speaker's record '\(path)' cannot be opened (\(SystemCause.text(errno)))")
        }
        defer { close(descriptor) }
        var reader = LineReader()
        var parser = JSONReader()
        var record = HeardRecord()
        let code = reader.read(descriptor: descriptor) { bytes, _ in
            if let object = parser.read(bytes) { record.add(object) }
        }
        if let code {
            throw Self.failure("the speaker's record '\(path)' cannot be read (\(SystemCause.text(code)))")
        }
        guard !record.spans.isEmpty else {
            throw TalkieError(.cannotOpen, "'\(path)' contains no audio", remedy: .recordSpeaker)
        }
        record.order()
        self = record
    }

    init() {}

    private static func failure(_ message: String) -> TalkieError {
        TalkieError(.cannotOpen, message + "; check its name")
    }

    /// Adds a line; others than those of such a record are ignored. `order` must follow the last line.
    mutating func add(_ object: JSONNode) {
        guard let kind = object.rawString("event"), let instant = object.integer("host_ns"), instant >= 0 else {
            return
        }
        switch kind {
        case "heard":
            guard spans.count < Self.limit, let position = object.integer("rtp").flatMap(UInt32.init(exactly:)),
                let frames = object.integer("frames"), let rate = object.integer("rate"), Self.rates.contains(rate),
                (1...rate * Self.longestSpan).contains(frames)
            else { return }
            spans.append(Span(instant: instant, position: position, frames: frames, rate: rate))
        case "anchor":
            guard anchors.count < Self.limit, let position = object.integer("rtp").flatMap(UInt32.init(exactly:)),
                let anchored = object.integer("ptp_ns")
            else { return }
            anchors.append(Anchor(received: instant, position: position, instant: anchored))
        case "underrun": if underruns.count < Self.limit { underruns.append(instant) }
        default: break
        }
    }

    /// Sorts the lines: spans are written when they end.
    mutating func order() {
        spans.sort { $0.instant < $1.instant }
        anchors.sort { $0.received < $1.received }
        underruns.sort()
        discardUnresumedHoles()
    }

    /// Keeps only underruns after which sound resumed on the same anchor; the end of a film is not one.
    private mutating func discardUnresumedHoles() {
        var (span, anchor) = (0, 0)
        underruns.removeAll { moment in
            while span < spans.count, spans[span].instant < moment { span += 1 }
            while anchor < anchors.count, anchors[anchor].received < moment { anchor += 1 }
            guard span < spans.count else { return true }
            return anchor < anchors.count && anchors[anchor].received <= spans[span].instant
        }
    }

    /// Returns the next sample up to an instant, in order; nil if there is none.
    mutating func next(until instant: Int64) -> Point? {
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
            // The elapsed time resolves how often the timestamps have wrapped since the anchor.
            let passed = (heard - anchor.received) / 1_000_000_000 * span.rate
            let distance = RTPTimestamp(rawValue: anchor.position).distance(
                to: RTPTimestamp(rawValue: span.position).advanced(byFrames: frames), near: passed)
            return Point(instant: heard, anchoredAt: anchor.instant, seconds: Double(distance) / Double(span.rate))
        }
        return nil
    }

    /// Adds an anchor that the player has reported.
    mutating func add(_ claim: Claim) {
        if claims.count >= Self.maxClaims { claims.removeFirst() }
        claims.append(claim)
    }

    /// Returns the newest claim with the anchor of a sample; nil if there is none.
    func claim(for point: Point) -> Claim? {
        claims.last {
            let (difference, overflow) = $0.anchor.subtractingReportingOverflow(point.anchoredAt)
            return !overflow && difference.magnitude <= Self.sameInstant
        }
    }

    /// Returns the output of the next underrun up to an instant: that of the newest claim. Drops underruns before the
    /// first claim; nil if there is no other.
    mutating func nextUnderrun(until instant: Int64) -> Int64? {
        while underrunIndex < underruns.count, underruns[underrunIndex] <= instant {
            underrunIndex += 1
            if let route = claims.last?.route { return route }
        }
        return nil
    }
}
