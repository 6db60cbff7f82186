internal import Glibc
internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Writes the lines of the flight recorder: one flat JSON object each, see `docs/guides/timeline.md`.
///
/// Instants are nanoseconds of CLOCK_MONOTONIC (`…_ns`), media times and durations are seconds. Used by the recorder
/// thread only. A full disk pauses writing; any other failure ends it. Each is reported once.
struct TimelineWriter: ~Copyable {
    /// The version of the format; incremented when a field changes its meaning.
    static let formatVersion = 1

    private var file: TimelineFile
    private var buffer: LineBuffer
    private var state = State.writing
    /// A message for the user since the last `consumeComplaint`.
    private(set) var complaint: String?
    /// `context`: what the next file begins with. `recent`: the part of it not yet written to disk.
    private var context = TimelineContext()
    private var recent = TimelineContext()
    private var fileNumber = 1
    private var fileBegan: HostInstant
    /// Size of the current file in bytes after the last complete write.
    private var writtenCount = 0

    private enum State {
        case writing
        /// The disk is full: the number of missing lines, and when to retry.
        case paused(missing: Int, until: HostInstant)
        case broken
    }

    /// Writes the first line.
    ///
    /// - Parameter write: write(2); tests replace it.
    init(
        file: consuming TimelineFile, at instant: HostInstant,
        write: @escaping LineBuffer.Write = { Glibc.write($0, $1, $2) }
    ) {
        self.file = file
        buffer = LineBuffer(write: write)
        fileBegan = instant
        head(at: instant)
    }

    private mutating func head(at instant: HostInstant) {
        let number = file.rotation == nil ? nil : fileNumber
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
        updateContext { $0.record(entry) }
        add(entry, at: entry.at)
    }

    mutating func write(_ remark: TimelineRemark, at instant: HostInstant) {
        updateContext { $0.record(remark, at: instant) }
        add(remark, at: instant)
    }

    private mutating func updateContext(_ body: (inout TimelineContext) -> Void) {
        body(&context)
        body(&recent)
    }

    private mutating func add(_ entry: EventLog.Entry, at instant: HostInstant) {
        line(entry.event.timelineName, at: instant) { entry.event.write(into: &$0) }
    }

