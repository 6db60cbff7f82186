internal import Glibc
package import MediaCore

/// Reads timeline files of any size in constant memory and summarizes what they report about lip sync.
package struct TimelineReport {
    /// A route that became audible or silent within a film.
    struct Change {
        /// The index of the output.
        var route: Int
        /// Media time in seconds.
        var film: Double
        var hasJoined: Bool
    }

    /// Maximum number of changes kept.
    private static let maxChanges = 100
    /// Maximum number of film names kept.
    private static let maxFilms = 100

    /// The program and version that wrote the record.
    private(set) var program = ""
    /// The names of the films.
    private(set) var films: [String] = []
    private(set) var filmCount = 0
    private(set) var screenMode: String?
    private var outputs = ReportedRoutes()
    /// The outputs; sorted by index at the end.
    var routes: [ReportedRoutes.Route] { outputs.all }
    /// The route changes within films.
    private(set) var changes: [Change] = []
    private(set) var videoError = QuantileSketch()
    private(set) var videoSeries = DecimatedSeries()
    private(set) var frames = 0
    private(set) var droppedLate = 0
    private(set) var skippedBeforeDecoding = 0
    private(set) var dropSeries = DecimatedSeries()
    private(set) var underrunSeries = DecimatedSeries()
    /// Anchors with a running rate: the first is the start, the others are seeks, resumptions and re-anchors.
    private(set) var runningAnchors = 0
    private(set) var anchorSeries = DecimatedSeries()
    /// The first start of the record.
    private(set) var firstStart = ReportedStart()
    /// The largest rate correction towards a speaker's clock in ppm; nil without one.
    private(set) var furthestBend: Double?
    /// The number of times the computer was suspended.
    private(set) var suspensions = 0
    private(set) var lostEvents = 0
    /// The last user-provided audio delay in seconds; not included in any offset.
    private(set) var delayWanted = 0.0
    private(set) var understoodLines = 0
    private(set) var garbageLines = 0
    private(set) var isCutOff = false
    /// The first format version in a file that is newer than this program's: its fields may have other meanings.
    private var newerVersion: Int64?
    /// Seconds between the earliest and the latest line.
    private(set) var seconds = 0.0

    /// The commanded timeline.
    private(set) var timeline = CommandedTimeline()
    private var origin: Int64?
    private var heads = 0
    private var parser = JSONReader()

    /// The record of a software speaker; if set it replaces the player's reports about sound.
    var heard: HeardRecord?
    /// The number of samples of the speaker's record that match a reported anchor.
    private(set) var matchedSamples = 0

    init() {}

    /// Reads a file, or standard input for `-`. Blocks.
    ///
    /// - Parameter speakerRecord: A record of `talkie speaker --record` from the same computer and time. It replaces
    ///   the player's reports about sound.
    /// - Throws: Status 66 if a file cannot be read, is not a timeline, or was written by a newer Talkie.
    init(reading path: String, speakerRecord: String? = nil) throws(TalkieError) {
        try self.init(reading: [path], speakerRecord: speakerRecord)
    }

    /// Reads a rotated record in several files in any order. The file with the highest number is the oldest.
    package init(reading paths: [String], speakerRecord: String? = nil) throws(TalkieError) {
        self.init()
        if let speakerRecord { heard = try HeardRecord(reading: speakerRecord) }
        for path in Self.ordered(paths) { try read(path) }
        finish()
    }

    private static func ordered(_ paths: [String]) -> [String] {
        func number(_ path: String) -> Int {
            path.lastIndex(of: ".").flatMap { DecimalNumber.integer(path[path.index(after: $0)...]) } ?? 0
        }
        return paths.map { (path: $0, number: number($0)) }.sorted { $0.number > $1.number }.map(\.path)
    }

    private mutating func read(_ path: String) throws(TalkieError) {
        let descriptor = path == "-" ? dup(0) : open(path.systemPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TalkieError(
                .cannotOpen, "the timeline '\(path)' cannot be opened (\(SystemCause.text(errno))); check its name")
        }
        defer { close(descriptor) }
        var reader = LineReader()
        var report = self
        let code = reader.read(descriptor: descriptor) { bytes, isWhole in
            if isWhole { report.add(line: bytes) } else { report.add(lastLine: bytes) }
        }
        if let code {
            throw TalkieError(
                .cannotOpen, "the timeline '\(path)' cannot be read (\(SystemCause.text(code))); check the file")
        }
        if let version = report.newerVersion {
            throw TalkieError(
                .cannotOpen,
                "the timeline '\(path)' was written by a newer Talkie (version \(version)); update this one")
        }
        report.garbageLines += reader.overlongLines
        guard report.heads > heads || report.understoodLines > understoodLines else {
            throw TalkieError(.cannotOpen, "'\(path)' is not a timeline", remedy: .recordTimeline)
        }
        self = report
    }

    // MARK: Lines

    /// Adds a line.
    mutating func add(line bytes: UnsafeRawBufferPointer) {
        if !understand(bytes) { garbageLines += 1 }
    }

    /// Adds an unterminated last line, which is probably incomplete.
    mutating func add(lastLine bytes: UnsafeRawBufferPointer) {
        if !understand(bytes) { isCutOff = true }
    }

    private mutating func understand(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let object = parser.read(bytes), let instant = object.integer("host_ns"), instant >= 0,
            let event = TimelineEvent(object)
        else { return false }
        // The previous file contains this line too.
        if heads > 1, object.integer("again") != nil {
            understoodLines += 1
            return true
        }
        guard add(event, at: instant) else { return false }
        understoodLines += 1
        return true
    }

    /// Returns seconds since the first line.
    func seconds(of instant: Int64) -> Double {
        let (difference, overflow) = instant.subtractingReportingOverflow(origin ?? instant)
        return overflow ? .infinity : Double(difference) / 1e9
    }

    // MARK: Events

    private mutating func add(_ event: TimelineEvent, at instant: Int64) -> Bool {
        if origin == nil { origin = instant }
        let now = seconds(of: instant)
        guard now.magnitude < 1e8 else { return false }
        seconds = max(seconds, now)
        listen(until: instant)
        switch event {
        case .head(let version, let program):
            guard version >= 1 else { return false }
            if version > TimelineWriter.formatVersion, newerVersion == nil { newerVersion = version }
            heads += 1
            self.program = program
        case .film(let name):
            filmCount += 1
            if films.count < Self.maxFilms { films.append(name) }
        case .screen(let mode): screenMode = mode
        case .wait(let cause, let route):
            if !firstStart.isOver(at: instant) {
                firstStart.enter(.wait(cause: cause, route: route.map { Int(clamping: $0) }), at: instant)
            }
        case .state(let phase):
            if phase == "opening", firstStart.phases.isEmpty { firstStart.enter(.film, at: instant) }
        case .other: break
        case .delayWanted(let delay): delayWanted = delay
        case .lost(let count): lostEvents = lostEvents.clampedAdding(count)
        case .commanded(let film, let anchor, let rate):
            timeline.command(
                film: film, host: HostInstant(nanoseconds: anchor), rate: rate, at: HostInstant(nanoseconds: instant))
            outputs.restart()
            if rate > 0 {
                if !firstStart.isOver(at: instant) { firstStart.announce(perceivedAt: anchor, at: instant) }
                runningAnchors += 1
                anchorSeries.add(1, at: max(now, seconds(of: anchor)))
            }
        case .bent(let film, let anchor, let rate, let speed):
            timeline.bend(film: film, host: HostInstant(nanoseconds: anchor), rate: rate, speed: speed)
            guard speed > 0, rate.isFinite, speed.isFinite else { return true }
            let bend = (rate / speed - 1) * 1e6
            if bend.magnitude > (furthestBend ?? 0).magnitude || furthestBend == nil { furthestBend = bend }
        case .resumed: suspensions += 1
        case .frame(let target, let presented): return addFrame(target: target, presented: presented)
        case .drop(let count, let skipped):
            if skipped {
                skippedBeforeDecoding = skippedBeforeDecoding.clampedAdding(count)
            } else {
                droppedLate = droppedLate.clampedAdding(count)
            }
            dropSeries.add(Double(count), at: now)
        case .heard, .drift, .latency, .calibrated, .underrun, .routeOpened, .routeLost, .routeRestored, .routeJoined,
            .routeLeft:
            return addAudio(event, at: instant, now: now)
        }
        return true
    }

    private mutating func addFrame(target: Int64, presented: Int64) -> Bool {
        let (late, overflow) = presented.subtractingReportingOverflow(target)
        let shown = seconds(of: presented)
        guard !overflow, shown.magnitude < 1e8 else { return false }
        frames += 1
        // A frame shown while paused has no due time.
        guard timeline.rate(at: HostInstant(nanoseconds: presented)) > 0,
            timeline.rate(at: HostInstant(nanoseconds: target)) > 0
        else { return true }
        let error = Double(late) / 1e6
        videoError.add(error)
        videoSeries.add(error, at: shown)
        outputs.shown(.init(seconds: shown, error: error), at: presented)
        return true
    }

    private mutating func addAudio(_ event: TimelineEvent, at instant: Int64, now: Double) -> Bool {
        switch event {
        case .drift(let error, let ppm, let key):
            let isClaimed = heard == nil
            return outputs.update(key) { route in
                if isClaimed { route.heard(error: error * 1000, at: now) }
                if let ppm {
                    route.lowestPPM = min(route.lowestPPM ?? ppm, ppm)
                    route.highestPPM = max(route.highestPPM ?? ppm, ppm)
                }
            }
        case .heard(let film, let anchor, let clock, let key):
            // Reports lateness like drift, once per anchor.
            guard heard == nil else {
                // Anchors of the speaker's record are on the clock that the speaker follows.
                heard?.add(.init(film: film, anchor: clock ?? anchor, route: key))
                return outputs.update(key) { _ in }
            }
            let heard = seconds(of: anchor)
            guard let due = timeline.instant(ofFilm: film)?.nanoseconds else { return outputs.update(key) { _ in } }
            let (late, overflow) = anchor.subtractingReportingOverflow(due)
            guard !overflow, heard.magnitude < 1e8 else { return false }
            // Outputs apply the user-provided delay, so the difference contains it.
            let error = Double(late) / 1e6 - delayWanted * 1000
            // An anchor on a speaker's clock stays valid until the next one.
            return outputs.update(key) {
                $0.heard(error: error - $0.calibration * 1000, at: heard, holds: clock != nil)
            }
        case .latency(let delay, let key): return outputs.update(key) { $0.latency = delay }
        case .calibrated(let delay, let key):
            guard delay.magnitude < 1e6 else { return false }
            return outputs.update(key) { $0.calibration = delay }
        case .underrun(let missing, let key):
            underrunSeries.add(1, at: now)
            return outputs.update(key) { route in
                route.underruns += 1
                if missing > 0 { route.missing += missing }
            }
        case .routeOpened(let key, let name, let kind):
            return outputs.update(key) { route in
                route.name = name
                route.kind = kind
            }
        case .routeLost(let key):
            return outputs.update(key) { route in
                route.losses += 1
                route.offset.restart()
            }
        case .routeRestored(let key): return outputs.update(key) { $0.offset.restart() }
        case .routeJoined(let key, let film, let anchor):
            add(Change(route: Int(clamping: key), film: film, hasJoined: true))
            return outputs.update(key) { route in
                (route.joined, route.left) = (anchor, nil)
                route.offset.forget()
            }
        case .routeLeft(let key, let film, let anchor):
            add(Change(route: Int(clamping: key), film: film, hasJoined: false))
            return outputs.update(key) { $0.left = anchor }
        default: return false
        }
    }

    private mutating func add(_ change: Change) {
        if changes.count < Self.maxChanges { changes.append(change) }
    }

    /// Adds the samples of the speaker's record up to an instant of the timeline.
    private mutating func listen(until instant: Int64) {
        guard var record = heard else { return }
        while let point = record.next(until: instant) {
            if let claim = record.claim(for: point) { add(point, of: claim) }
        }
        while let route = record.nextUnderrun(until: instant) { _ = outputs.update(route) { $0.underruns += 1 } }
        heard = record
    }

    private mutating func add(_ point: HeardRecord.Point, of claim: HeardRecord.Claim) {
        // The commanded speed without clock correction: the speaker's sound follows its own clock.
        let speed = timeline.speed(at: HostInstant(nanoseconds: point.instant))
        guard speed > 0, let due = timeline.instant(ofFilm: claim.film + point.seconds * speed)?.nanoseconds else {
            return
        }
        let (late, overflow) = point.instant.subtractingReportingOverflow(due)
        let now = seconds(of: point.instant)
        guard !overflow, now.magnitude < 1e8 else { return }
        matchedSamples += 1
        let error = Double(late) / 1e6 - delayWanted * 1000
        _ = outputs.update(claim.route) { $0.heard(error: error - $0.calibration * 1000, at: now) }
    }

    /// Completes the report after the last line.
    mutating func finish() {
        listen(until: .max)
        outputs.finish()
    }
}

extension Int {
    /// Returns the sum, clamped: counts in a file can have any value. Negative counts are ignored.
    fileprivate func clampedAdding(_ other: Int64) -> Int {
        let (sum, overflow) = addingReportingOverflow(other > 0 ? Int(other) : 0)
        return overflow ? .max : sum
    }
}
