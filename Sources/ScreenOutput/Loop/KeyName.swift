internal import CSDL

/// Converts SDL keys to mpv's key names (mpv manual, section "input.conf").
enum KeyName {
    /// Returns the name of a non-printable key, or of a key with a modifier that prevents text input. Nil for modifiers
    /// themselves and for keys that arrive as text.
    static func name(of key: SDL_Keysym) -> String? {
        let modifiers = UInt32(key.mod)
        let hasControl = modifiers & UInt32(KMOD_CTRL.rawValue) != 0
        let hasAlt = modifiers & UInt32(KMOD_LALT.rawValue) != 0
        let hasMeta = modifiers & UInt32(KMOD_GUI.rawValue) != 0
        let hasShift = modifiers & UInt32(KMOD_SHIFT.rawValue) != 0
        if let special = special(key.sym) {
            return prefix(shift: hasShift, control: hasControl, alt: hasAlt, meta: hasMeta) + special
        }
        // Text arrives as SDL_TEXTINPUT, which respects the keyboard layout.
        guard hasControl || hasAlt || hasMeta else { return nil }
        if let sign = padSigns[key.sym] {
            return prefix(shift: false, control: hasControl, alt: hasAlt, meta: hasMeta) + sign
        }
        guard let scalar = Unicode.Scalar(UInt32(bitPattern: key.sym)),
            scalar.value >= 32, scalar.value < 0x110000, key.sym & Int32(SDLK_SCANCODE_MASK) == 0
        else { return nil }
        // Shift is part of a letter; shifted symbols depend on the layout and are unknown here.
        let letter = hasShift ? String(scalar).uppercased() : String(scalar)
        return prefix(shift: false, control: hasControl, alt: hasAlt, meta: hasMeta) + named(letter)
    }

    /// Returns the names of typed characters.
    static func names(ofText text: String) -> [String] { text.map { named(String($0)) } }

    /// Returns the name of a mouse button; nil for further buttons.
    static func button(_ button: UInt8, clicks: UInt8) -> String? {
        let names = ["MBTN_LEFT", "MBTN_MID", "MBTN_RIGHT", "MBTN_BACK", "MBTN_FORWARD"]
        guard button >= 1, Int(button) <= names.count else { return nil }
        return names[Int(button) - 1] + (clicks == 2 && button <= 3 ? "_DBL" : "")
    }

    /// Returns the modifiers in mpv's order.
    private static func prefix(shift: Bool, control: Bool, alt: Bool, meta: Bool) -> String {
        (shift ? "Shift+" : "") + (control ? "Ctrl+" : "") + (alt ? "Alt+" : "") + (meta ? "Meta+" : "")
    }

    private static func named(_ character: String) -> String {
        switch character {
        case " ": "SPACE"
        case "#": "SHARP"
        default: character
        }
    }

    /// Keypad keys that arrive as text without a modifier.
    private static let padSigns: [Int32: String] = Dictionary(
        uniqueKeysWithValues: [
            (SDLK_KP_PLUS, "+"), (SDLK_KP_MINUS, "-"), (SDLK_KP_MULTIPLY, "*"), (SDLK_KP_DIVIDE, "/"),
            (SDLK_KP_EQUALS, "="),
        ].map { (Int32(bitPattern: $0.0.rawValue), $0.1) })

    private static let specials: [Int32: String] = {
        var names: [Int32: String] = [:]
        func add(_ key: SDL_KeyCode, _ name: String) { names[Int32(bitPattern: key.rawValue)] = name }
        add(SDLK_RETURN, "ENTER")
        add(SDLK_TAB, "TAB")
        add(SDLK_BACKSPACE, "BS")
        add(SDLK_DELETE, "DEL")
        add(SDLK_INSERT, "INS")
        add(SDLK_HOME, "HOME")
        add(SDLK_END, "END")
        add(SDLK_PAGEUP, "PGUP")
        add(SDLK_PAGEDOWN, "PGDWN")
        add(SDLK_ESCAPE, "ESC")
        add(SDLK_PRINTSCREEN, "PRINT")
        add(SDLK_RIGHT, "RIGHT")
        add(SDLK_LEFT, "LEFT")
        add(SDLK_DOWN, "DOWN")
        add(SDLK_UP, "UP")
        add(SDLK_MENU, "MENU")
        let functionKeys = [
            SDLK_F1, SDLK_F2, SDLK_F3, SDLK_F4, SDLK_F5, SDLK_F6, SDLK_F7, SDLK_F8, SDLK_F9, SDLK_F10, SDLK_F11,
            SDLK_F12,
        ]
        for (index, key) in functionKeys.enumerated() { add(key, "F\(index + 1)") }
        add(SDLK_KP_ENTER, "KP_ENTER")
        add(SDLK_AUDIOPLAY, "PLAYPAUSE")
        add(SDLK_AUDIOSTOP, "STOP")
        add(SDLK_AUDIONEXT, "NEXT")
        add(SDLK_AUDIOPREV, "PREV")
        add(SDLK_AUDIOFASTFORWARD, "FORWARD")
        add(SDLK_AUDIOREWIND, "REWIND")
        add(SDLK_VOLUMEUP, "VOLUME_UP")
        add(SDLK_VOLUMEDOWN, "VOLUME_DOWN")
        add(SDLK_MUTE, "MUTE")
        add(SDLK_AUDIOMUTE, "MUTE")
        add(SDLK_POWER, "POWER")
        return names
    }()

    private static func special(_ key: Int32) -> String? { specials[key] }
}
