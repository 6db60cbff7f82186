internal import Calibration
internal import CardOutput
internal import Glibc
internal import MediaCodecs
package import MediaCore
internal import Profiles
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering

/// Runs `talkie calibrate`. Uses the main thread, as SDL requires.
package struct CalibrationSession {
    let arguments: CalibrateArguments
    let store: ProfileStore
    let terminal: Terminal
    let interruption: Interruption

    /// What a calibration prints and draws.
    struct Result {
        var text: String
        /// An SVG drawing, if the arguments want one.
        var plot: String?
    }

    package init(_ arguments: CalibrateArguments) { self.init(arguments, store: ProfileStore(), terminal: Terminal()) }

    init(
        _ arguments: CalibrateArguments, store: ProfileStore, terminal: Terminal,
        interruption: Interruption = Interruption()
    ) {
        self.arguments = arguments
        self.store = store
        self.terminal = terminal
        self.interruption = interruption
    }

    /// Runs the calibration. Blocks until it is done.
    ///
    /// - Parameter write: Receives the result for standard output.
    /// - Returns: The exit status.
    /// - Throws: `TalkieError` without a result; nothing is stored then.
    package func run(write: (String) -> Void) throws(TalkieError) -> Int32 {
        MainQueue.acquire()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let interruption = interruption
        let signals = try SignalWatch.begin { if case .end(let status) = $0 { interruption.raise(status: status) } }
        defer { signals.stop() }
        do {
            defer { terminal.show(status: nil) }
            switch arguments.way {
            case .analyse(let recording, let events):
                try finish(conclude(analyse(recording, events)), write)
            case .emit(let path):
                guard let record = try perform(microphone: nil) else { return interruption.status ?? ExitStatus.failed }
                try OutputFile.write(record.json.formatted, to: path, what: "the events file", isPrivate: true)
            case .microphone(let device):
                let microphone = try open(device)
                guard let record = try perform(microphone: microphone) else {
                    return interruption.status ?? ExitStatus.failed
                }
                try finish(conclude((record, analyseRecording(microphone, record))), write)
            case .eyeAndEar:
                guard let outcome = try performByEye() else { return interruption.status ?? ExitStatus.failed }
                try finish(conclude(outcome), write)
            }
        } catch {
            // A lost window also interrupts the run; its error is reported.
            if let status = interruption.status, status != ExitStatus.unavailable { return status }
            throw error
        }
        return ExitStatus.done
    }

    // MARK: Result

    /// Prints the result and draws the plot.
    private func finish(_ result: Result, _ write: (String) -> Void) throws(TalkieError) {
        terminal.show(status: nil)
        write(result.text)
        if let path = arguments.plotPath, let plot = result.plot {
            try OutputFile.write(plot, to: path, what: "the plot")
        }
    }

    private static var cancelled: TalkieError {
        TalkieError(.failed, "the calibration was cancelled; nothing was stored")
    }

    /// Stores the profiles of a run.
    ///
    /// - Throws: Also after an interruption of the analysis; nothing is stored then.
    func conclude(
        _ outcome: (record: CalibrationRecord, answer: CalibrationAnswer)
    ) throws(TalkieError) -> Result {
        if interruption.status != nil { throw Self.cancelled }
        let (record, answer) = outcome
        let now = Int64(time(nil))
        var profiles = answer.speakers.enumerated().map { index, speaker in
            LatencyProfile(
                speaker, in: answer, run: record.run,
                shares: record.shares.indices.contains(index) ? record.shares[index] : [], at: now)
        }
        // The reference was not measured; only its place among the speakers of the run is new.
        if let reference = answer.reference, var kept = references(of: record)[reference] {
            kept.room = profiles[reference].room
            profiles[reference] = kept
        }
        let isStored = record.corrections == nil
        if isStored { try store.store(profiles) }
        return Result(
            text: arguments.isJSON ? answer.json(isStored: isStored).formatted : answer.text(isStored: isStored),
            plot: arguments.plotPath == nil ? nil : CalibrationPlot(answer: answer).svg)
    }

    private func analyse(
        _ path: String, _ eventsPath: String
    ) throws(TalkieError) -> (record: CalibrationRecord, answer: CalibrationAnswer) {
        let eventBytes = try InputBytes.read(
            eventsPath, maxBytes: CalibrationRecord.largestFile, what: "the events file")
        let record: CalibrationRecord
        do { record = try CalibrationRecord(reading: eventBytes) } catch {
            throw Self.unreadable("the events file '\(eventsPath)'", error, "talkie calibrate --emit writes one; ")
        }
        try checkNames(record, eventsPath)
        guard !record.speakers.contains(where: \.isOfUnknownSink) else {
            throw TalkieError(
                .cannotOpen,
                "the events file '\(eventsPath)' is from an older Talkie and does not state the sink of the card; "
                    + "create it and the recording again with --emit; nothing was stored")
        }
        terminal.show(status: "analysing the recording …")
        return (record, try analysis(of: record, recording(path)).answer())
    }

    /// Reads a recording and the file with its times, which a video need not have.
    private func recording(_ path: String) throws(TalkieError) -> Recording {
        var recording: Recording
        if MediaRecording.isOther(path) {
            recording = try MediaRecording.read(path, until: interruption)
            if recording.film != nil, access((path + ".json").systemPath, F_OK) != 0 { return recording }
        } else {
            let bytes = try InputBytes.read(path, maxBytes: WaveFile.largestFile, what: "the recording")
            do { recording = try WaveFile.read(bytes) } catch {
                throw Self.unreadable("the recording '\(path)'", error)
            }
        }
        let sidecar = try InputBytes.read(
            path + ".json", maxBytes: RecordingSidecar.largestFile, what: "the recording's times")
        guard let content = RecordingSidecar.read(sidecar) else {
            throw TalkieError(
                .cannotOpen,
                "'\(path).json' does not state the time of the recording: it needs anchors with frame and monotonic_ns; nothing was stored"
            )
        }
        if let stated = content.sampleRate, stated != recording.sampleRate {
            throw TalkieError(
                .cannotOpen,
                "the recording states \(recording.sampleRate) samples per second and its times state \(stated); "
                    + "correct its header, or record again; nothing was stored")
        }
        recording.anchors = content.anchors
        return recording
    }

    private func analysis(of record: CalibrationRecord, _ recording: Recording) -> CalibrationAnalysis {
        var analysis = CalibrationAnalysis(recording: recording, record: record, expectsLight: arguments.expectsLight)
        if recording.film != nil { analysis.references = references(of: record) }
        return analysis
    }

    /// Returns the stored calibrations against the picture with the run's screen and mode, by speaker. A video's own
    /// results are no references: they contain the camera's offset.
    private func references(of record: CalibrationRecord) -> [Int: LatencyProfile] {
        guard let display = record.display, record.speakers.count > 1 else { return [:] }
        let profiles = store.all().profiles.filter { $0.offset != nil && $0.way != CalibrationMethod.video.rawValue }
        var references: [Int: LatencyProfile] = [:]
        for (index, speaker) in record.speakers.enumerated() {
            let key = LatencyProfile.Key(
                speaker: speaker.key, screen: display.name, mode: display.mode, route: speaker.route)
            references[index] = profiles.first { $0.key == key }
        }
        return references
    }

    /// Returns the delays that a film on this screen would have.
    private func corrections(_ run: CalibrationOutputs, _ screen: ScreenControl?) throws(TalkieError) -> [Duration] {
        let choice = ProfileChoice(
            for: zip(run.speakers, run.outputs).map {
                ProfileChoice.Member(speaker: $0.key, route: $0.route, latency: $1.latency)
            },
            screen: screen?.status.display, mode: screen.map { LatencyProfile.Key.mode($0.status) },
            among: store.all().profiles)
        for (speaker, use) in zip(run.speakers, choice.uses) where use.profile == nil {
            throw TalkieError(
                .failed,
                "'\(speaker.name)' has no stored calibration to verify; run talkie calibrate without --verify first")
        }
        return choice.uses.map(\.correction)
    }

    private static func unreadable(_ what: String, _ failure: FileFailure, _ advice: String = "") -> TalkieError {
        guard case .unreadable(let why) = failure else { return TalkieError(.cannotOpen, what) }
        return TalkieError(.cannotOpen, "\(what) \(why); \(advice)nothing was stored")
    }

    /// Checks that the events file covers the requested speakers.
    private func checkNames(_ record: CalibrationRecord, _ path: String) throws(TalkieError) {
        for choice in arguments.speakers {
            let wanted =
                switch choice {
                case .local: "local"
                case .named(let text): text
                }
            let isThere = record.speakers.contains { $0.isMeant(by: wanted) }
            guard isThere else {
                let names = record.speakers.map { "'\($0.name)'" }.joined(separator: " and ")
                throw TalkieError(
                    .invalidArgument,
                    "'\(path)' was made with \(names), not with '\(wanted)'; choose the speaker that it was made with")
            }
        }
    }

    // MARK: Run

    func open(_ device: String) throws(TalkieError) -> Microphone {
        do {
            return try Microphone(device: device, longest: StimulusPlan.longestRun * 2 + .seconds(60))
        } catch {
            throw TalkieError(
                error.code == .notPermitted ? .notPermitted : .unavailable,
                error.message)
        }
    }

    /// Plays a run in a window of its own. Returns nil if it was interrupted.
    private func perform(microphone: Microphone?) throws(TalkieError) -> CalibrationRecord? {
        let terminal = terminal
        let outputs = try CalibrationOutputs(arguments, interruption: interruption) { terminal.show(status: "\($0) …") }
        for warning in outputs.warnings { terminal.say("talkie: \(PrintableText.sentence(warning))") }
        // Comparing speakers with each other needs no screen.
        let needsScreen = outputs.speakers.count == 1 || arguments.screen != nil || Self.hasDisplay
        let stage = CalibrationStage(arguments, showsVideo: needsScreen, interruption: interruption)
        let outcome = stage.perform { (screen) throws(TalkieError) -> CalibrationRecord? in
            try play(on: outputs, microphone: microphone, screen: screen) { terminal.show(status: $0) }
        }
        outputs.remember()
        return try outcome.get()
    }

    /// Calibrates outputs of a running kiosk with its screen, or only plays for a recording elsewhere. Blocks.
    ///
    /// - Parameter progress: Receives what is done. Called on this thread.
    /// - Returns: The text to print, or the events file.
    func run(
        on screen: ScreenControl?, with registry: OutputRegistry, progress: @escaping (String) -> Void
    ) throws(TalkieError) -> Result {
        let device: String? = if case .microphone(let device) = arguments.way { device } else { nil }
        let microphone = try device.map { (device) throws(TalkieError) in try open(device) }
        let outputs = try CalibrationOutputs(arguments, in: registry, interruption: interruption, notice: progress)
        let record: CalibrationRecord?
        do throws(TalkieError) {
            record = try play(on: outputs, microphone: microphone, screen: screen, progress: progress)
        } catch {
            // The recording's thread ends.
            _ = microphone?.stop()
            throw error
        }
        guard let record else {
            _ = microphone?.stop()
            throw Self.cancelled
        }
        guard let microphone else { return Result(text: record.json.formatted) }
        return try conclude((record, analyseRecording(microphone, record)))
    }

    /// Plays a run, twice if a speaker is lost in the first one. Returns nil if it was interrupted.
    private func play(
        on outputs: CalibrationOutputs, microphone: Microphone?, screen: ScreenControl?, progress: (String) -> Void
    ) throws(TalkieError) -> CalibrationRecord? {
        let plan = StimulusPlan(speakers: outputs.speakers.count, perSpeaker: arguments.events)
        if let microphone {
            do { try microphone.start() } catch {
                throw TalkieError(.unavailable, error.message)
            }
        }
        var isSecondTry = false
        while true {
            var applied: [Duration]?
            let corrections: StimulusRun.Corrections? =
                arguments.isVerification
                ? { () throws(TalkieError) in
                    let delays = try self.corrections(outputs, screen)
                    applied = delays
                    return delays
                } : nil
            let run = StimulusRun(
                plan, outputs: outputs.outputs, screen: screen, interruption: interruption, corrections: corrections)
            let live = microphone.map { LiveFindings($0, plan) }
            do throws(TalkieError) {
                let played = try run.play { step in
                    switch step {
                    case .opening: progress("opening \(outputs.speakers.map(\.name).joined(separator: ", ")) …")
                    case .events(let count, let start):
                        live?.evaluateNextEvent(start: start, now: .now)
                        progress("event \(count) of \(plan.events.count)  \(live?.histogram ?? "")")
                    }
                }
                guard let played else { return nil }
                try outputs.check(stillHeardAt: run.sinks)
                var record = Self.record(
                    plan, played: played, speakers: outputs.speakers, shares: run.shares, screen: screen)
                record.corrections = applied?.map(\.inMilliseconds)
                return record
            } catch {
                // A receiver that has just been switched on may end its first session.
                guard run.wasLost, !isSecondTry, interruption.status == nil else { throw error }
                isSecondTry = true
            }
        }
    }

    private static var hasDisplay: Bool { getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil }

    /// Returns the record of a played run.
    static func record(
        _ plan: StimulusPlan, played: StimulusRun.Played, speakers: [OutputIdentity],
        shares: [[LatencyLedger.Share]], screen: ScreenControl?
    ) -> CalibrationRecord {
        CalibrationRecord(
            run: String(UInt64.random(in: .min ... .max), radix: 16), speakers: speakers,
            display: screen.map { display($0) },
            events: plan.events.map { event in
                CalibrationRecord.Event(
                    speaker: event.speaker, code: event.code, isLong: event.isLong,
                    due: played.start.advanced(by: event.time.duration), flashed: played.flips[event.time],
                    darkened: played.flips[event.end])
            }, shares: shares)
    }

    static func display(_ screen: ScreenControl) -> CalibrationRecord.Display {
        let status = screen.status
        return CalibrationRecord.Display(
            name: status.display, mode: LatencyProfile.Key.mode(status),
            statedDelay: DisplayIdentification.statedLatency(of: status.display))
    }

    /// Ends the recording of a run and analyses it.
    private func analyseRecording(
        _ microphone: Microphone, _ record: CalibrationRecord
    ) throws(TalkieError) -> CalibrationAnswer {
        terminal.show(status: "analysing the recording …")
        let failure = microphone.failure
        let captured = microphone.stop()
        let recording = Recording(
            sampleRate: captured.sampleRate, channels: captured.channels,
            anchors: captured.anchors.map { Recording.Anchor(frame: $0.frame, instant: $0.instant) })
        if let path = arguments.recordingPath {
            try OutputFile.write(WaveFile.bytes(recording), to: path, what: "the recording", isPrivate: true)
            try OutputFile.write(
                RecordingSidecar.text(recording), to: path + ".json", what: "the recording's times", isPrivate: true)
        }
        if let failure {
            throw TalkieError(
                .unavailable, "\(failure.message); nothing was stored")
        }
        var analysis = analysis(of: record, recording)
        analysis.isHeardAtSource = false
        return try analysis.answer()
    }
}
