internal import AirPlay
internal import AirPlayTransport
internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import Routing
internal import TalkieApp

/// Options for audio outputs and audio processing.
struct AudioOptions: ParsableArguments {
    @Option(
        name: .customLong("speaker"),
        help: ArgumentHelp(
            "Speaker by name, ID or address, or local for this computer; may be given several times, each with a sound "
                + "track by language and purpose, a part of the channels (left, right, mono, or one such as fc), a "
                + "route, AAC (default) or lossless encoding, bits, and channels, such as "
                + "\"Kitchen;lang=de;route=realtime\", \"Headset;track=description\" or \"Shelf;part=left\".",
            valueName: "NAME|ID|airplay://HOST[:PORT]|local[;lang=L][;track=PURPOSE][;part=P][;route=R]"
                + "[;encoding=aac|lossless][;bits=16|24][;channels=stereo|5.1|7.1]"
        ),
        transform: { try SpeakerArgument(parsing: $0) })
    var speakers: [SpeakerArgument] = []

    @Option(
        help: ArgumentHelp(
            "Stream type and timing for all speakers without a route of their own; remembered until auto is given.",
            valueName: "auto|buffered|realtime|ntp|classic"),
        completion: .list(["auto", "buffered", "realtime", "ntp", "classic"]),
        transform: { try SpeakerPreferences.RouteRequest(parsing: $0) })
    var route: SpeakerPreferences.RouteRequest?

    @Option(help: ArgumentHelp("Sound card; 'talkie doctor' lists them.", valueName: "ALSA"))
    var audioDevice: String?

    @Option(
        help: ArgumentHelp(
            "Channels of the sound card: those of the film that the card reports (auto-safe), those of the film (auto), or these.",
            valueName: "auto-safe|auto|stereo|5.1|7.1"),
        transform: { try ChannelChoice(parsing: $0) })
    var audioChannels: ChannelChoice = .autoSafe

    @Option(
        help: ArgumentHelp(
            "Volume of every output; 100 is 0 dB, higher values amplify the film; default: a speaker keeps its own volume.",
            valueName: "0-130"),
        transform: { try PlayerOptions.volume(parsing: $0) })
    var volume: Double?

    @Flag(help: "Start muted.")
    var mute = false

    @Option(
        help: ArgumentHelp(
            "Raise the centre channel of films (voices) by this many decibels.",
            valueName: "0-12"),
        transform: { try PlayerOptions.dialogueLift(parsing: $0) })
    var dialogLevel: Double = 0

    @Flag(help: "Night mode: reduce the dynamic range.")
    var nightMode = false

    @Option(
        help: ArgumentHelp(
            "Normalize the loudness during playback (EBU R 128).",
            valueName: "off|ebur128"), completion: .list(["off", "ebur128"]),
        transform: valueChoice("the loudness normalization must be off or ebur128"))
    var loudness: LoudnessMode = .off

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Target loudness.", valueName: "LUFS"),
        transform: { try PlayerOptions.loudness(parsing: $0) })
    var loudnessTarget: Double = PlayerOptions.programmeLoudness

    enum LoudnessMode: String, CaseIterable {
        case off = "off"
        case ebur128 = "ebur128"
    }

    @OptionGroup var replayGain: LoudnessTagOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Delay the sound by this much, negative for earlier; calibrations are then not applied.",
            valueName: "SECONDS"),
        transform: { try PlayerOptions.audioDelay(parsing: $0) })
    var audioDelay: Duration?

    @Option(
        help: ArgumentHelp(
            "At start, wait for the sound, or start the picture and let the sound join.", valueName: "wait|picture"),
        completion: .list(["wait", "picture"]),
        transform: valueChoice("--start-policy must be wait or picture"))
    var startPolicy: PlayerOptions.StartPolicy = .wait

    @Option(
        help: ArgumentHelp(
            "Without --speaker: do not store outputs, offer the previous output, or use it.",
            valueName: "never|ask|always"), completion: .list(["never", "ask", "always"]),
        transform: valueChoice("--route-memory must be never, ask or always"))
    var routeMemory: RouteMemoryPolicy = .ask

    @Option(
        help: ArgumentHelp(
            "When a speaker or card is lost: wait for it, continue on this computer, or pause; "
                + "default: wait for a speaker, replace a card by another one.",
            valueName: "wait|local|pause"), completion: .list(["wait", "local", "pause"]),
        transform: valueChoice("--lost-route must be wait, local or pause"))
    var lostRoute: PlaybackSession.LostRoutePolicy?

    func apply(to arguments: inout PlayArguments) {
        arguments.speakers = speakers
        arguments.speakerRoute = route
        arguments.options.audioDevice = audioDevice
        arguments.options.audioChannels = audioChannels
        arguments.options.volume = volume
        arguments.options.isMuted = mute
        arguments.options.dialogueLift = dialogLevel
        arguments.options.isNight = nightMode
        arguments.options.loudness = loudness == .ebur128 ? loudnessTarget : nil
        arguments.options.replayGain = replayGain.options
        arguments.options.audioDelay = audioDelay ?? .zero
        if audioDelay != nil { arguments.chosen.insert("audio-delay") }
        arguments.options.startPolicy = startPolicy
        arguments.routeMemory = routeMemory
        arguments.lostRoute = lostRoute
    }
}
