internal import CSDL
internal import MediaCore
internal import SyncRendering

/// Execution of the commands of other threads.
extension ScreenLoop {
    func connect() {
        if let refusal = control.refusal {
            failure = OutputError(.failed, "no window can be opened: \(refusal.message)")
            return
        }
        do {
            let screen = try Screen(options: options, converter: converter)
            screen.onEvent = { [control] in control.deliver($0) }
            self.screen = screen
            if let failure = screen.failure {
                (isAway, displaysDue) = (true, .now)
                control.deliver(.away(failure))
            }
            reportDisplays()
        } catch {
            failure = error
        }
    }

    func carryOutCommands() {
        control.moveCommands(into: &commands)
        guard !commands.isEmpty else { return }
        for command in commands { carryOut(command) }
        commands.removeAll(keepingCapacity: true)
    }

    private func carryOut(_ command: ScreenControl.Command) {
        switch command {
        case .attach(let layer, let timebase, let events): attach(layer, timebase, events)
        case .detach: detach()
        case .open(let size): open(for: size)
        case .fullScreen(let wanted):
            guard let screen else { return }
            screen.setFullScreen(wanted ?? !screen.isFullScreen)
            fullScreenMayHaveChanged()
        case .view(let view):
            screen?.view = view
            presenter?.invalidate()
        case .arrangement(let arrangement): arrange(arrangement)
        case .mode(let mode, let filmRate):
            screen?.setMode(mode, filmRate: filmRate)
            describe()
        case .remake: remakeWindow()
        case .power(let isOn):
            screen?.setPower(isOn)
            presenter?.invalidate()
        case .title(let title): screen?.setTitle(title)
        case .raise: screen?.raise()
        case .onTop(let isOnTop): screen?.setOnTop(isOnTop)
        case .resize(let size): screen?.resize(to: size)
        case .message(let message): showMessage(message)
        case .mark(let mark, let isAccented):
            overlays.show(mark: mark, isAccented: isAccented)
            overlays.draw(on: screen)
        case .panel(let panel):
            overlays.show(panel: panel)
            overlays.draw(on: screen)
        case .bar(let bar):
            guard bar != overlays.content.bar else { return }
            overlays.show(bar: bar)
            overlays.draw(on: screen)
        case .dashboard(let dashboard): self.dashboard?.content = dashboard
        case .snapshot(.video, let reply):
            reply(
                presenter?.onScreen?.videoFrame.flatMap {
                    ScreenSnapshot(of: $0, at: presenter?.subtitleTimeOnScreen, by: converter)
                })
        case .snapshot(.window, let reply):
            reply(presenter?.onScreen?.videoFrame.flatMap { screen?.snapshot(of: $0) })
        case .snapshot(.screen, let reply):
            reply(screen?.snapshot(withMessagesOver: presenter?.onScreen?.videoFrame))
        case .stop: isStopping = true
        }
    }

    private func arrange(_ arrangement: ScreenArrangement) {
        guard let screen, screen.arrangement != arrangement else { return }
        screen.arrangement = arrangement
        presenter?.invalidate()
        describe()
        overlays.draw(on: screen)
        if let area = screen.area { control.deliver(.resized(area)) }
    }

    private func attach(_ layer: DisplayLayer, _ timebase: Timebase, _ events: EventLog) {
        detach()
        self.layer = layer
        self.timebase = timebase
        layer.toneMapping.isDoneByScreen = screen?.mapsTones ?? false
        let output: any VideoOutput = screen ?? nothing
        presenter = FramePresenter(layer: layer, timebase: timebase, output: output, events: events)
        // The presenter replaces what the command added.
        layer.removeScreen()
        layer.arrival.echo(to: control.signal)
    }

    private func detach() {
        presenter?.leave()
        layer?.arrival.echo(to: nil)
        layer = nil
    }

    private func open(for size: PixelSize) {
        guard let screen else { return reportFailure() }
        if screen.isOpen { return screen.fit(to: size) }
        if isAway {
            screen.openedFor = size
            return
        }
        do { try screen.open(for: size) } catch { control.deliver(.lost(error)) }
        describe()
    }

    /// Reports once that there is no display; only a film with video needs one.
    func reportFailure() {
        guard let failure, !isFailureKnown else { return }
        isFailureKnown = true
        control.deliver(.lost(failure))
    }

    /// Shows a message over the video, or removes it.
    func showMessage(_ message: ScreenMessage?) {
        overlays.show(message)
        overlays.draw(on: screen)
        if screen?.area == nil { overlays.beginMessage() }
    }

    /// Reports a change of full screen, if there was one.
    func fullScreenMayHaveChanged() {
        guard let screen else { return }
        let isFullScreen = screen.isFullScreen
        let hasChanged = control.state.withLock { state in
            defer { state.isFullScreen = isFullScreen }
            return state.isFullScreen != isFullScreen
        }
        guard hasChanged else { return }
        cursor.pointerMoved(isFullScreen: isFullScreen)
        control.deliver(.fullScreen(isFullScreen))
    }

    /// Updates the published state of the window.
    func describe() {
        guard let screen else { return }
        layer?.toneMapping.isDoneByScreen = screen.mapsTones
        let (presentation, geometry) = (screen.presentation, screen.geometry)
        let display = screen.display
        // Profiles of calibrations have whole numbers.
        var rate = screen.modeNow.flatMap { $0.rate > 0 ? Int(clamping: $0.rate.rounded(), in: 1...1000) : nil }
        if case .immediate? = screen.presenter?.refresh { rate = nil }
        control.state.withLock { state in
            state.display = display?.name ?? ""
            state.displayRate = rate
            state.presentation = presentation
            (state.area, state.titleSafeArea) = (geometry?.canvas, geometry?.titleSafe)
        }
    }

    /// Inhibits the screen saver during playback, or always with `staysAwake`.
    func updateScreenSaver() {
        guard let screen, screen.isOpen else { return }
        let isRunning = options.staysAwake || (timebase.map { $0.rate != 0 } ?? false)
        guard isRunning != isAwake else { return }
        isAwake = isRunning
        if isRunning { SDL_DisableScreenSaver() } else { SDL_EnableScreenSaver() }
    }
}
