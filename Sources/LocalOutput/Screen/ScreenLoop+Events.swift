internal import CSDL
internal import MediaCore

/// What the window system says.
extension ScreenLoop {
    /// Takes all that has come in; true when there was something.
    func serveWindow() -> Bool {
        guard let screen, screen.isOpen else { return false }
        var event = SDL_Event()
        var hadNews = false
        while !screen.isConnectionLost(), SDL_PollEvent(&event) != 0 {
            take(event, on: screen)
            hadNews = true
        }
        return hadNews
    }

    private func take(_ event: SDL_Event, on screen: Screen) {
        switch SDL_EventType(event.type) {
        case SDL_WINDOWEVENT:
            let news = screen.take(event.window)
            if case .resized = news {
                describe()
                layOutMessage()
                fullScreenMayHaveChanged()
            }
            if let news { control.report.yield(news) }
        case SDL_KEYDOWN:
            isRepeating = event.key.repeat != 0
            if let name = KeyName.name(of: event.key.keysym) { tell(name) }
        case SDL_TEXTINPUT:
            let names = withUnsafeBytes(of: event.text.text) { bytes in
                KeyName.names(ofText: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
            for name in names { tell(name) }
        case SDL_MOUSEBUTTONDOWN:
            isRepeating = false
            if let name = KeyName.button(event.button.button, clicks: event.button.clicks) { tell(name) }
            cursor.pointerMoved(isFullScreen: screen.isFullScreen)
        case SDL_MOUSEWHEEL:
            isRepeating = false
            let turned = event.wheel.direction == SDL_MOUSEWHEEL_FLIPPED.rawValue ? Int32(-1) : 1
            if event.wheel.y != 0 { tell(event.wheel.y * turned > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
            if event.wheel.x != 0 { tell(event.wheel.x * turned > 0 ? "WHEEL_RIGHT" : "WHEEL_LEFT") }
        case SDL_MOUSEMOTION: cursor.pointerMoved(isFullScreen: screen.isFullScreen)
        default: break
        }
    }

    private func tell(_ name: String) { control.report.yield(.key(name, isRepeat: isRepeating)) }
}
