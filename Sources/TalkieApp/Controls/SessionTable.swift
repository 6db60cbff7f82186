internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

extension ControlTable {
    /// The commands and properties of a session without a session, to check key bindings.
    static let unbound = session(
        screen: nil, distributor: nil, rooms: SessionRooms(), display: SessionDisplay(), episode: Lock(nil),
        mailbox: nil)

    /// Returns the commands and properties of the player and of a session.
    ///
    /// - Parameters:
    ///   - episode: The name of the offered episode; nil: none.
    ///   - mailbox: Receives the session's commands.
    static func session(
        screen: ScreenControl?, distributor: EventDistributor?, rooms: SessionRooms, display: SessionDisplay,
        episode: Lock<String?>, mailbox: SessionMailbox?
    ) -> ControlTable {
        var table = ControlTable.player
        for property in ControlProperty.window(screen) + ControlProperty.display(display) { table.add(property) }
        for property in ControlProperty.measured(distributor) { table.add(property) }
        for property in ControlProperty.outputs(rooms, mailbox) { table.add(property) }
        table.add(.text("next-episode", "the name of the offered episode", read: { _ in episode.withLock { $0 } }))
        if let distributor, let delay = table.properties["audio-delay"] {
            table.add(delay.reporting { distributor.record(.audioDelay(.rounded(seconds: $0.number ?? 0))) })
        }
        for command in ControlCommand.session(mailbox) { table.add(command) }
        return table
    }
}

extension ControlProperty {
    /// The window and the geometry of the picture in it.
    fileprivate static func window(_ screen: ScreenControl?) -> [ControlProperty] {
        func geometry(
            _ name: String, _ range: ClosedRange<Double>, _ summary: String,
            at path: any WritableKeyPath<VideoGeometry, Double> & Sendable
        ) -> ControlProperty {
            .number(
                name, range, summary, read: { _ in screen?.view[keyPath: path] },
                write: { screen?.view[keyPath: path] = $1 })
        }
        return [
            .flag(
                "fullscreen", "whether the window fills its display", read: { _ in screen?.status.isFullScreen },
                write: { screen?.setFullScreen($1) }, step: { _, _ in screen?.setFullScreen(nil) }),
            .flag(
                "ontop", "whether the window stays above others", read: { _ in screen?.status.isOnTop },
                write: { screen?.setOnTop($1) }, step: { _, _ in screen?.setOnTop(nil) }),
            .number(
                "current-window-scale", 0.1...10, "the size of the window as a factor of the picture's",
                read: { state in
                    guard let size = state.displaySize(in: screen), let area = screen?.status.area else { return nil }
                    return Double(area.width) / Double(max(1, size.width))
                },
                write: { (engine, scale) throws(ControlError) in
                    guard let screen, let size = engine.state.displaySize(in: screen) else {
                        throw ControlError(.unavailable, "there is no picture")
                    }
                    func scaled(_ side: Int) -> Int { Int((Double(side) * scale).rounded()) }
                    screen.resize(to: PixelSize(width: scaled(size.width), height: scaled(size.height)))
                }),
            geometry("video-zoom", VideoGeometry.zoomRange, "the base-2 logarithm of the picture's scale", at: \.zoom),
            geometry("video-pan-x", VideoGeometry.panRange, "the shift to the right in picture widths", at: \.panX),
            geometry("video-pan-y", VideoGeometry.panRange, "the shift down in picture heights", at: \.panY),
            geometry("panscan", VideoGeometry.panscanRange, "0: the whole picture, 1: no black bars", at: \.panscan),
            ControlProperty(
                "video-aspect-override", .text,
                "the aspect ratio, `16:9` or `1.78`; `-1`: the film's own; `no`: square pixels",
                read: { _ in screen.map { .text($0.view.aspect.notation) } },
                write: { (_, value) throws(ControlError) in
                    do throws(ValueError) {
                        screen?.view.aspect = try VideoGeometry.Aspect(parsing: value.mpvText)
                    } catch {
                        throw ControlError(.wrongType, error.description)
                    }
                }),
        ]
    }

    /// What is displayed over the picture.
    fileprivate static func display(_ display: SessionDisplay) -> [ControlProperty] {
        [
            .integer(
                "osd-level", 0...3, "3: the position is always displayed", read: { _ in display.value.osdLevel },
                write: { _, level in display.change { $0.osdLevel = level } }),
            ControlProperty(
                "osc-visibility", .choice(SessionDisplay.Bar.allCases.map(\.rawValue)), "when the bar is displayed",
                read: { _ in .text(display.value.bar.rawValue) },
                write: { _, word in
                    display.change { $0.bar = SessionDisplay.Bar(rawValue: word.mpvText) ?? .auto }
                }),
        ]
    }

    /// The destinations where the sound is played.
    fileprivate static func outputs(_ rooms: SessionRooms, _ mailbox: SessionMailbox?) -> [ControlProperty] {
        [
            ControlProperty(
                "audio-device", .text, "the selected outputs: `name`s of `audio-device-list`, separated by commas",
                read: { _ in rooms.current.map { .text($0) } },
                write: { (_, value) throws(ControlError) in mailbox?.post(.rooms(try rooms.ids(value.mpvText))) }),
            ControlProperty(
                "audio-device-list", .node,
                "the outputs: `name`, `description`, `selected`, `volume` (null: unknown), `language` (if they differ),"
                    + " `lang` (as for `output-language`, if the film has several), `pending`, `problem`, `obstacle`, `pairing` (`pin` or"
                    + " `password`)",
                read: { _ in rooms.node }),
        ]
    }

