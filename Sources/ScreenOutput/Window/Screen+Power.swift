/// Switching the screen off while playback may continue.
extension Screen {
    /// Switches the display off or on. While it is off the window is black, and frames are discarded.
    ///
    /// If the display cannot be switched off, the window is black nevertheless; that is reported once.
    func setPower(_ isOn: Bool) {
        checkThread()
        guard isDark == isOn else { return }
        isDark = !isOn
        presenter?.invalidate()
        guard let window else { return }
        if isDark { darken() } else { power.switchOn(window) }
        needsPaint = true
    }

    /// Executes `setPower(false)` on an open window: paints it black and switches the display off.
    func darken() {
        guard let window else { return }
        // Black, because a key press can wake the display.
        paintNothing()
        guard !power.switchOff(window), !isPowerFailureReported else { return }
        isPowerFailureReported = true
        onEvent?(
            .notice("the display cannot be turned off from this program (\(driver)); the window is black instead"))
    }
}
