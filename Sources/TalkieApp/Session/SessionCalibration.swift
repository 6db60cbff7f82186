internal import MediaCore
internal import Playback
internal import Profiles
internal import Telemetry

/// Applies the calibrations of a session and owns what was recorded of them. Confined to the session's thread.
final class SessionCalibration {
    /// The recorded corrections by output number.
    private var corrections: [Int: Duration] = [:]
    /// The outputs with an assumed delay that were reported to the user.
    private var uncertain: Set<String> = []
    private let stage: SessionDirector.Stage
    private let console: SessionConsole
    /// Whether calibrations apply, not the user's own delay.
    private let areUsed: Bool

    init(_ stage: SessionDirector.Stage, _ console: SessionConsole, areUsed: Bool) {
        (self.stage, self.console, self.areUsed) = (stage, console, areUsed)
    }

    /// Applies the calibrations for a screen, once it is known or has changed.
    func apply(screen: String?, mode: String) {
        if stage.player.calibration?.setScreen(screen, mode: mode) == true { apply(withLedger: screen != nil) }
    }

    /// Applies the calibrations again and records their effect on the outputs.
    func apply(withLedger: Bool) {
        guard let calibration = stage.player.calibration else { return }
        let outputs = calibration.apply()
        for output in outputs {
            // A correction that no longer applies is recorded too.
            guard let number = output.number,
                output.use.profile != nil || corrections[number] ?? .zero != .zero
            else { continue }
            corrections[number] = output.use.correction
            stage.distributor.record(
                .calibration(index: number, correction: output.use.correction, isExact: output.use.isExact))
        }
        for name in RouteCalibration.uncertain(outputs) where areUsed && uncertain.insert(name).inserted {
            console.say(
                .warning,
                "'\(name)' reports no delay; a typical one is assumed. If lips and voices disagree: talkie calibrate '\(name)'"
            )
        }
        guard withLedger else { return }
        for output in outputs {
            guard let number = output.number else { continue }
            for share in output.ledger.shares { stage.distributor.record(.share(index: number, share)) }
        }
        if let remark = RouteCalibration.remark(outputs) { console.say(.info, remark) }
    }
}
