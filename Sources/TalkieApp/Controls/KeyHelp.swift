/// The keys and their functions, for the help page and README.md.
enum KeyHelp {
    /// A test compares the names with `KeyBindings`.
    static let rows: [(keys: String, words: String, names: [String])] = [
        ("Space, p", "pause, resume", ["SPACE", "p"]),
        ("← →", "5 s back, forward (Shift: 1 s, exact)", ["LEFT", "RIGHT", "Shift+LEFT", "Shift+RIGHT"]),
        ("↑ ↓", "1 minute forward, back (Shift: 5 s, exact)", ["UP", "DOWN", "Shift+UP", "Shift+DOWN"]),
        ("Wheel", "10 s forward, back; over the volume: the volume", ["WHEEL_UP", "WHEEL_DOWN"]),
        (
            "Page Up, Page Down", "next, previous chapter (Shift: 10 minutes)",
            ["PGUP", "PGDWN", "@", "!", "Shift+PGUP", "Shift+PGDWN"]
        ),
        (". ,", "next, previous frame", [".", ","]),
        ("[ ]  { }", "slower, faster; half, double", ["[", "]", "{", "}"]),
        ("Backspace", "normal speed", ["BS"]),
        ("Shift+Backspace", "back to before the last seek (Ctrl: mark here)", ["Shift+BS", "Shift+Ctrl+BS"]),
        ("9 0", "quieter, louder", ["9", "0", "/", "*", "WHEEL_LEFT", "WHEEL_RIGHT"]),
        ("m", "mute", ["m"]),
        ("s", "where the sound goes, and the volume there", ["s"]),
        ("n  C", "night mode; louder voices", ["n", "C"]),
        ("Ctrl and + -", "sound later, earlier", ["Ctrl++", "Ctrl+=", "Ctrl+-"]),
        ("#  _", "next sound track, picture track", ["SHARP", "_"]),
        ("j J", "next, previous subtitles", ["j", "J"]),
        ("v  Alt+v", "hide, show subtitles; the second ones", ["v", "Alt+v"]),
        ("z x", "subtitles earlier, later", ["z", "x", "Z"]),
        (
            "Ctrl and ← →", "previous, next subtitle (Shift: now)",
            ["Ctrl+LEFT", "Ctrl+RIGHT", "Shift+Ctrl+LEFT", "Shift+Ctrl+RIGHT"]
        ),
        ("r t  F G", "subtitles higher, lower; smaller, larger", ["r", "R", "t", "F", "G"]),
        ("u", "subtitles in plain style, or their author's", ["u"]),
        ("f", "full screen, also by a double click", ["f", "MBTN_LEFT_DBL"]),
        ("Esc", "leave full screen", ["ESC"]),
        ("T", "window above others", ["T"]),
        ("Alt+0 1 2", "window of half, natural, double size", ["Alt+0", "Alt+1", "Alt+2"]),
        ("A  d", "aspect ratio; deinterlacing", ["A", "d"]),
        ("w W", "black bars, cut edges", ["w", "W", "e"]),
        ("Alt and + -", "zoom", ["Alt++", "Alt+=", "Alt+-"]),
        ("Alt and arrows", "move the picture", ["Alt+LEFT", "Alt+RIGHT", "Alt+UP", "Alt+DOWN"]),
        ("Alt+Backspace", "reset zoom and position", ["Alt+BS"]),
        ("> <  Enter", "next, previous film", [">", "<", "ENTER"]),
        ("l  L", "repeat from here, to here; repeat the film", ["l", "L"]),
        ("S  Alt+s  Ctrl+s", "screenshot: picture, with subtitles, window", ["S", "Alt+s", "Ctrl+s"]),
        ("o  O", "position and tracks; position always", ["o", "P", "O"]),
        ("F8  F9", "the films; all tracks", ["F8", "F9"]),
        ("i", "statistics", ["i", "I"]),
        ("Delete", "the bar: always, never, with the pointer", ["DEL"]),
        ("?", "these keys", ["?"]),
        ("q  Q", "quit; resume here next time", ["q", "Q", "Ctrl+w", "Ctrl+c"]),
    ]
}