    private mutating func add(_ remark: TimelineRemark, at instant: HostInstant) {
        switch remark {
        case .film(let name): line("film", at: instant) { $0.add("name", text: name) }
        case .gaplessBoundary(let name, let time, let origin):
            line("film", at: instant) {
                $0.add("name", text: name)
                $0.add("film", time)
                $0.add("origin", origin)
            }
        case .loop(let time, let origin):
            line("loop", at: instant) {
                $0.add("film", time)
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

    /// Records the number of events lost to a full log.
    mutating func write(lost count: Int, at instant: HostInstant) {
        line("lost", at: instant) { $0.add("count", count) }
    }

    /// Writes all lines, or as many as a pipe accepts: a slow reader does not block.
    ///
    /// - Parameter instant: The current time on the clock of the events.
    mutating func flush(at instant: HostInstant, waiting timeout: Duration = .zero) {
        guard case .writing = state else { return }
        guard let code = buffer.flush(to: file.descriptor, waiting: timeout) else {
            writtenCount = buffer.written
            recent = TimelineContext()
            return
        }
        guard code == ENOSPC || code == EDQUOT else {
            let reason = code == EAGAIN ? "it has no reader" : SystemCause.text(code)
            complaint =
                "the timeline '\(file.path)' can no longer be written (\(reason)); the film continues without it"
            state = .broken
            return
        }
        // Removes an incomplete line.
        cutBack()
        if trouble == nil {
            complaint =
                "the timeline '\(file.path)' can no longer be written (\(SystemCause.text(code))); the film continues without it,"
                + " and writing resumes when there is space"
        }
        trouble = Trouble(missing: trouble?.missing ?? 0)
        state = .paused(missing: buffer.dropped, until: instant.advanced(by: Self.pause))
    }

    private mutating func cutBack() {
        if ftruncate(file.descriptor, writtenCount) == 0 { lseek(file.descriptor, writtenCount, Int32(SEEK_SET)) }
        buffer.written = writtenCount
    }

    /// Time between retries while the disk is full.
    static let pause = Duration.seconds(10)

    /// Flushes, rotates if due, and retries a full disk. Called about once a second.
    mutating func performDueWork(at instant: HostInstant) {
        switch state {
        case .broken: break
        case .writing:
            flush(at: instant)
            reportRelief(at: instant)
            turnOverIfDue(at: instant)
        case .paused(let missing, let until):
            if instant >= until { resume(missing, at: instant) }
        }
    }

    private mutating func resume(_ missing: Int, at instant: HostInstant) {
        if lacksFile {
            guard file.turnOver() == nil else {
                state = .paused(missing: missing, until: instant.advanced(by: Self.pause))
                return
            }
            lacksFile = false
            (fileNumber, fileBegan, writtenCount, buffer.written) = (fileNumber + 1, instant, 0, 0)
        }
        state = .writing
        if writtenCount == 0 { begin(at: instant) }
        restate(recent, isAgain: false)
        write(lost: missing, at: instant)
        flush(at: instant)
        if case .paused(_, let until) = state {
            state = .paused(missing: missing, until: until)
        } else if case .writing = state {
            trouble = Trouble(missing: (trouble?.missing ?? 0) + missing, resumed: instant)
        }
    }

    /// Reports the end of a pause only after `relief`, so that a disk that is nearly full
    /// does not cause repeated messages.
    private mutating func reportRelief(at instant: HostInstant) {
        guard let since = trouble?.resumed, let missing = trouble?.missing, instant - since >= Self.relief else {
            return
        }
        complaint = "the timeline '\(file.path)' is written again; \(missing) events are missing"
        trouble = nil
    }

    /// Time of uninterrupted writing after which the end of a pause is reported.
    static let relief = Duration.seconds(30)

    private mutating func turnOverIfDue(at instant: HostInstant) {
        guard case .writing = state, let rotation = file.rotation else { return }
        let isLarge = rotation.maxSize.map { buffer.written >= $0 } ?? false
        let isOld = rotation.maxAge.map { instant - fileBegan >= $0 } ?? false
        guard isLarge || isOld else { return }
        let next = fileNumber + 1
        line("end", at: instant) { $0.add("next", next) }
        flush(at: instant)
        guard case .writing = state else { return }
        if let code = file.turnOver() {
            if trouble == nil {
                complaint =
                    "the timeline '\(file.path)' cannot start another file (\(SystemCause.text(code))); the film continues without"
                    + " it, and writing resumes when that is possible"
            }
            lacksFile = true
            trouble = Trouble(missing: trouble?.missing ?? 0)
            state = .paused(missing: 0, until: instant.advanced(by: Self.pause))
            return
        }
        (fileNumber, fileBegan, writtenCount, buffer.written) = (fileNumber + 1, instant, 0, 0)
        begin(at: instant)
        flush(at: instant)
    }

    /// Writes the beginning of a file: the first line and the state recorded in earlier files.
    private mutating func begin(at instant: HostInstant) {
        head(at: instant)
        if fileNumber > 1 { restate(context, isAgain: true, at: instant) }
    }

    /// Writes a state.
    ///
    /// - Parameters:
    ///   - isAgain: Whether the previous file contains it too.
    ///   - instant: The time of the lines; nil: their original times.
    private mutating func restate(_ context: TimelineContext, isAgain: Bool, at instant: HostInstant? = nil) {
        isRestating = isAgain
        for stated in context.remarks { add(stated.remark, at: instant ?? stated.instant) }
        for entry in context.entries { add(entry, at: instant ?? entry.at) }
        isRestating = false
    }

    private var isRestating = false
    /// A reported pause whose end has not been reported.
    private var trouble: Trouble?

    private struct Trouble {
        /// The total number of missing events.
        var missing: Int
        /// When writing resumed; nil during the pause.
        var resumed: HostInstant?
    }

    /// Whether the current file is complete but the next one could not be created.
    private var lacksFile = false

    /// Maximum wait for the reader of a pipe at the end.
    private static let lastTimeout = Duration.milliseconds(200)

    /// Writes the last line, which marks a complete record.
    mutating func finish(at instant: HostInstant) {
        if case .paused(let missing, _) = state { resume(missing, at: instant) }
        line("end", at: instant) { _ in }
        flush(at: instant, waiting: Self.lastTimeout)
    }

    mutating func consumeComplaint() -> String? {
        complaint.take()
    }

    private mutating func line(_ name: StaticString, at instant: HostInstant, _ body: (inout JSONObjectWriter) -> Void)
    {
        switch state {
        case .broken: return
        case .paused(let missing, let until):
            state = .paused(missing: missing + 1, until: until)
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
