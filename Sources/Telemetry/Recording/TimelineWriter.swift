internal import Glibc
internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Writes the flight recorder's lines: one flat JSON object each, `docs/guides/timeline.md` names the fields. All
/// instants are nanoseconds of CLOCK_MONOTONIC (`…_ns`), film times and durations seconds.
///
/// Used by the recorder's thread alone. A full disk ends the writing for as long as it is full; any other failure ends it for good. Each is
/// told once.
struct TimelineWriter: ~Copyable {
    /// Raised when a field changes its meaning.
    static let formatVersion = 1

    private var file: TimelineFile
    private var buffer: LineBuffer
    private var state = State.writing
    /// A sentence for people since the owner took the last one.
    private(set) var complaint: String?
    /// What the next file has to begin with; kept only where there will be one, or after a pause.
    private var context = TimelineContext()
    private var part = 1
    private var partBegan: HostInstant
    /// Bytes of the present file after the last whole piece.
    private var whole = 0

    private enum State {
        case writing
        /// The disk is full: how many lines are missing, what of them a reader has to know, and when it is tried again.
        case paused(missing: Int, known: TimelineContext, until: HostInstant)
        case broken
    }

    /// Writes the head line.
    ///
    /// - Parameter write: write(2).
    init(
        file: consuming TimelineFile, at instant: HostInstant,
        write: @escaping LineBuffer.Write = { Glibc.write($0, $1, $2) }
    ) {
        self.file = file
        buffer = LineBuffer(write: write)
        partBegan = instant
        head(at: instant)
    }

    private mutating func head(at instant: HostInstant) {
        let number = file.rotation == nil ? nil : part
        buffer.line {
            $0.add("event", "timeline")
            $0.add("host_ns", instant)
            $0.add("version", Self.formatVersion)
            $0.add("clock", "CLOCK_MONOTONIC")
            $0.add("program", text: "talkie \(Release.version)")
            if let number { $0.add("part", number) }
        }
    }

    mutating func write(_ entry: EventLog.Entry) {
        note { $0.note(entry) }
        add(entry, at: entry.at)
    }

    mutating func write(_ remark: TimelineRemark, at instant: HostInstant) {
        note { $0.note(remark, at: instant) }
        add(remark, at: instant)
    }

    private mutating func note(_ body: (inout TimelineContext) -> Void) {
        if file.rotation != nil { body(&context) }
        if case .paused(let missing, var known, let until) = state {
            body(&known)
            state = .paused(missing: missing, known: known, until: until)
        }
    }

    private mutating func add(_ entry: EventLog.Entry, at instant: HostInstant) {
        line(entry.event.timelineName, at: instant) { entry.event.write(into: &$0) }
    }

