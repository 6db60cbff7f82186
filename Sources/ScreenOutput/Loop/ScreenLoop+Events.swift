internal import CSDL
internal import MediaCore

/// Handling of window-system events.
extension ScreenLoop {
    /// Handles all pending events. Returns true if there were any.
    func serveWindow() -> Bool {
        guard let screen, screen.isOpen else { return false }
        var event = SDL_Event()
        var hadEvents = false
        while !screen.isConnectionLost(), SDL_PollEvent(&event) != 0 {
            handle(event, on: screen)
            hadEvents = true
        }
        return hadEvents
    }

    private func handle(_ event: SDL_Event, on screen: Screen) {
        if let dashboard, dashboard.handle(event) { return }
        // Events of a destroyed window are still queued. Pointer events without a focused window have the number 0.
        if let number = event.windowNumber, number != 0, number != screen.windowNumber { return }
        switch SDL_EventType(event.type) {
        case SDL_WINDOWEVENT:
            let input = screen.handle(event.window)
            if case .resized = input {
                describe()
                overlays.draw(on: screen)
                fullScreenMayHaveChanged()
            }
            if let input { control.deliver(input) }
            if UInt32(event.window.event) == SDL_WINDOWEVENT_LEAVE.rawValue { control.deliver(pointer: .left) }
        case SDL_DISPLAYEVENT: scheduleDisplayUpdate()
        case SDL_SYSWMEVENT:
            if let wanted = screen.connection?.changeEvent, csdl_x11_event_type(event.syswm.msg) == wanted {
                scheduleDisplayUpdate()
            }
        case SDL_QUIT:
            // SDL reports the loss of a Wayland compositor this way.
            screen.connection?.checkCompositor()
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
            let position = screen.pixel(x: Int(event.button.x), y: Int(event.button.y))
            if event.button.button == 1, let used = overlays.press(at: position) {
                for event in used { control.deliver(pointer: event) }
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
            var (x, y): (Int32, Int32) = (0, 0)
            SDL_GetMouseState(&x, &y)
            let step = Int((event.wheel.y * turned).signum())
            if step != 0, let used = overlays.turnWheel(step, at: screen.pixel(x: Int(x), y: Int(y))) {
                return control.deliver(pointer: used)
            }
            if step != 0 { deliverKey(step > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
            if event.wheel.x != 0 { deliverKey(event.wheel.x * turned > 0 ? "WHEEL_RIGHT" : "WHEEL_LEFT") }
        case SDL_DROPBEGIN: dropped = []
        case SDL_DROPFILE, SDL_DROPTEXT:
            guard let text = event.drop.file else { return }
            // A safety limit; a folder counts as one entry.
            if dropped.count < Self.maxDropped { dropped.append(FileName.text(text)) }
            SDL_free(text)
        case SDL_DROPCOMPLETE:
            let isShiftHeld = SDL_GetModState().rawValue & KMOD_SHIFT.rawValue != 0
            if !dropped.isEmpty { control.deliver(.dropped(dropped, appends: isShiftHeld)) }
            dropped = []
        case SDL_MOUSEBUTTONUP:
            guard event.button.button == 1 else { return }
            // The position may be newer than the release: the window stays where the last motion has moved it.
            windowDrag = nil
            let position = screen.pixel(x: Int(event.button.x), y: Int(event.button.y))
            if let used = overlays.release(at: position) { control.deliver(pointer: used) }
        case SDL_MOUSEMOTION:
            heldMotion = (Int(event.motion.x), Int(event.motion.y))
            deliverMotion(on: screen)
        default: break
        }
    }

    /// When the held motion is to be delivered; nil without one.
    var motionDue: HostInstant? {
        // Pointer events arrive at up to 1 kHz.
        guard heldMotion != nil, screen?.isOpen == true else { return nil }
        return lastPointerEvent?.advanced(by: .milliseconds(100)) ?? .now
    }

    /// Delivers the last motion of the pointer if it is due. A drag of the window follows at once.
    func deliverMotion(on screen: Screen) {
        guard let (x, y) = heldMotion, let due = motionDue, windowDrag != nil || due <= .now else { return }
        (heldMotion, lastPointerEvent) = (nil, .now)
        let hasMoved = pointer.hasMoved(on: screen)
        // A drag compares with its start: an event from before the press may have been read after the whole motion.
        if windowDrag?.move(screen) == true { return }
        guard hasMoved else { return }
        cursor.pointerMoved(isFullScreen: screen.isFullScreen)
        control.deliver(pointer: overlays.move(to: screen.pixel(x: x, y: y)))
    }

    private func deliverKey(_ name: String) { control.deliver(.key(name, isRepeat: isRepeating)) }
}

extension SDL_Event {
    /// The window of a pointer or window event; nil for other events.
    var windowNumber: UInt32? {
        switch SDL_EventType(type) {
        case SDL_WINDOWEVENT: window.windowID
        case SDL_MOUSEBUTTONDOWN, SDL_MOUSEBUTTONUP: button.windowID
        case SDL_MOUSEMOTION: motion.windowID
        case SDL_MOUSEWHEEL: wheel.windowID
        default: nil
        }
    }
}
