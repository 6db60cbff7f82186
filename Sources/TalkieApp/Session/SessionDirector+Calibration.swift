internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Profiles
internal import Routing
internal import SyncRendering
internal import Telemetry

// What was calibrated, applied to those that play and written down.
extension SessionDirector {
    /// Now that the screen is known, what was measured with just this one takes the place of what was measured with another.
    func calibrate(screen: String?, mode: String) {
        if stage.player.calibration?.setScreen(screen, mode: mode) == true { recalibrate(withLedger: screen != nil) }
    }

    /// A card is heard at another sink, or it has become known at which.
    func recalibrate() { recalibrate(withLedger: hasShownPicture) }

    private func recalibrate(withLedger: Bool) {
        guard let calibration = stage.player.calibration else { return }
        noteCalibration(calibration.apply(), withLedger: withLedger)
    }

    /// Writes down what calibrations do to those that play.
    func noteCalibration(_ parts: [RouteCalibration.Part], withLedger: Bool) {
        for part in parts {
            // One that holds no longer is news, too.
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
