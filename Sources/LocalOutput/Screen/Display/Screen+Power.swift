/// A screen that is switched off for the night, while films may go on.
extension Screen {
    /// Switches the display off, or on again; while it is off the window is black, and pictures are taken and dropped.
    ///
    /// Where displays cannot be switched off, the window is black all the same; that is told once.
    func setPower(_ isOn: Bool) {
        checkThread()
        guard isDark == isOn else { return }
        isDark = !isOn
        presenter?.invalidate()
        guard let window else { return }
        if isDark { darken() } else { power.switchOn(window) }
        needsPaint = true
    }

    /// What `setPower(false)` means for a window that is there.
    func darken() {
        guard let window else { return }
        // Somebody may wake the display by a key.
        paintNothing()
        guard !power.switchOff(window), !isPowerTold else { return }
        isPowerTold = true
        onNews?(
            .notice("the display cannot be switched off from here (\(driver)); the window is black in its place"))
    }
}
