internal import MediaCore
internal import Playback
internal import Profiles
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

/// Owns the state of the session's window. Confined to the session's thread.
final class SessionWindow {
    /// Whether the window was opened for a film.
    private var isOpened = false
    /// Whether the window could not be opened or was lost.
    private(set) var isLost = false
    private(set) var hasShownFrame = false
    private let stage: SessionDirector.Stage
    private let console: SessionConsole
    private let calibrations: SessionCalibration
    /// Whether the user requested a screen.
    private let isRequested: Bool

    init(
        _ stage: SessionDirector.Stage, _ console: SessionConsole, _ calibrations: SessionCalibration, isRequested: Bool
    ) {
        (self.stage, self.console, self.calibrations) = (stage, console, calibrations)
        self.isRequested = isRequested
        // Before the first film is opened: its start waits for its first frame to be visible.
        stage.screen?.attach(
            stage.player.layer, timebase: stage.player.synchronizer.timebase, events: stage.player.events)
    }

    /// Whether a film is visible without further words.
    var showsFilm: Bool { stage.screen != nil && stage.player.state.hasVideo && !isLost }

    /// Shows a title, and opens the window if there is something to show.
    func prepare(title: String) {
        guard let screen = stage.screen else { return }
        screen.setTitle(title)
        // A film opens a window, as does a recording with a cover.
        guard let format = stage.player.state.displayedVideoFormat, !isOpened else { return }
        isOpened = true
        // Opened here, while the first frames are read.
        screen.open(for: format)
    }

    /// Records the screen and applies its calibrations, once it is visible or has changed.
    func recordScreen() {
        guard let status = stage.screen?.status, status.isVisible else { return }
        if !hasShownFrame { stage.distributor.record(.screen(status.summary)) }
        hasShownFrame = true
        calibrations.apply(screen: status.display, mode: LatencyProfile.Key.mode(status))
    }

    /// Applies the calibrations again after a card's sink has changed or become known.
    func recalibrate() { calibrations.apply(withLedger: hasShownFrame) }

    /// Reports that no display is left. The film continues also without sound, since both can return: a television
    /// that is switched off takes its sound card with it.
    func reportNoDisplay(_ error: OutputError) {
        console.say(
            .warning, Sentences.joined(error.message, "The film continues; its picture returns with a display."))
    }

    /// Reports that the window is open again.
    func reportDisplay() {
        console.say(.warning, "The picture has returned.")
        recordScreen()
    }

    /// Handles the loss of the window. Returns true if the film continues and its title is to be printed.
    func lose(_ error: OutputError) -> Bool {
        isLost = true
        let state = stage.player.state
        let hasAudio = state.hasAudio && stage.player.outputs?.isUnopened != true
        // A requested screen is mandatory; and without audio nothing would be left to play.
        if (isRequested && !hasShownFrame) || !hasAudio {
            let failure = TalkieError(
                error.code == .notPermitted ? .notPermitted : .unavailable,
                error.message + (hasAudio ? ", or use --no-video to play the sound only" : ""))
            console.fail(failure)
            console.end(failure.exitStatus)
            return false
        }
        // A recording without its cover is complete.
        guard state.hasVideo else {
            console.say(.info, error.message)
            return false
        }
        console.say(.warning, Sentences.joined(error.message, "The sound plays without a picture."))
        return true
    }
}

extension ScreenControl.Status {
    /// The pacing and presentation, for the record.
    fileprivate var summary: String {
        let pace =
            switch refresh {
            case .unpaced: "unpaced"
            case .fixed(let period, _): "fixed \(Decimals.text(1 / max(1e-9, period.inSeconds), 3)) Hz"
            }
        return presentation.isEmpty ? pace : "\(pace), \(presentation)"
    }
}
