internal import ArgumentParser
internal import Playback
internal import Routing
internal import TalkieApp

/// `talkie calibrate`: measures a speaker's delay against the screen and stores it.
struct CalibrateCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "calibrate",
        abstract: "Measure how much later than the picture a speaker is heard, and store the result for playback.",
        discussion: """
            The screen flashes and the speaker chirps for some twenty seconds; a microphone records them. Several speakers in \
            one run are synchronized at the position of the microphone. Offsets are positive when sound is later than \
            picture. talkie play uses the result automatically.

            Photosensitivity warning: the screen flashes white about every 1.5 seconds.
            """)
    static let usageLine = "talkie calibrate SPEAKER… [OPTION…]"

    @Argument(
        help: ArgumentHelp(
            "Speakers by name, ID or address, or local for this computer; at most four.",
            valueName: "NAME|ID|airplay://HOST[:PORT]|local"), transform: { try SpeakerChoice(parsing: $0) })
    var speakers: [SpeakerChoice]

    @Option(
        help: ArgumentHelp("Screen by number or name; 'talkie doctor' lists them.", valueName: "N|NAME"),
        transform: { try ScreenChoice(parsing: $0) })
    var screen: ScreenChoice?

    @Flag(help: "Flash in a window instead of full screen.")
    var window = false

    @Option(help: ArgumentHelp("Device to record from; 'arecord -L' lists them.", valueName: "ALSA"))
    var microphone: String?

    @Flag(help: "Require a light sensor on the microphone's second channel.")
    var lightSensor = false

    @Flag(help: "Calibrate by eye and ear, without a microphone.")
    var byEye = false

    @Flag(help: "Play with the stored calibration and report what is left; nothing is stored.")
    var verify = false

    @Option(
        help: ArgumentHelp("Events for each speaker, 10 to 40.", valueName: "N"),
        transform: { try CalibrateArguments.events(parsing: $0) })
    var events: Int?

    @Option(
        help: ArgumentHelp("Play only, and write the times of flashes and sounds to a file.", valueName: "EVENTS.json"))
    var emit: String?

    @Option(
        help: ArgumentHelp(
            "Analyse a recording, with its times from FILE.json, or a phone's video, instead of playing.",
            valueName: "FILE"))
    var analyse: String?

    @Option(help: ArgumentHelp("The file that --emit wrote during the recording.", valueName: "EVENTS.json"))
    var eventsFile: String?

    @Option(help: ArgumentHelp("Save the recording of the microphone.", valueName: "REC.wav"))
    var record: String?

    @Option(
        help: ArgumentHelp("Volume during the run; default: the speaker's current volume.", valueName: "0-100"),
        transform: { try PlayerOptions.volume(parsing: $0, atMost: 100) })
    var volume: Double?

    @Option(help: ArgumentHelp("The sound card used for 'local'.", valueName: "ALSA"))
    var audioDevice: String?

    @Option(
        help: ArgumentHelp(
            "Let the running kiosk with this configuration calibrate; its film is paused.", valueName: "NAME"))
    var kiosk: String?

    @Flag(help: "Print the result as JSON.")
    var json = false

    @Option(help: ArgumentHelp("Draw the measurements.", valueName: "FILE.svg"))
    var plot: String?

    func validate() throws {
        if speakers.isEmpty { throw ValidationError("Specify a speaker to calibrate") }
        if speakers.count > CalibrateArguments.maxSpeakers {
            throw ValidationError("One run supports \(CalibrateArguments.maxSpeakers) speakers at most; specify fewer")
        }
        if Set(speakers).count != speakers.count {
            throw ValidationError("A speaker can be specified only once; remove the second")
        }
        let ways = [
            ("--microphone", microphone != nil), ("--emit", emit != nil), ("--analyse", analyse != nil),
            ("--by-eye", byEye),
        ].filter(\.1).map(\.0)
        if ways.count > 1 { throw ValidationError("\(ways[0]) and \(ways[1]) exclude each other; remove one of them") }
        if (analyse == nil) != (eventsFile == nil) {
            throw ValidationError("--analyse and --events-file belong together; give both")
        }
        if verify, analyse != nil || byEye {
            throw ValidationError("--verify plays a run, so it excludes --analyse and --by-eye; remove one of them")
        }
        if byEye, speakers.count > 1 { throw ValidationError("--by-eye supports one speaker at a time; specify one") }
        if lightSensor, emit != nil || byEye {
            throw ValidationError("--light-sensor requires a recording; remove it, or use a microphone")
        }
        if record != nil, emit != nil || analyse != nil || byEye {
            throw ValidationError("--record requires a microphone; remove it, or use a microphone")
        }
        if emit != nil, json || plot != nil {
            throw ValidationError("--emit has no result yet; use --json and --plot with --analyse")
        }
        if kiosk != nil {
            let others = [
                ("--analyse", analyse != nil), ("--by-eye", byEye), ("--record", record != nil),
                ("--screen", screen != nil), ("--window", window), ("--audio-device", audioDevice != nil),
                ("--verify", verify),
            ]
            if let (option, _) = others.first(where: \.1) {
                throw ValidationError(
                    "--kiosk calibrates with the kiosk's screen and sound, so it excludes \(option); remove one of them"
                )
            }
        }
        if analyse != nil, screen != nil || window || events != nil || volume != nil {
            throw ValidationError(
                "--analyse plays nothing, so --screen, --window, --events and --volume have no effect; remove them")
        }
    }

    /// The parsed options as one value.
    var arguments: CalibrateArguments {
        var arguments = CalibrateArguments(speakers: speakers)
        if let emit {
            arguments.way = .emit(emit)
        } else if let analyse, let eventsFile {
            arguments.way = .analyse(recording: analyse, events: eventsFile)
        } else if byEye {
            arguments.way = .eyeAndEar
        } else {
            arguments.way = .microphone(microphone ?? "default")
        }
        arguments.screen = screen
        arguments.isWindow = window
        arguments.isVerification = verify
        arguments.expectsLight = lightSensor
        if let events { arguments.events = events }
        arguments.isJSON = json
        arguments.plotPath = plot
        arguments.volume = volume
        arguments.audioDevice = audioDevice
        arguments.recordingPath = record
        return arguments
    }

    func run() throws {
        if let kiosk { return try KioskClient(kiosk).calibrate(arguments) { StandardStream.output.write($0) } }
        let status = try CalibrationSession(arguments).run { StandardStream.output.write($0) }
        if status != ExitStatus.done { throw Finished(status: status) }
    }
}
