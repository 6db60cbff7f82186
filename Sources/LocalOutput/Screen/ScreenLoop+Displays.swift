internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Displays that come and go, for a screen that follows them (`ScreenOptions.followsDisplays`).
extension ScreenLoop {
    /// A display changes in several steps, and each of them is told.
    private static let calm: Duration = .milliseconds(250)
    /// From one attempt to make a window to the next.
    private static let patience: Duration = .seconds(1)

    /// The window system said that its displays are others now.
    func noteDisplayChange() {
        guard options.followsDisplays else { return }
        displaysDue = .now.advanced(by: Self.calm)
    }

    /// Makes the window anew where it does not stand any more, once the change is over.
    func followDisplays() {
        guard options.followsDisplays, let screen else { return }
        if displaysDue == nil, !isAway, screen.isConnectionLost() { displaysDue = .now }
        guard let due = displaysDue, due <= .now else { return }
        displaysDue = nil
        if !isAway, screen.isOpen, screen.stands { return tellDisplays() }
        remakeWindow()
    }

    /// Makes the window anew; tries again later where that is not to be had.
    func remakeWindow() {
        guard options.followsDisplays, let screen, screen.canBeRemade else { return }
        guard screen.remake() else {
            if !isAway {
                isAway = true
                control.tell(
                    .away(screen.failure ?? OutputError(.lost, "the display is gone")))
                describe()
            }
            displaysDue = .now.advanced(by: Self.patience)
            return
        }
        let wasAway = isAway
        (isAway, isAwake, isDescribed) = (false, false, false)
        presenter?.invalidate()
        screen.geometryChanged()
        tellDisplays()
        layOutMessage()
        control.tell(wasAway ? .back : .remade)
    }

    /// Says which displays there are, when they are others than were told last.
    func tellDisplays() {
        guard options.followsDisplays, let screen else { return }
        let displays = screen.displays
        guard displays != knownDisplays else { return }
        knownDisplays = displays
        control.tell(.displays(displays))
    }
}
