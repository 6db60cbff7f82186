internal import MediaCore
internal import Playback

/// mpv's commands (its manual, section "List of Input Commands"), as far as Talkie implements them.
enum InputCommand {
    /// Returns the action of a command.
    ///
    /// - Parameter words: At least one word.
    /// - Returns: Nil for `ignore`.
    /// - Throws: `ValueError` for a command or argument that Talkie does not implement.
    static func action(for words: [String]) throws(ValueError) -> PlayerAction? {
        // Talkie decides itself what it displays for a command; these prefixes are ignored.
        let words = words.drop { prefixes.contains($0) }
        guard let name = words.first else {
            throw ValueError("a key must be followed by a command; “ignore” does nothing")
        }
        let arguments = Array(words.dropFirst())
        switch name {
        case "ignore":
            try expect(arguments, atMost: 0, "ignore")
            return nil
        case "seek": return try seek(arguments)
        case "cycle": return try cycle(arguments)
        case "cycle-values": return try cycleValues(arguments)
        case "set": return try set(arguments)
        case "add": return try add(arguments)
        case "multiply":
            guard arguments.count == 2, arguments[0] == "speed" else {
                throw ValueError("usage: multiply speed 1.1")
            }
            guard let factor = DecimalNumber.parse(arguments[1]), (0.01...100).contains(factor) else {
                throw ValueError("multiply speed requires a number such as 1.1, not '\(shown(arguments[1]))'")
            }
            return .multiplySpeed(factor)
        case "quit":
            guard arguments.isEmpty || arguments == ["0"] else {
                throw ValueError("quit accepts no exit status; write quit alone")
            }
            return .quit
        case "show-text":
            guard let text = arguments.first, arguments.count <= 3 else {
                throw ValueError("usage: show-text \"words\"")
            }
            guard text.utf8.count <= longestText, !text.contains("${") else {
                throw ValueError("show-text accepts up to \(longestText) bytes, without ${properties}")
            }
            return .showText(text)
        case "screenshot":
            guard arguments.count <= 1, let kind = ScreenshotKind(rawValue: arguments.first ?? "subtitles") else {
                throw ValueError("usage: screenshot, screenshot video or screenshot window")
            }
            return .screenshot(kind)
        default:
            guard let action = plain[name] else {
                throw ValueError("unknown command '\(shown(name))'")
            }
            // "playlist-next weak" and "force" differ at the ends of the playlist; Talkie has one behaviour.
            let isStep = action == .next || action == .previous
            if !(isStep && arguments.count == 1) { try expect(arguments, atMost: 0, name) }
            return action
        }
    }

    private static let longestText = 500
    private static let prefixes: Set<String> = [
        "no-osd", "osd-auto", "osd-bar", "osd-msg", "osd-msg-bar", "raw", "expand-properties", "repeatable", "async",
        "sync",
    ]

    /// Commands without arguments.
    private static let plain: [String: PlayerAction] = [
        "frame-step": .stepForward, "frame-back-step": .stepBackward, "playlist-next": .next,
        "playlist-prev": .previous, "stop": .quit, "ab-loop": .markSection, "quit-watch-later": .quitKeepingPlace,
        "show-progress": .showProgress,
        // Talkie's own commands.
        "choose-route": .chooseRoute, "show-statistics": .showStatistics, "show-keys": .showKeys,
    ]

    private static func expect(_ arguments: [String], atMost count: Int, _ name: String) throws(ValueError) {
        guard arguments.count > count else { return }
        throw ValueError("'\(shown(arguments[count]))' after \(shown(name)) is not supported")
    }

    private static func shown(_ text: String) -> String { PrintableText.truncated(PrintableText.of(text), to: 40) }

    // MARK: Commands with arguments

    private static func seek(_ arguments: [String]) throws(ValueError) -> PlayerAction {
        let manners = arguments.dropFirst().flatMap { $0.split(separator: "+").map(String.init) }
        let known: Set<String> = ["relative", "absolute", "absolute-percent", "exact", "keyframes"]
        guard let place = arguments.first, manners.allSatisfy(known.contains) else {
            throw ValueError(
                "usage: seek 5, seek -60 exact, seek 90 absolute, seek 50 absolute-percent")
        }
        let wantsExact = manners.contains("exact")
        if manners.contains("absolute-percent") {
            return .seekTo(try position(place + "%"), exact: wantsExact)
        }
        let position = try position(place)
        if manners.contains("absolute") { return .seekTo(position, exact: !manners.contains("keyframes")) }
        switch position {
        case .fromStart(let time): return .seek(by: time, exact: wantsExact)
        case .fromEnd(let time): return .seek(by: .zero - time, exact: wantsExact)
        case .fraction: throw ValueError("usage: seek 50 absolute-percent")
        }
    }

