internal import Calibration
internal import MediaCore
internal import Profiles
internal import ScreenOutput
internal import SyncRendering

/// Calibration without hardware: flash and sound drift against each other until the user presses a key when they
/// coincide, from both directions alternately.
extension CalibrationSession {
    /// The keys that report that flash and sound coincide.
    private static let presses: Set<String> = ["SPACE", "ENTER", "KP_ENTER"]

    /// Runs the passages and evaluates the key presses. Called on the main thread.
    ///
    /// - Returns: Nil if it was interrupted.
    func performByEye() throws(TalkieError) -> (record: CalibrationRecord, answer: CalibrationAnswer)? {
        let terminal = terminal
        let outputs = try CalibrationOutputs(arguments, interruption: interruption) { terminal.show(status: "\($0) …") }
        guard outputs.speakers.count == 1 else {
            throw TalkieError(
                .invalidArgument, "calibration by eye supports one speaker at a time; choose one")
        }
        let press = PressedKey()
        let interruption = interruption
        let terminalKeys: TerminalKeys
        do throws(ExhaustionError) {
            terminalKeys = try TerminalKeys { key in
                if Self.presses.contains(key) { press.recordPress() }
                if key == "q" || key == "ESC" { interruption.raise(status: ExitStatus.interrupted) }
            }
            try terminalKeys.start()
        } catch {
            throw TalkieError(error)
        }
        defer { terminalKeys.stop() }
        let stage = CalibrationStage(arguments, showsVideo: true, interruption: interruption)
        let outcome = stage.perform(keys: { if Self.presses.contains($0) { press.recordPress() } }) {
            (screen) throws(TalkieError) -> Passages? in
            guard let screen, Self.warn(on: screen, terminal: terminal, press: press, interruption: interruption) else {
                return nil
            }
            var passages = Passages()
            while let trial = passages.next {
                let run = StimulusRun(trial.plan, outputs: outputs.outputs, screen: screen, interruption: interruption)
                press.clear()
                var guide = EyeAndEarGuide(passage: passages.number + 1, of: Passages.count)
                var start: HostInstant?
                var answer: Double?
                func showText() {
                    screen.show(ScreenMessage(guide.text, for: Self.untilReplaced))
                    terminal.show(status: guide.summary)
                }
                showText()
                let played = try run.play(
                    until: {
                        guard let instant = press.instant else { return false }
                        press.clear()
                        answer = guide.evaluate(
                            pressAt: start.map { MediaTime(nanoseconds: instant.nanoseconds - $0.nanoseconds) },
                            in: trial)
                        if answer == nil { showText() }
                        return answer != nil
                    },
                    { if case .events(_, let begun) = $0 { start = begun } })
                guard played != nil else { return nil }
                try outputs.check(stillHeardAt: run.sinks)
                guard let answer else {
                    throw TalkieError(
                        .failed,
                        "no key was pressed while flash and sound drifted past each other; press SPACE when they coincide; nothing was stored"
                    )
                }
                passages.addPress(answer)
                passages.shares = run.shares
                passages.display = Self.display(screen)
            }
            return passages
        }
        outputs.remember()
        guard let passages = try outcome.get() else { return nil }
        return try judged(passages, outputs.speakers)
    }

    /// The duration of a message that is replaced explicitly.
    private static let untilReplaced = Duration.seconds(3600)

    /// Displays the warning and waits for a key press. Returns false if interrupted.
    private static func warn(
        on screen: ScreenControl, terminal: Terminal, press: PressedKey, interruption: Interruption
    ) -> Bool {
        press.clear()
        screen.open(for: PixelSize(width: 1280, height: 720))
        screen.show(ScreenMessage(EyeAndEarGuide.warning, for: untilReplaced))
        terminal.say("talkie: " + PrintableText.sentence(EyeAndEarGuide.quietWarning))
        while press.instant == nil {
            guard interruption.status == nil else { return false }
            _ = interruption.pause(until: .now.advanced(by: .milliseconds(50)))
        }
        return true
    }

    private func judged(
        _ passages: Passages, _ speakers: [OutputIdentity]
    ) throws(TalkieError) -> (record: CalibrationRecord, answer: CalibrationAnswer) {
        guard let judgement = EyeAndEarJudgement(late: passages.late, early: passages.early),
            judgement.sigma <= EyeAndEarJudgement.largestSigma
        else {
            throw TalkieError(
                .failed,
                "the key presses do not agree with each other; try again, or use a microphone; nothing was stored")
        }
        let readings = (passages.late + passages.early).enumerated().map { index, delay in
            SpeakerAnswer.Reading(event: index, time: Double(index), offset: 0 - delay)
        }
        let answer = SpeakerAnswer(
            speaker: speakers[0], offset: judgement.offset, sigma: judgement.sigma,
            interval: (judgement.offset - judgement.halfWidth)...(judgement.offset + judgement.halfWidth),
            readings: readings, audioRest: judgement.offset, screenRest: 0, screenShare: .inside, isOffsetKnown: true)
        let record = CalibrationRecord(
            run: String(UInt64.random(in: .min ... .max), radix: 16), speakers: speakers, display: passages.display,
            events: [], shares: passages.shares)
        let remark =
            "judged by eye and ear: perceived simultaneity varies by about 20 ms between viewers"
        return (
            record,
            CalibrationAnswer(way: .eyeAndEar, display: passages.display, speakers: [answer], remarks: [remark])
        )
    }

    /// The results of the passages so far.
    private struct Passages: Sendable {
        static let count = 2 + EyeAndEarTrial.fineTrials
        var coarse: [Double] = []
        var late: [Double] = []
        var early: [Double] = []
        var shares: [[LatencyLedger.Share]] = []
        var display: CalibrationRecord.Display?

        var number: Int { coarse.count + late.count + early.count }
        private var isFromLate: Bool { number % 2 == 0 }

        var next: EyeAndEarTrial? {
            guard number < Self.count else { return nil }
            guard coarse.count == 2 else { return .coarse(fromLate: isFromLate) }
            return .fine(around: (coarse[0] + coarse[1]) / 2, fromLate: isFromLate)
        }

        mutating func addPress(_ delay: Double) {
            if coarse.count < 2 {
                coarse.append(delay)
            } else if isFromLate {
                late.append(delay)
            } else {
                early.append(delay)
            }
        }
    }

    /// The instant of the first key press since `clear`. Any thread.
    private final class PressedKey: Sendable {
        private let state = Lock<HostInstant?>(nil)
        var instant: HostInstant? { state.withLock { $0 } }
        func recordPress() { state.withLock { $0 = $0 ?? .now } }
        func clear() { state.withLock { $0 = nil } }
    }
}
