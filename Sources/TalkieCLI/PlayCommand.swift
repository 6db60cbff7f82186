internal import ArgumentParser
internal import MediaCore
internal import Playback
internal import TalkieApp

/// `talkie play`: parses the options. `PlaySession` runs on the main thread, as SDL requires.
struct PlayCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play films, addresses and playlists.",
        discussion: """
            Names, units and keys are mpv's where the meaning is the same. TIME is 90, 1:30, 01:02:03.5, -10 (from the \
            end) or 50%. A positive delay or offset means that sound is later than picture.
            """)
    static let usageLine = "talkie play FILE|URL|PLAYLIST… [OPTION…]"

    @Argument(
        help: ArgumentHelp(
            "What to play, in this order; - is standard input; of a folder, all its files are played.",
            valueName: "FILE|URL|PLAYLIST"), completion: .file())
    var files: [String]

    @OptionGroup(title: "Sound output") var audioOptions: AudioOptions
    @OptionGroup(title: "Picture") var videoOptions: VideoOptions
    @OptionGroup(title: "Playback") var film: FilmOptions
    @OptionGroup(title: "Subtitles") var subtitles: SubtitleOptions
    @OptionGroup(title: "Covers and pictures") var covers: CoverOptions
    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Messages and recordings") var record: RecordOptions
    @OptionGroup(title: "Configuration files") var configuration: ConfigurationOptions

    func validate() throws {
        if film.noVideo && film.noAudio {
            throw ValidationError(
                "Without picture and sound there is nothing to play; remove --no-video or --no-audio")
        }
        if film.noAudio && !audioOptions.speakers.isEmpty {
            throw ValidationError("--no-audio and --speaker contradict each other; remove one of them")
        }
        if let speaker = SpeakerArgument.contradiction(in: audioOptions.speakers) {
            throw ValidationError(
                "--speaker names '\(PrintableText.of(speaker.name))' with different options; a speaker plays one sound track"
            )
        }
        if film.noVideo && (videoOptions.isFullScreen || videoOptions.size != nil || videoOptions.screen != nil) {
            throw ValidationError("--no-video opens no window for --fs, --screen or --size; remove one of them")
        }
        if network.tlsVerify == .no && network.tlsCaFile != nil {
            throw ValidationError("--tls-ca-file has no effect with --tls-verify=no; remove one of them")
        }
        if case .fromStart(let start)? = film.start, case .fromStart(let end)? = film.end, end <= start {
            throw ValidationError("--end must be after --start")
        }
    }

    /// The parsed options as one value.
    var arguments: PlayArguments {
        var arguments = PlayArguments(files: files)
        audioOptions.apply(to: &arguments)
        videoOptions.apply(to: &arguments)
        film.apply(to: &arguments)
        subtitles.apply(to: &arguments)
        covers.apply(to: &arguments)
        network.apply(to: &arguments)
        record.apply(to: &arguments)
        return arguments
    }

    func run() throws {
        throw Finished(status: try PlaySession.run(arguments))
    }
}