    /// What the outputs report.
    fileprivate static func measured(_ distributor: EventDistributor?) -> [ControlProperty] {
        [
            .number(
                "avsync", -1000...1000, "the position of the sound minus that of the picture; positive: sound early",
                unit: .seconds, isContinuous: true,
                read: { _ in distributor?.statistics.offset.map { -$0.inSeconds } }),
            .integer(
                "frame-drop-count", 0...(.max), "the number of dropped pictures", isContinuous: true,
                read: { _ in distributor?.statistics.droppedFrames }),
        ]
    }
}

extension ControlCommand {
    private static let maxTextBytes = 500

    /// Returns the selection of a sound track; nil if the text is empty.
    static func track(_ text: String) throws(ControlError) -> AudioTrackChoice? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= maxTextBytes else {
            throw ControlError(.outOfRange, "a list of languages has at most \(maxTextBytes) bytes")
        }
        do throws(ValueError) { return try AudioTrackChoice(parsing: text) } catch {
            throw ControlError(.wrongType, error.description)
        }
    }

    /// Commands that a session performs, by `SessionControls.carryOut`.
    fileprivate static func session(_ mailbox: SessionMailbox?) -> [ControlCommand] {
        func command(
            _ name: String, _ summary: String, _ parameters: [Parameter] = [],
            check: @escaping @Sendable (Arguments) throws(ControlError) -> Void = { _ in }
        ) -> ControlCommand {
            ControlCommand(name, parameters, summary, check: check) { request, reply in
                guard let mailbox else { return reply(.failure(ControlError(.unavailable, "there is no session"))) }
                mailbox.post(.command(request, reply))
            }
        }
        let status = [Parameter("status", .integer(0...0), isOptional: true)]
        let mode = [Parameter("mode", .choice(["weak", "force"]), isOptional: true)]
        return [
            command("ignore", "does nothing"),
            command("quit", "quits", status),
            command("quit-watch-later", "quits; the film resumes at its position the next time", status),
            command("stop", "quits"),
            command(
                "show-text", "shows a text of at most \(maxTextBytes) bytes over the picture",
                [
                    Parameter("text", .text), Parameter("milliseconds", .integer(-1...3_600_000), isOptional: true),
                    Parameter("level", .integer(0...3), isOptional: true),
                ],
                check: { (arguments) throws(ControlError) in
                    let text = arguments.text(0)
                    let isKnown = StatusText.lists.contains(text) || !text.contains("${")
                    guard text.utf8.count <= maxTextBytes, isKnown else {
                        throw ControlError(
                            .outOfRange,
                            "show-text accepts up to \(maxTextBytes) bytes, and no ${properties} except "
                                + StatusText.lists.joined(separator: " and "))
                    }
                }),
            command("show-progress", "shows the position and the tracks over the picture"),
            command(
                "screenshot", "writes the picture to a file; its result has the `filename`",
                [Parameter("contents", .choice(ScreenshotKind.allCases.map(\.rawValue)), isOptional: true)]),
            command("ab-loop", "sets the start, then the end, then clears the repeated section"),
            command("choose-route", "opens or closes the list of outputs"),
            command("find-outputs", "starts looking for speakers; they appear in `audio-device-list`"),
            command(
                "output-volume", "sets the volume of an output of `audio-device-list`",
                [Parameter("name", .text), Parameter("volume", .number(0...VolumeCurve.maxVolume))]),
            command(
                "output-language",
                "selects the sound track of an output: languages in order of preference (`de,en`), after a `purpose` of"
                    + " `track-list` if needed (`description`, `description,de`; `main`: the default), or a number; empty:"
                    + " the film's",
                [Parameter("name", .text), Parameter("languages", .text)],
                check: { (arguments) throws(ControlError) in _ = try track(arguments.text(1)) }),
            command(
                "pair-output",
                "pairs with an output of `audio-device-list` by its password or PIN; without a PIN the output displays"
                    + " one", [Parameter("name", .text), Parameter("code", .text, isOptional: true)],
                check: { (arguments) throws(ControlError) in
                    guard arguments.text(1).utf8.count <= maxTextBytes else {
                        throw ControlError(.outOfRange, "a password has at most \(maxTextBytes) bytes")
                    }
                }),
            command("raise", "brings the window to the front"),
            command("show-statistics", "opens or closes the statistics"),
            command("show-keys", "opens or closes the list of keys"),
            command(
                "loadfile",
                "plays a file, folder, playlist or address instead of the playlist, or adds it; its result has"
                    + " the `playlist_entry_id`", ControlCommand.loadParameters),
            command("playlist-next", "plays the next film, or the offered episode", mode),
            command("playlist-prev", "plays the previous film", mode),
        ]
    }
}

/// The contents of a screenshot, as in mpv's command `screenshot`.
enum ScreenshotKind: String, Sendable, Hashable, CaseIterable {
    /// The video frame in its own size, with subtitles.
    case subtitles = "subtitles"
    /// The video frame alone.
    case video = "video"
    /// The video as scaled in the window, with subtitles, without messages.
    case window = "window"
}
