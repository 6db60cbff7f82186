internal import MediaCore
internal import Playback

/// The default key bindings of window and terminal: mpv's defaults (0.35, etc/input.conf), as far as implemented.
///
/// Differences: `s` opens the list of outputs; a screenshot with subtitles is `Alt+s`. `n` and `C`, unused by mpv, are
/// night mode and dialogue level. `DEL` is mpv's key of its bar.
enum KeyBindings {
    /// Returns the commands of a key, each as its words; none for an unused key.
    ///
    /// - Parameter key: mpv's name, such as `"q"`, `"Shift+RIGHT"`, `"MBTN_LEFT_DBL"`, `"Ctrl++"`.
    static func commands(for key: String) -> [[String]] {
        // ignored: a test parses every line.
        table[key].flatMap { try? CommandText.commands(in: $0, from: .keyBinding) } ?? []
    }

    /// The keys, for help texts.
    static var keys: [String] { table.keys.sorted() }

    private static let table: [String: String] = [
        "SPACE": "cycle pause", "p": "cycle pause", "MBTN_RIGHT": "cycle pause", "PLAY": "cycle pause",
        "PAUSE": "cycle pause", "PLAYPAUSE": "cycle pause", "PLAYONLY": "set pause no", "PAUSEONLY": "set pause yes",
        "RIGHT": "seek 5", "LEFT": "seek -5", "UP": "seek 60", "DOWN": "seek -60",
        "Shift+RIGHT": "seek 1 exact", "Shift+LEFT": "seek -1 exact", "Shift+UP": "seek 5 exact",
        "Shift+DOWN": "seek -5 exact", "Shift+PGUP": "seek 600", "Shift+PGDWN": "seek -600", "FORWARD": "seek 60",
        "REWIND": "seek -60", "WHEEL_UP": "seek 10", "WHEEL_DOWN": "seek -10",
        "PGUP": "add chapter 1", "PGDWN": "add chapter -1", "@": "add chapter 1", "!": "add chapter -1",
        ".": "frame-step", ",": "frame-back-step",
        "[": "multiply speed 1/1.1", "]": "multiply speed 1.1", "{": "multiply speed 0.5", "}": "multiply speed 2",
        "BS": "set speed 1", "Shift+BS": "revert-seek", "Shift+Ctrl+BS": "revert-seek mark",
        "Ctrl+LEFT": "sub-seek -1", "Ctrl+RIGHT": "sub-seek 1", "Shift+Ctrl+LEFT": "sub-step -1",
        "Shift+Ctrl+RIGHT": "sub-step 1",
        "9": "add volume -2", "/": "add volume -2", "VOLUME_DOWN": "add volume -2", "WHEEL_LEFT": "add volume -2",
        "0": "add volume 2", "*": "add volume 2", "VOLUME_UP": "add volume 2", "WHEEL_RIGHT": "add volume 2",
        "n": "cycle night-mode", "C": "cycle dialog-level",
        "m": "cycle mute", "MUTE": "cycle mute",
        // On many keyboards "+" is Shift and "="; with Shift the key has the same name.
        "Ctrl++": "add audio-delay 0.1", "Ctrl+=": "add audio-delay 0.1", "Ctrl+-": "add audio-delay -0.1",
        "j": "cycle sub", "J": "cycle sub down", "v": "cycle sub-visibility",
        "Alt+v": "cycle secondary-sub-visibility",
        "z": "add sub-delay -0.1", "x": "add sub-delay 0.1", "Z": "add sub-delay 0.1",
        "r": "add sub-pos -1", "R": "add sub-pos 1", "t": "add sub-pos 1", "G": "add sub-scale 0.1",
        "F": "add sub-scale -0.1", "u": "cycle-values sub-ass-override force no",
        "w": "add panscan -0.1", "W": "add panscan 0.1", "e": "add panscan 0.1",
        "A": "cycle-values video-aspect-override 16:9 4:3 2.35:1 -1",
        "Alt+LEFT": "add video-pan-x 0.1", "Alt+RIGHT": "add video-pan-x -0.1",
        "Alt+UP": "add video-pan-y 0.1", "Alt+DOWN": "add video-pan-y -0.1",
        "Alt++": "add video-zoom 0.1", "Alt+=": "add video-zoom 0.1", "Alt+-": "add video-zoom -0.1",
        "Alt+BS": "set video-zoom 0; set video-pan-x 0; set video-pan-y 0",
        "SHARP": "cycle audio", "_": "cycle video", "d": "cycle deinterlace",
        "f": "cycle fullscreen", "MBTN_LEFT_DBL": "cycle fullscreen", "ESC": "set fullscreen no",
        "T": "cycle ontop", "DEL": "cycle osc-visibility", "Alt+0": "set current-window-scale 0.5",
        "Alt+1": "set current-window-scale 1", "Alt+2": "set current-window-scale 2",
        "s": "choose-route", "Alt+s": "screenshot", "S": "screenshot video", "Ctrl+s": "screenshot window",
        ">": "playlist-next", "ENTER": "playlist-next", "NEXT": "playlist-next", "MBTN_FORWARD": "playlist-next",
        "<": "playlist-prev", "PREV": "playlist-prev", "MBTN_BACK": "playlist-prev",
        "L": "cycle loop-file", "l": "ab-loop",
        "o": "show-progress", "P": "show-progress", "O": "cycle-values osd-level 3 1",
        "F8": "show-text ${playlist}", "F9": "show-text ${track-list}", "i": "show-statistics",
        "I": "show-statistics", "?": "show-keys",
        "q": "quit", "Q": "quit-watch-later", "STOP": "quit", "POWER": "quit", "CLOSE_WIN": "quit", "Ctrl+w": "quit",
        "Ctrl+c": "quit",
    ]
}
