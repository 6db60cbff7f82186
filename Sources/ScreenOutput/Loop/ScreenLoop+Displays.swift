internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Handling of display changes, mainly for a screen with `ScreenOptions.followsDisplays`.
extension ScreenLoop {
    /// The quiet time before a change is handled: a display changes in several steps, each with an event.
    private static let calm: Duration = .milliseconds(250)
    /// The interval of attempts to create a window.
    private static let timeout: Duration = .seconds(1)

    /// Handles an event of a changed display configuration.
    func scheduleDisplayUpdate() {
        guard options.followsDisplays || screen?.fullScreen.coversDisplay == true else { return }
        displaysDue = .now.advanced(by: Self.calm)
        // A window system may move windows of a removed display over those of the remaining ones.
        dashboard?.isDisplayDue = true
    }

    /// Recreates the window if its display has changed, after the quiet time. Without `followsDisplays`, only resizes a
    /// window that covers its display.
    func updateDisplays() {
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
        if !isAway, screen.isOpen, screen.stands {
            if options.isPlacedByUser { screen.coverDisplayAgain() }
            return reportDisplays()
        }
        remakeWindow()
    }

    /// Recreates the window; retries later if that fails.
    func remakeWindow() {
        guard options.followsDisplays, let screen, screen.canBeRemade else { return }
        // `remake` quits the video subsystem, which destroys all windows.
        dashboard?.close(screen.connection)
        guard screen.remake() else {
            if !isAway {
                isAway = true
                control.deliver(
                    .away(screen.failure ?? OutputError(.lost, "the display was disconnected")))
                describe()
            }
            displaysDue = .now.advanced(by: Self.timeout)
            return
        }
        let wasAway = isAway
        (isAway, isAwake, isDescribed) = (false, false, false)
        presenter?.invalidate()
        screen.geometryChanged()
        // A new video subsystem shows the pointer.
        cursor.pointerMoved(isFullScreen: screen.isFullScreen)
        reportDisplays()
        overlays.draw(on: screen)
        control.deliver(wasAway ? .back : .remade)
    }

    /// Places and paints the dashboard. Abandons it if the window system is gone.
    func updateDashboard(before next: HostInstant?) {
        guard let dashboard, let screen else { return }
        if screen.isConnectionLost() { return dashboard.abandon() }
        guard screen.isOpen else { return }
        if dashboard.isDisplayDue { dashboard.update(screen) }
        dashboard.paint(before: next)
        if let trouble = dashboard.consumeProblem() { control.deliver(.notice(trouble)) }
    }

    /// Reports the displays if they differ from the last report.
    func reportDisplays() {
        guard options.followsDisplays, let screen else { return }
        dashboard?.isDisplayDue = true
        let displays = screen.displays
        guard displays != knownDisplays else { return }
        knownDisplays = displays
        control.deliver(.displays(displays))
    }
}
