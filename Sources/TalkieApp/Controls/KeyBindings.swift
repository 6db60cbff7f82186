internal import MediaCore

/// The default key bindings of window and terminal: mpv's defaults (0.35, etc/input.conf), as far as implemented.
///
/// Differences: `s` opens the list of outputs; a screenshot with subtitles is `Alt+s`. `n` and `C`, unused by mpv, are
/// night mode and dialogue level.
enum KeyBindings {
    /// Returns the action of a key.
    ///
    /// - Parameter key: mpv's name, such as `"q"`, `"Shift+RIGHT"`, `"MBTN_LEFT_DBL"`, `"Ctrl++"`.
    /// - Returns: Nil for an unused key.
    static func action(for key: String) -> PlayerAction? { table[key] }

    /// All bindings, for help texts.
    static var all: [(key: String, action: PlayerAction)] {
        table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func seconds(_ count: Int64, exact: Bool = false) -> PlayerAction {
        .seek(by: MediaTime(value: count, timescale: 1), exact: exact)
    }

    private static let table: [String: PlayerAction] = [
        "SPACE": .togglePause, "p": .togglePause, "MBTN_RIGHT": .togglePause, "PLAY": .togglePause,
        "PAUSE": .togglePause, "PLAYPAUSE": .togglePause, "PLAYONLY": .setPaused(false), "PAUSEONLY": .setPaused(true),
        "RIGHT": seconds(5), "LEFT": seconds(-5), "UP": seconds(60), "DOWN": seconds(-60),
        "Shift+RIGHT": seconds(1, exact: true), "Shift+LEFT": seconds(-1, exact: true),
        "Shift+UP": seconds(5, exact: true), "Shift+DOWN": seconds(-5, exact: true),
        "Shift+PGUP": seconds(600), "Shift+PGDWN": seconds(-600), "FORWARD": seconds(60), "REWIND": seconds(-60),
        "WHEEL_UP": seconds(10), "WHEEL_DOWN": seconds(-10),
        "PGUP": .seekChapters(1), "PGDWN": .seekChapters(-1), "@": .seekChapters(1), "!": .seekChapters(-1),
        ".": .stepForward, ",": .stepBackward,
        "[": .multiplySpeed(1 / 1.1), "]": .multiplySpeed(1.1), "{": .multiplySpeed(0.5), "}": .multiplySpeed(2),
        "BS": .resetSpeed,
        "9": .addVolume(-2), "/": .addVolume(-2), "VOLUME_DOWN": .addVolume(-2), "WHEEL_LEFT": .addVolume(-2),
        "0": .addVolume(2), "*": .addVolume(2), "VOLUME_UP": .addVolume(2), "WHEEL_RIGHT": .addVolume(2),
        "n": .toggleNightMode, "C": .cycleDialogueLift,
        "m": .toggleMute, "MUTE": .toggleMute,
        // On many keyboards "+" is Shift and "="; with Shift the key has the same name.
        "Ctrl++": .addAudioDelay(.milliseconds(100)), "Ctrl+=": .addAudioDelay(.milliseconds(100)),
        "Ctrl+-": .addAudioDelay(.milliseconds(-100)),
        "j": .cycleSubtitles(1), "J": .cycleSubtitles(-1), "v": .toggleSubtitles,
        "Alt+v": .toggleSecondarySubtitles,
        "z": .addSubtitleDelay(.milliseconds(-100)), "x": .addSubtitleDelay(.milliseconds(100)),
        "Z": .addSubtitleDelay(.milliseconds(100)),
        "w": .changeView(.panscan(-0.1)), "W": .changeView(.panscan(0.1)), "e": .changeView(.panscan(0.1)),
        "A": .changeView(.nextAspect),
        "Alt+LEFT": .changeView(.panX(0.1)), "Alt+RIGHT": .changeView(.panX(-0.1)),
        "Alt+UP": .changeView(.panY(0.1)), "Alt+DOWN": .changeView(.panY(-0.1)),
        "Alt++": .changeView(.zoom(0.1)), "Alt+=": .changeView(.zoom(0.1)), "Alt+-": .changeView(.zoom(-0.1)),
        "Alt+BS": .changeView(.reset),
        "SHARP": .cycleAudioTrack, "d": .cycleDeinterlacing,
        "f": .toggleFullScreen, "MBTN_LEFT_DBL": .toggleFullScreen, "ESC": .leaveFullScreen,
        "s": .chooseRoute, "Alt+s": .screenshot(.subtitles), "S": .screenshot(.video), "Ctrl+s": .screenshot(.window),
        ">": .next, "ENTER": .next, "NEXT": .next, "MBTN_FORWARD": .next,
        "<": .previous, "PREV": .previous, "MBTN_BACK": .previous,
        "L": .toggleLoop, "l": .markSection,
        "o": .showProgress, "P": .showProgress, "i": .showStatistics, "?": .showKeys,
        "q": .quit, "Q": .quitKeepingPlace, "STOP": .quit, "POWER": .quit, "CLOSE_WIN": .quit, "Ctrl+w": .quit,
        "Ctrl+c": .quit,
    ]
}
