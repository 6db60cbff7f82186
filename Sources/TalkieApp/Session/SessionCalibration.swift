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

    init(_ stage: SessionDirector.Stage, _ console: SessionConsole) { (self.stage, self.console) = (stage, console) }

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
            guard output.use.profile != nil || corrections[output.number] ?? .zero != .zero else { continue }
            corrections[output.number] = output.use.correction
            stage.distributor.record(
                .calibration(index: output.number, correction: output.use.correction, isExact: output.use.isExact))
        }
        guard withLedger else { return }
        for output in outputs {
            for share in output.ledger.shares { stage.distributor.record(.share(index: output.number, share)) }
        }
        if let remark = RouteCalibration.remark(outputs) { console.say(.info, remark) }
        for name in RouteCalibration.uncertain(outputs) where !uncertain.contains(name) {
            uncertain.insert(name)
            console.say(
                .info,
                "'\(name)' reports no delay; a typical one is assumed. If lips and voices disagree: talkie calibrate '\(name)'"
            )
        }
    }
}
