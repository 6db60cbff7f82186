internal import AirPlay
internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

/// Informs the user on the terminal, over the video and in the log, and owns the failures and the exit status.
/// Confined to the session's thread, except before its start and after its end.
final class SessionConsole {
    /// The maximum number of failures reported individually.
    private static let maxReportedFailures = 10
    /// How long a text is displayed over the video.
    static let messageDuration = Duration.milliseconds(1500)
    /// How long a list is displayed.
    static let listDuration = Duration.seconds(4)

    /// The exit status, once the session has ended.
    private(set) var status: Int32?
    /// The exit status of the first failure, used at the end of the playlist.
    private(set) var firstFailure: Int32?
    /// The number of failures since a film played.
    private var failuresInRow = 0
    /// The permanent message about silent outputs. `shownMark` is the displayed one, which can be the reason for
    /// buffering.
    private var outputMark: String?
    /// The sign of the current outputs.
    private var outputSign: String?
    private var shownMark: String?
    /// The message that warnings do not replace, and until when.
    private var kept: (text: String, until: HostInstant)?
    private let stage: SessionDirector.Stage
    private let arguments: PlayArguments

    init(_ stage: SessionDirector.Stage, _ arguments: PlayArguments) {
        (self.stage, self.arguments) = (stage, arguments)
    }

    /// Ends the session; later statuses have no effect.
    func end(_ status: Int32) { if self.status == nil { self.status = status } }

    // MARK: Messages

    /// Prints and logs a message.
    func say(_ level: LogLevel, _ text: String) {
        stage.log?.write(level, text)
        let limit = arguments.isReallyQuiet ? LogLevel.error : arguments.logLevel
        if level <= limit { stage.terminal.say("talkie: " + PrintableText.sentence(text)) }
    }

    /// Displays text over the video.
    func show(_ text: String, for duration: Duration = SessionConsole.messageDuration) {
        stage.log?.write(
            .debug, "over the film: " + text.split(separator: "\n").joined(separator: " / "))
        stage.screen?.show(ScreenMessage(text, for: duration))
        kept = nil
    }

    /// Displays text over the video that a warning does not replace: it is added below.
    func showFirmly(_ text: String, for duration: Duration) {
        show(text, for: duration)
        // A window that is about to open shows it later.
        kept = (text, HostInstant.now.advanced(by: duration + .seconds(1)))
    }

    /// Prints a warning and displays it over the video.
    func warn(_ text: String) {
        if let kept, .now < kept.until {
            showFirmly(kept.text + "\n" + text, for: Self.listDuration)
        } else {
            show(text)
        }
        say(.warning, text)
    }

    /// Prints a message without the log, whatever the log level; returns false if the terminal shows none.
    func print(_ text: String) -> Bool {
        guard showsStatus else { return false }
        stage.terminal.say("talkie: " + PrintableText.sentence(text))
        return true
    }

    /// Reports what happened to a speaker's clock.
    func report(clockOf output: OutputID, _ state: SpeakerClockState) {
        guard let (name, _) = stage.player.nameAndReason(output) else { return }
        switch state {
        case .stalled: warn("'\(name)' has lost the clock; its sound may get out of sync.")
        case .ready: warn("'\(name)' is synchronized to the clock again.")
        case .doubted:
            warn(
                "PTP times sent in the name of '\(name)' do not match its clock and are ignored; if this continues, find the"
                    + " device on this network that sends them (UDP ports 319 and 320).")
        case .cold, .probing: break
        }
    }

    // MARK: Failures

    /// Reports a failure that determines the exit status.
    func fail(_ failure: TalkieError) {
        if firstFailure == nil { firstFailure = failure.exitStatus }
        failuresInRow += 1
        if failuresInRow <= Self.maxReportedFailures { say(.error, failure.message) }
    }

    /// Reports the number of failures beyond `maxReportedFailures`. Later ones are reported again.
    func reportMoreFailures() {
        let more = failuresInRow - Self.maxReportedFailures
        failuresInRow = 0
        if more > 0 { say(.error, more == 1 ? "one more cannot be played" : "\(more) more cannot be played") }
    }

    // MARK: Status

    /// Whether the terminal shows a status line.
    var showsStatus: Bool { stage.terminal.showsStatus && !arguments.isReallyQuiet }

    /// Shows the status line, or the line of an open list of outputs.
    func showStatus(_ listLine: String?) {
        guard showsStatus else { return }
        stage.terminal.show(status: listLine ?? StatusText.line(measuredState, columns: stage.terminal.columns))
    }

    /// The player's state with the values measured at the outputs.
    var measuredState: PlayerState {
        var state = stage.player.state
        let statistics = stage.distributor.statistics
        state.offset = statistics.offset
        state.droppedFrames = statistics.droppedFrames
        state.underruns = statistics.underruns
        return state
    }

    /// Sets the permanent message about silent outputs.
    func setOutputMark(_ mark: String?) {
        outputMark = mark
        refreshMark()
    }

    /// Displays the reason for buffering, otherwise the silent outputs, otherwise a sign of the current outputs or the
    /// position.
    func refreshMark(sign: String?) {
        outputSign = sign
        refreshMark()
    }

    private func refreshMark() {
        let state = stage.player.state
        let problem = state.bufferingProgress == nil ? outputMark : state.reason ?? outputMark
        let mark = problem ?? outputSign
        guard mark != shownMark else { return }
        shownMark = mark
        stage.screen?.show(mark: mark, isAccented: problem == nil)
    }
}
