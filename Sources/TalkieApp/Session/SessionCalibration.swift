internal import MediaCore
internal import Playback
internal import Profiles
internal import Telemetry

/// Applies the calibrations of a session and owns what was recorded of them. Confined to the session's thread.
final class SessionCalibration {
    /// The recorded corrections by output number.
    private var corrections: [Int: Duration] = [:]
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
        let parts = calibration.apply()
        for part in parts {
            // A correction that no longer applies is recorded too.
            guard part.use.profile != nil || corrections[part.number] ?? .zero != .zero else { continue }
            corrections[part.number] = part.use.correction
            stage.distributor.record(
                .calibration(index: part.number, correction: part.use.correction, isExact: part.use.isExact))
        }
        guard withLedger else { return }
        for part in parts {
            for share in part.ledger.shares { stage.distributor.record(.share(index: part.number, share)) }
        }
        if let remark = RouteCalibration.remark(parts) { console.say(.info, remark) }
    }
}