    private static func position(_ text: String) throws(ValueError) -> FilmPosition { try FilmPosition(parsing: text) }

    private static func cycle(_ arguments: [String]) throws(ValueError) -> PlayerAction {
        if arguments == ["secondary-sid", "down"] { return .cycleSecondarySubtitles(-1) }
        if arguments == ["sub", "down"] || arguments == ["sid", "down"] { return .cycleSubtitles(-1) }
        guard arguments.count == 1, let action = cycled[arguments[0]] else {
            throw ValueError(
                "cycle accepts one of \(cycled.keys.sorted().joined(separator: ", ")), not '\(shown(arguments.joined(separator: " ")))'"
            )
        }
        return action
    }

    private static let cycled: [String: PlayerAction] = [
        "pause": .togglePause, "mute": .toggleMute, "fullscreen": .toggleFullScreen, "audio": .cycleAudioTrack,
        "aid": .cycleAudioTrack, "loop-file": .toggleLoop, "loop": .toggleLoop, "sub": .cycleSubtitles(1),
        "sid": .cycleSubtitles(1), "sub-visibility": .toggleSubtitles,
        "secondary-sid": .cycleSecondarySubtitles(1), "secondary-sub-visibility": .toggleSecondarySubtitles,
        "deinterlace": .cycleDeinterlacing,
        "night-mode": .toggleNightMode, "dialog-level": .cycleDialogueLift,
    ]

    private static func cycleValues(_ arguments: [String]) throws(ValueError) -> PlayerAction {
        guard arguments.count == 3, ["loop-file", "loop"].contains(arguments[0]),
            Set(arguments.dropFirst()) == ["inf", "no"]
        else { throw ValueError("usage: cycle-values loop-file inf no") }
        return .toggleLoop
    }

    private static func set(_ arguments: [String]) throws(ValueError) -> PlayerAction {
        guard arguments.count == 2 else { throw ValueError("usage: set volume 50") }
        let (name, value) = (arguments[0], arguments[1])
        switch name {
        case "pause": return .setPaused(try answer(value, name))
        case "mute": return .setMuted(try answer(value, name))
        case "fullscreen": return try answer(value, name) ? .enterFullScreen : .leaveFullScreen
        case "speed":
            let speed = try PlayerOptions.speed(parsing: value)
            return speed == 1 ? .resetSpeed : .setSpeed(speed)
        case "volume": return .setVolume(try PlayerOptions.volume(parsing: value))
        default: throw ValueError("set accepts pause, mute, fullscreen, speed or volume, not '\(shown(name))'")
        }
    }

    private static func answer(_ text: String, _ name: String) throws(ValueError) -> Bool {
        guard text == "yes" || text == "no" else { throw ValueError("\(name) must be yes or no") }
        return text == "yes"
    }

    private static func add(_ arguments: [String]) throws(ValueError) -> PlayerAction {
        guard (1...2).contains(arguments.count),
            let billionths = DecimalNumber.signedBillionths(arguments.count == 2 ? arguments[1] : "1")
        else { throw ValueError("usage: add volume -2") }
        let count = Double(billionths) / 1e9
        switch arguments[0] {
        case "volume": return .addVolume(count)
        case "audio-delay": return .addAudioDelay(.nanoseconds(billionths))
        case "sub-delay": return .addSubtitleDelay(.nanoseconds(billionths))
        case "video-zoom": return .changeView(.zoom(count))
        case "video-pan-x": return .changeView(.panX(count))
        case "video-pan-y": return .changeView(.panY(count))
        case "panscan": return .changeView(.panscan(count))
        case "chapter":
            guard count == count.rounded(), count.magnitude <= 1000, count != 0 else {
                throw ValueError("chapters must be whole numbers")
            }
            return .seekChapters(Int(count))
        default:
            throw ValueError(
                "add accepts volume, audio-delay, sub-delay, chapter, video-zoom, video-pan-x, video-pan-y or panscan, not '\(shown(arguments[0]))'"
            )
        }
    }
}
