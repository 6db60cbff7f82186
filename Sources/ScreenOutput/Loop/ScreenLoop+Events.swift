internal import CSDL
internal import MediaCore

/// Handling of window-system events.
extension ScreenLoop {
    /// Handles all pending events. Returns true if there were any.
    func serveWindow() -> Bool {
        guard let screen, screen.isOpen else { return false }
        var event = SDL_Event()
        var hadNews = false
        while !screen.isConnectionLost(), SDL_PollEvent(&event) != 0 {
            handle(event, on: screen)
            hadNews = true
        }
        return hadNews
    }

    private func handle(_ event: SDL_Event, on screen: Screen) {
        if let board, board.handle(event) { return }
        switch SDL_EventType(event.type) {
        case SDL_WINDOWEVENT:
            let input = screen.handle(event.window)
            if case .resized = input {
                describe()
                layOutMessage()
                fullScreenMayHaveChanged()
            }
            if let input { control.deliver(input) }
            if UInt32(event.window.event) == SDL_WINDOWEVENT_LEAVE.rawValue { control.deliver(pointer: .left) }
        case SDL_DISPLAYEVENT: noteDisplayChange()
        case SDL_SYSWMEVENT:
            if let wanted = screen.connection?.changeEvent, csdl_x11_event_type(event.syswm.msg) == wanted {
                noteDisplayChange()
            }
        case SDL_QUIT:
            // SDL reports the loss of a Wayland compositor this way.
            screen.connection?.noteLossOfCompositor()
        case SDL_KEYDOWN:
            isRepeating = event.key.repeat != 0
            let name = KeyName.name(of: event.key.keysym)
            hasNamedKey = name != nil
            if let name { deliverKey(name) }
        case SDL_KEYUP: hasNamedKey = false
        case SDL_TEXTINPUT:
            // SDL 2.26 reports a letter with Alt both as a key and as text on X11.
            if hasNamedKey { return }
            let names = withUnsafeBytes(of: event.text.text) { bytes in
                KeyName.names(ofText: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
            for name in names { deliverKey(name) }
        case SDL_MOUSEBUTTONDOWN:
            isRepeating = false
            if event.button.button == 1, press(x: event.button.x, y: event.button.y, on: screen) {
                // Handled by the panel or the bar.
            } else {
                if event.button.button == 1 {
                    windowDrag = WindowDrag(of: screen, right: event.button.x, down: event.button.y)
                }
                if let name = KeyName.button(event.button.button, clicks: event.button.clicks) { deliverKey(name) }
            }
            cursor.pointerMoved(isFullScreen: screen.isFullScreen)
        case SDL_MOUSEWHEEL:
            isRepeating = false
            let turned = event.wheel.direction == SDL_MOUSEWHEEL_FLIPPED.rawValue ? Int32(-1) : 1
            if event.wheel.y != 0, turnWheel(Int((event.wheel.y * turned).signum()), on: screen) { return }
            if event.wheel.y != 0 { deliverKey(event.wheel.y * turned > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
            if event.wheel.x != 0 { deliverKey(event.wheel.x * turned > 0 ? "WHEEL_RIGHT" : "WHEEL_LEFT") }
        case SDL_DROPBEGIN: dropped = []
        case SDL_DROPFILE, SDL_DROPTEXT:
            guard let text = event.drop.file else { return }
            // A safety limit; a folder counts as one entry.
            if dropped.count < Self.maxDropped { dropped.append(String(cString: text)) }
            SDL_free(text)
        case SDL_DROPCOMPLETE:
            let words = dropped
            dropped = []
            if !words.isEmpty {
                let isShiftHeld = SDL_GetModState().rawValue & KMOD_SHIFT.rawValue != 0
                control.deliver(.dropped(words, appends: isShiftHeld))
            }
        case SDL_MOUSEBUTTONUP:
            guard event.button.button == 1 else { return }
            // The position may be newer than the release: the window stays where the last motion has moved it.
            windowDrag = nil
            letGo(x: event.button.x, y: event.button.y, on: screen)
        case SDL_MOUSEMOTION:
            let now = HostInstant.now
            // Pointer events arrive at up to 1 kHz.
            if windowDrag == nil, let lastPointerEvent, now - lastPointerEvent < .milliseconds(100) { return }
            lastPointerEvent = now
            let hasMoved = pointer.hasMoved(on: screen)
            // A drag compares with its start: an event from before the press may have been read after the whole motion.
            if windowDrag?.follow(screen) == true { return }
            guard hasMoved else { return }
            cursor.pointerMoved(isFullScreen: screen.isFullScreen)
            movePointer(x: event.motion.x, y: event.motion.y, on: screen)
        default: break
        }
    }

    /// Reports a press while there is a panel, at a pixel of the window.
    private func point(_ layout: PanelLayout, at place: (x: Int, y: Int)) {
        if let hit = layout.hit(x: place.x, y: place.y, rows: panel?.rows.count ?? 0) {
            control.deliver(pointer: .panel(row: hit.row, hit.part, turned: 0))
        } else if !layout.contains(x: place.x, y: place.y) {
            control.deliver(pointer: .besidePanel)
        }
    }

    /// Handles a wheel step over a panel, beside it, or over the bar's volume. Returns false elsewhere.
    private func turnWheel(_ turned: Int, on screen: Screen) -> Bool {
        var (x, y): (Int32, Int32) = (0, 0)
        SDL_GetMouseState(&x, &y)
        let place = screen.pixel(x: Int(x), y: Int(y))
        if let hit = panelLayout?.hit(x: place.x, y: place.y, rows: panel?.rows.count ?? 0) {
            control.deliver(pointer: .panel(row: hit.row, hit.part, turned: turned))
            return true
        }
        let isOnPanel = panelLayout?.contains(x: place.x, y: place.y) == true
        let part = isOnPanel ? nil : barLayout?.hit(x: place.x, y: place.y)
        guard panelLayout != nil || part?.isVolume == true else { return false }
        control.deliver(pointer: .wheel(over: part, turned: turned))
        return true
    }

    /// Handles a press on the panel or the bar, or beside both while there is a panel. Returns false elsewhere.
    private func press(x: Int32, y: Int32, on screen: Screen) -> Bool {
        let place = screen.pixel(x: Int(x), y: Int(y))
        if let panelLayout {
            point(panelLayout, at: place)
            if panelLayout.contains(x: place.x, y: place.y) { return true }
        }
        guard let part = barLayout?.hit(x: place.x, y: place.y) else { return panelLayout != nil }
        dragged = part
        control.deliver(pointer: .bar(part, isDragged: barLayout?.drag(part, to: place.x) != nil))
        return true
    }

    private func letGo(x: Int32, y: Int32, on screen: Screen) {
        guard let dragged else { return }
        self.dragged = nil
        let place = screen.pixel(x: Int(x), y: Int(y))
        if let part = barLayout?.drag(dragged, to: place.x) { control.deliver(pointer: .bar(part, isDragged: false)) }
    }

    private func movePointer(x: Int32, y: Int32, on screen: Screen) {
        let place = screen.pixel(x: Int(x), y: Int(y))
        if let dragged, let part = barLayout?.drag(dragged, to: place.x) {
            return control.deliver(pointer: .bar(part, isDragged: true))
        }
        let part = panelLayout?.contains(x: place.x, y: place.y) == true ? nil : barLayout?.hit(x: place.x, y: place.y)
        control.deliver(pointer: .moved(over: part))
    }

    private func deliverKey(_ name: String) { control.deliver(.key(name, isRepeat: isRepeating)) }
}
