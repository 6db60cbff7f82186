internal import CSDL

/// What SDL says went wrong last on this thread.
func sdlError() -> String {
    let text = SDL_GetError().map { String(cString: $0) } ?? ""
    return text.isEmpty ? "no reason given" : text
}

func sdlHint(_ name: String, _ value: String) { SDL_SetHintWithPriority(name, value, SDL_HINT_OVERRIDE) }
