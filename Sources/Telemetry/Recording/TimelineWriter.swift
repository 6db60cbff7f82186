internal import Glibc
internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Writes the flight recorder's lines: one flat JSON object each, `docs/guides/timeline.md` names the fields. All
/// instants are nanoseconds of CLOCK_MONOTONIC (`…_ns`), film times and durations seconds.
///
/// Used by the recorder's thread alone. When writing fails it stops writing for good and says why once.
struct TimelineWriter: ~Copyable {
    /// Raised when a field changes its meaning.
    static let formatVersion = 1

    private let file: TimelineFile
    private var buffer = LineBuffer()
    private var isBroken = false
    /// Set by the call that failed; the owner takes it.
    private(set) var complaint: String?

    /// Writes the head line.
    init(file: consuming TimelineFile, at instant: HostInstant) {
        self.file = file
        buffer.line {
            $0.add("event", "timeline")
            $0.add("host_ns", instant)
            $0.add("version", Self.formatVersion)
            $0.add("clock", "CLOCK_MONOTONIC")
            $0.add("program", text: "talkie \(Release.version)")
        }
    }

    mutating func write(_ entry: EventLog.Entry) {
        line(entry.event.timelineName, at: entry.at) { entry.event.write(into: &$0) }
    }

    mutating func write(_ remark: TimelineRemark, at instant: HostInstant) {
        switch remark {
        case .film(let name): line("film", at: instant) { $0.add("name", text: name) }
        case .joint(let name, let moment, let origin):
            line("film", at: instant) {
                $0.add("name", text: name)
                $0.add("film", moment)
                $0.add("origin", origin)
            }
        case .loop(let moment, let origin):
            line("loop", at: instant) {
                $0.add("film", moment)
                $0.add("origin", origin)
            }
        case .phase(let phase): line("state", at: instant) { $0.add("phase", text: phase) }
        case .route(let index, let name, let kind):
            line("route", at: instant) {
                $0.add("route", index)
                $0.add("state", "opened")
                $0.add("name", text: name)
                $0.add("kind", text: kind)
            }
        case .audioDelay(let delay): line("delay", at: instant) { $0.add("wanted", delay) }
        case .calibration(let index, let correction, let isExact):
            line("calibration", at: instant) {
                $0.add("route", index)
                $0.add("wanted", correction)
                if isExact { $0.add("profile", "exact") } else { $0.add("profile", "similar") }
            }
        case .share(let index, let share):
            line("share", at: instant) {
                $0.add("route", index)
                $0.add("share", text: share.name)
                $0.add("delay", share.milliseconds / 1000)
                $0.add("uncertainty", share.uncertainty / 1000)
                $0.add("source", text: share.source)
            }
        case .screen(let mode): line("screen", at: instant) { $0.add("mode", text: mode) }
        }
    }

    /// Events that found the queue full; the record has a hole here.
    mutating func write(lost count: Int, at instant: HostInstant) {
        line("lost", at: instant) { $0.add("count", count) }
    }

    /// Hands everything to the kernel, or to a pipe as much as it takes: a reader who does not read holds nobody up.
    mutating func flush(waiting patience: Duration = .zero) {
        guard !isBroken, let code = buffer.flush(to: file.descriptor, waiting: patience) else { return }
        isBroken = true
        let reason = code == EAGAIN ? "nobody reads it" : SystemCause.text(code)
        complaint = "the timeline '\(file.path)' cannot be written further (\(reason)); the film goes on without it"
    }

    /// How long a reader is given to take the last lines.
    private static let lastPatience = Duration.milliseconds(200)

    /// The last line, which says that the run did not break off.
    mutating func finish(at instant: HostInstant) {
        line("end", at: instant) { _ in }
        flush(waiting: Self.lastPatience)
    }

    mutating func takeComplaint() -> String? {
        defer { complaint = nil }
        return complaint
    }

    private mutating func line(_ name: StaticString, at instant: HostInstant, _ body: (inout JSONLine) -> Void) {
        guard !isBroken else { return }
        buffer.line {
            $0.add("event", name)
            $0.add("host_ns", instant)
            body(&$0)
        }
        if buffer.isFull { flush() }
    }
}

extension RenderEvent {
    /// The line's kind in the timeline.
    fileprivate var timelineName: StaticString {
        switch self {
        case .frame: "frame"
        case .framesDropped: "drop"
        case .anchor, .audioHeard, .speakerAnchored: "anchor"
        case .steered: "steer"
        case .startWaits: "wait"
        case .resumed: "resumed"
        case .audioAccepted: "audio"
        case .audioDrift: "drift"
        case .latency: "latency"
        case .underrun: "underrun"
        case .outputLost, .outputRestored, .outputMoved, .outputJoined, .outputLeft: "route"
        case .clock: "clock"
        }
    }

    fileprivate func write(into line: inout JSONLine) {
        switch self {
        case .frame(let pts, let target, let presented):
            line.add("pts", pts)
            line.add("target_ns", target)
            line.add("presented_ns", presented)
        case .framesDropped(let count, let time, let reason):
            line.add("count", count)
            line.add("film", time)
            switch reason {
            case .late: line.add("reason", "late")
            case .skippedDecoding: line.add("reason", "skipped")
            }
        case .anchor(let media, let host, let rate, let generation):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("rate", rate)
            line.add("generation", Int(truncatingIfNeeded: generation))
        case .audioHeard(let media, let host, let output):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("route", output.index)
        case .speakerAnchored(let media, let host, let clock, let output):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("ptp_ns", Int(clock.nanoseconds))
            line.add("route", output.index)
        case .steered(let media, let host, let rate, let speed, let late):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("rate", rate)
            line.add("speed", speed)
            line.add("late", late)
        case .startWaits(let cause, let output):
            switch cause {
            case .opening: line.add("cause", "opening")
            case .clock: line.add("cause", "clock")
            case .ownDelay: line.add("cause", "delay")
            case .sound: line.add("cause", "sound")
            case .picture: line.add("cause", "picture")
            case .material: line.add("cause", "material")
            }
            if let output { line.add("route", output.index) }
        case .resumed(let asleep): line.add("suspended", asleep)
        case .audioAccepted(let until, let ahead, let output):
            line.add("until", until)
            line.add("ahead", ahead)
            line.add("route", output.index)
        case .audioDrift(let error, let correction, let output):
            line.add("error", error)
            line.add("ppm", correction)
            line.add("route", output.index)
        case .latency(let delay, let output):
            line.add("delay", delay)
            line.add("route", output.index)
        case .underrun(let missing, let output):
            line.add("missing", missing)
            line.add("route", output.index)
        case .outputLost(let output):
            line.add("route", output.index)
            line.add("state", "lost")
        case .outputRestored(let output):
            line.add("route", output.index)
            line.add("state", "restored")
        case .outputMoved(let output):
            line.add("route", output.index)
            line.add("state", "moved")
        case .outputJoined(let output, let media, let host):
            line.add("route", output.index)
            line.add("state", "joined")
            line.add("film", media)
            line.add("anchor_ns", host)
        case .outputLeft(let output, let media, let host):
            line.add("route", output.index)
            line.add("state", "left")
            line.add("film", media)
            line.add("anchor_ns", host)
        case .clock(let state, let output):
            line.add("route", output.index)
            switch state {
            case .cold: line.add("state", "cold")
            case .probing: line.add("state", "probing")
            case .ready: line.add("state", "ready")
            case .stalled: line.add("state", "stalled")
            case .doubted: line.add("state", "doubted")
            }
        }
    }
}
