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
        guard options.followsDisplays || screen?.coversDisplay == true else { return }
        displaysDue = .now.advanced(by: Self.calm)
        // A window system may put the windows of a display that went over those that are left.
        board?.isDisplayDue = true
    }

    /// Makes the window anew where it does not stand any more, once the change is over.
    func followDisplays() {
        guard let screen else { return }
        guard options.followsDisplays else {
            if let due = displaysDue, due <= .now {
                displaysDue = nil
                screen.coverDisplayAgain()
            }
            return
        }
        if displaysDue == nil, !isAway, screen.isConnectionLost() { displaysDue = .now }
        guard let due = displaysDue, due <= .now else { return }
        displaysDue = nil
        if !isAway, screen.isOpen, screen.stands { return tellDisplays() }
        remakeWindow()
    }

    /// Makes the window anew; tries again later where that is not to be had.
    func remakeWindow() {
        guard options.followsDisplays, let screen, screen.canBeRemade else { return }
        // It leaves the window system, which takes all windows along.
        board?.close(screen.connection)
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

    /// Lays the board where it belongs and paints it.
    func attendBoard(before next: HostInstant?) {
        guard let board, let screen else { return }
        if screen.isConnectionLost() { return board.abandon() }
        guard screen.isOpen else { return }
        if board.isDisplayDue { board.follow(screen) }
        board.paint(before: next)
        if let trouble = board.takeTrouble() { control.tell(.notice(trouble)) }
    }

    /// Says which displays there are, when they are others than were told last.
    func tellDisplays() {
        guard options.followsDisplays, let screen else { return }
        board?.isDisplayDue = true
        let displays = screen.displays
        guard displays != knownDisplays else { return }
        knownDisplays = displays
        control.tell(.displays(displays))
    }
}
