internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import Routing
internal import TalkieApp

/// Options for audio outputs and audio processing.
struct SoundOptions: ParsableArguments {
    @Option(
        name: .customLong("speaker"),
        help: ArgumentHelp(
            "Speaker by name, ID or address, or local for this computer; may be given several times.",
            valueName: "NAME|ID|airplay://HOST[:PORT]|local"),
        transform: { try SpeakerChoice(parsing: $0) })
    var speakers: [SpeakerChoice] = []

    @Option(help: ArgumentHelp("Sound card; 'talkie doctor' lists them.", valueName: "ALSA"))
    var audioDevice: String?

    @Option(
        help: ArgumentHelp(
            "Loudspeakers of the sound card: those of the film that it says it has, those of the film, or these.",
            valueName: "auto-safe|auto|stereo|5.1|7.1"),
        transform: { try ChannelChoice(parsing: $0) })
    var audioChannels: ChannelChoice = .autoSafe

    @Option(
        help: ArgumentHelp(
            "Volume of every output, 100 is 0 dB, and what goes beyond makes the film itself louder; absent, a speaker keeps its own.",
            valueName: "0-130"),
        transform: { try PlayerOptions.volume(parsing: $0) })
    var volume: Double?

    @Flag(help: "Begin with the sound muted.")
    var mute = false

    @Option(
        help: ArgumentHelp(
            "Lift the voices of films with a centre channel above everything else by so many decibels.",
            valueName: "0-12"),
        transform: { try PlayerOptions.dialogueLift(parsing: $0) })
    var dialogLevel: Double = 0

    @Flag(help: "Bring loud and quiet nearer to each other.")
    var nightMode = false

    @Option(
        help: ArgumentHelp(
            "Bring films to one loudness while they play, by what was heard of them so far (EBU R 128).",
            valueName: "off|ebur128"), completion: .list(["off", "ebur128"]),
        transform: wordChoice("a loudness is off or ebur128"))
    var loudness: LoudnessWord = .off

    @Option(
        parsing: .unconditional, help: ArgumentHelp("The loudness that they are brought to.", valueName: "LUFS"),
        transform: { try PlayerOptions.loudness(parsing: $0) })
    var loudnessTarget: Double = PlayerOptions.programmeLoudness

    enum LoudnessWord: String, CaseIterable {
        case off = "off"
        case ebur128 = "ebur128"
    }

    @OptionGroup var replayGain: ReplayGainWords

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Sound later than picture by this much, negative for earlier; calibrations are then set aside.",
            valueName: "SECONDS"),
        transform: { try PlayerOptions.audioDelay(parsing: $0) })
    var audioDelay: Duration?

    @Option(
        help: ArgumentHelp(
            "At a start, picture waits for the sound, or sound joins the picture later.", valueName: "wait|picture"),
        completion: .list(["wait", "picture"]),
        transform: wordChoice("a start policy is wait or picture"))
    var startPolicy: PlayerOptions.StartPolicy = .wait

    @Option(
        help: ArgumentHelp(
            "Without --speaker: where the sound went on other evenings is not kept, is offered, or is taken.",
            valueName: "never|ask|always"), completion: .list(["never", "ask", "always"]),
        transform: wordChoice("a route memory is never, ask or always"))
    var routeMemory: RouteMemoryPolicy = .ask

    @Option(
        help: ArgumentHelp(
            "When a speaker or card is lost: wait for it, go on with this computer's own sound, or pause; "
                + "absent, a speaker is waited for and another card takes over from a card.",
            valueName: "wait|local|pause"), completion: .list(["wait", "local", "pause"]),
        transform: wordChoice("a lost route is answered with wait, local or pause"))
    var lostRoute: LostRoutePolicy?

    func apply(to arguments: inout PlayArguments) {
        arguments.speakers = speakers
        arguments.options.audioDevice = audioDevice
        arguments.options.audioChannels = audioChannels
        arguments.options.volume = volume
        arguments.options.isMuted = mute
        arguments.options.dialogueLift = dialogLevel
        arguments.options.isNight = nightMode
        arguments.options.loudness = loudness == .ebur128 ? loudnessTarget : nil
        arguments.options.replayGain = replayGain.options
        arguments.options.audioDelay = audioDelay ?? .zero
        arguments.isAudioDelayChosen = audioDelay != nil
        arguments.options.startPolicy = startPolicy
        arguments.routeMemory = routeMemory
        arguments.lostRoute = lostRoute
    }
}
