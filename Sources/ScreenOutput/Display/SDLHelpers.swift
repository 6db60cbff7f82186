internal import CSDL
internal import MediaCore

/// Returns the last SDL error of this thread.
func sdlError() -> String {
    let text = SDL_GetError().map { String(cString: $0) } ?? ""
    return text.isEmpty ? "no reason given" : text
}

func sdlHint(_ name: String, _ value: String) { SDL_SetHintWithPriority(name, value, SDL_HINT_OVERRIDE) }

extension SDL_Rect {
    init(_ rect: PixelRect) {
        self.init(x: Int32(rect.x), y: Int32(rect.y), w: Int32(rect.width), h: Int32(rect.height))
    }
}