    private mutating func add(_ remark: TimelineRemark, at instant: HostInstant) {
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
    ///
    /// - Parameter instant: now, by the clock of the events.
    mutating func flush(at instant: HostInstant, waiting patience: Duration = .zero) {
        guard case .writing = state else { return }
        guard let code = buffer.flush(to: file.descriptor, waiting: patience) else {
            whole = buffer.written
            return
        }
        guard code == ENOSPC || code == EDQUOT else {
            let reason = code == EAGAIN ? "nobody reads it" : SystemCause.text(code)
            complaint = "the timeline '\(file.path)' cannot be written further (\(reason)); the film goes on without it"
            state = .broken
            return
        }
        // Half a line would be taken for one.
        cutBack()
        complaint =
            "the timeline '\(file.path)' cannot be written further (\(SystemCause.text(code))); the film goes on without it,"
            + " and it is written again when there is room"
        state = .paused(
            missing: buffer.dropped, known: TimelineContext(), until: instant.advanced(by: Self.pause))
    }

    private mutating func cutBack() {
        if ftruncate(file.descriptor, whole) == 0 { lseek(file.descriptor, whole, Int32(SEEK_SET)) }
        buffer.written = whole
    }

    /// Until a disk that was full is tried again.
    static let pause = Duration.seconds(10)

    /// Does what time brings: writes what waits, begins another file, tries a disk again that was full. Once a second or so.
    mutating func attend(at instant: HostInstant) {
        switch state {
        case .broken: break
        case .writing:
            flush(at: instant)
            turnOverIfDue(at: instant)
        case .paused(let missing, let known, let until):
            guard instant >= until else { return }
            resume(missing, known, at: instant)
        }
    }

    private mutating func resume(_ missing: Int, _ known: TimelineContext, at instant: HostInstant) {
        let complained = complaint
        if lacksFile, file.turnOver() != nil {
            state = .paused(missing: missing, known: known, until: instant.advanced(by: Self.pause))
            return
        }
        state = .writing
        // The file begins with what a reader has to know, or its line is behind what the disk took.
        if lacksFile { beginPart(at: instant) } else { restate(known, isAgain: false) }
        lacksFile = false
        write(lost: missing, at: instant)
        flush(at: instant)
        if case .paused(_, _, let until) = state {
            // Told already.
            complaint = complained
            state = .paused(missing: missing, known: known, until: until)
        } else if case .writing = state {
            complaint = "the timeline '\(file.path)' is written again; \(missing) events are missing"
        }
    }

    private mutating func turnOverIfDue(at instant: HostInstant) {
        guard case .writing = state, let rotation = file.rotation else { return }
        let isLarge = rotation.maxSize.map { buffer.written >= $0 } ?? false
        let isOld = rotation.maxAge.map { instant - partBegan >= $0 } ?? false
        guard isLarge || isOld else { return }
        let next = part + 1
        line("end", at: instant) { $0.add("next", next) }
        flush(at: instant)
        guard case .writing = state else { return }
        if let code = file.turnOver() {
            complaint =
                "the timeline '\(file.path)' cannot begin another file (\(SystemCause.text(code))); the film goes on without"
                + " it, and it is written again when that can be"
            lacksFile = true
            state = .paused(missing: 0, known: TimelineContext(), until: instant.advanced(by: Self.pause))
            return
        }
        beginPart(at: instant)
        flush(at: instant)
    }

    private mutating func beginPart(at instant: HostInstant) {
        part += 1
        (partBegan, whole, buffer.written) = (instant, 0, 0)
        head(at: instant)
        restate(context, isAgain: true, at: instant)
    }

    /// - Parameters:
    ///   - isAgain: the file before has it, too.
    ///   - instant: nil for when it was so.
    private mutating func restate(_ context: TimelineContext, isAgain: Bool, at instant: HostInstant? = nil) {
        isRestating = isAgain
        for stated in context.remarks { add(stated.remark, at: instant ?? stated.instant) }
        for entry in context.entries { add(entry, at: instant ?? entry.at) }
        isRestating = false
    }

    private var isRestating = false
    /// The part so far is full, and the next one could not be made.
    private var lacksFile = false

    /// How long a reader is given to take the last lines.
    private static let lastPatience = Duration.milliseconds(200)

    /// The last line, which says that the run did not break off.
    mutating func finish(at instant: HostInstant) {
        if case .paused(let missing, let known, _) = state { resume(missing, known, at: instant) }
        line("end", at: instant) { _ in }
        flush(at: instant, waiting: Self.lastPatience)
    }

    mutating func takeComplaint() -> String? {
        defer { complaint = nil }
        return complaint
    }

    private mutating func line(_ name: StaticString, at instant: HostInstant, _ body: (inout JSONLine) -> Void) {
        switch state {
        case .broken: return
        case .paused(let missing, let known, let until):
            state = .paused(missing: missing + 1, known: known, until: until)
            return
        case .writing: break
        }
        let isAgain = isRestating
        buffer.line {
            $0.add("event", name)
            $0.add("host_ns", instant)
            body(&$0)
            if isAgain { $0.add("again", 1) }
        }
        if buffer.isFull { flush(at: instant) }
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
