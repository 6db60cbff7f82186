internal import MediaCore
internal import Playback
internal import Profiles
internal import Routing
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

// Application and recording of calibrations.
extension SessionDirector {
    /// Applies the calibrations for a screen, once it is known or has changed.
    func calibrate(screen: String?, mode: String) {
        if stage.player.calibration?.setScreen(screen, mode: mode) == true { recalibrate(withLedger: screen != nil) }
    }

    /// Applies the calibrations again after a card's sink has changed or become known.
    func recalibrate() { recalibrate(withLedger: hasShownPicture) }

    private func recalibrate(withLedger: Bool) {
        guard let calibration = stage.player.calibration else { return }
        noteCalibration(calibration.apply(), withLedger: withLedger)
    }

    /// Records the effect of calibrations on the outputs.
    func noteCalibration(_ parts: [RouteCalibration.Part], withLedger: Bool) {
        for part in parts {
            // A correction that no longer applies is recorded too.
            guard part.use.profile != nil || notedCorrections[part.number] ?? .zero != .zero else { continue }
            notedCorrections[part.number] = part.use.correction
            stage.distributor.note(
                .calibration(index: part.number, correction: part.use.correction, isExact: part.use.isExact))
        }
        guard withLedger else { return }
        for part in parts {
            for share in part.ledger.shares { stage.distributor.note(.share(index: part.number, share)) }
        }
        if let remark = RouteCalibration.remark(parts) { say(.info, remark) }
    }
}
