internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import TalkieApp

/// Options for the played part of a film, its tracks, and repetition.
struct FilmOptions: ParsableArguments {
    // Unconditional: "-10" is a time, not an option.
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Start here.", valueName: "TIME"),
        transform: { try FilmPosition(parsing: $0) })
    var start: FilmPosition?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Stop here.", valueName: "TIME"),
        transform: { try FilmPosition(parsing: $0) })
    var end: FilmPosition?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start of the section to repeat, up to --ab-loop-b; the key l sets both.", valueName: "TIME"),
        transform: { try FilmPosition(parsing: $0) })
    var abLoopA: FilmPosition?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("End of the section to repeat.", valueName: "TIME"),
        transform: { try FilmPosition(parsing: $0) })
    var abLoopB: FilmPosition?

    @Option(
        help: ArgumentHelp("0.25 to 4; the pitch is preserved.", valueName: "X"),
        transform: { try PlayerOptions.speed(parsing: $0) })
    var speed: Double?

    @Flag(help: "Start paused, showing the first frame.")
    var pause = false

    @Option(
        name: [.customLong("loop-file"), .customLong("loop")],
        help: ArgumentHelp("Repeat each film this many times; without a number, forever.", valueName: "N|inf"),
        transform: { try PlayerOptions.Loop(parsing: $0) })
    var loopFile: PlayerOptions.Loop = .times(0)

    @Option(
        help: ArgumentHelp("Repeat the whole list this many times; without a number, forever.", valueName: "N|inf"),
        transform: { try PlayerOptions.Loop(parsing: $0) })
    var loopPlaylist: PlayerOptions.Loop = .times(0)

    @Flag(inversion: .prefixedNo, help: "Resume a film that was quit with Q.")
    var resumePlayback = true

    @Flag(inversion: .prefixedNo, help: "Store the position on every way to quit, as with Q.")
    var savePositionOnQuit = false

    @Flag(help: "Play sound only, without a window.")
    var noVideo = false

    @Flag(help: "Play without sound.")
    var noAudio = false

    @Option(
        help: ArgumentHelp("Sound track by number; 1 is the first.", valueName: "N"),
        transform: { try PlayerOptions.track(parsing: $0) })
    var aid: Int?

    @Option(
        help: ArgumentHelp("Picture track by number; 1 is the first.", valueName: "N"),
        transform: { try PlayerOptions.track(parsing: $0) })
    var vid: Int?

    @Option(
        help: ArgumentHelp("Sound track by language, such as de,en; the first match wins.", valueName: "L"),
        transform: { try PlayerOptions.languages(parsing: $0) })
    var alang: [String] = []

    @Option(
        help: ArgumentHelp(
            "Sound track by purpose, such as audio description; films without it play their main one.",
            valueName: Track.Purpose.allCases.map(\.rawValue).joined(separator: "|")),
        completion: .list(Track.Purpose.allCases.map(\.rawValue)), transform: { try Track.Purpose(parsing: $0) })
    var audioTrack = Track.Purpose.main

    func apply(to arguments: inout PlayArguments) {
        arguments.options.start = start
        arguments.options.end = end
        arguments.options.speed = speed ?? 1
        if speed != nil { arguments.chosen.insert("speed") }
        arguments.options.startsPaused = pause
        arguments.options.loopFile = loopFile
        arguments.loopPlaylist = loopPlaylist
        arguments.sectionStart = abLoopA
        arguments.sectionEnd = abLoopB
        arguments.resumesPlayback = resumePlayback
        arguments.keepsPositions = savePositionOnQuit
        arguments.options.playsVideo = !noVideo
        arguments.options.playsAudio = !noAudio
        arguments.options.audioTrack = aid
        arguments.options.videoTrack = vid
        arguments.options.audioLanguages = alang
        arguments.options.audioPurpose = audioTrack
    }
}
