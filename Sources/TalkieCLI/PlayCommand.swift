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
            "What to play, in this order; - is standard input; a folder plays what is in it.",
            valueName: "FILE|URL|PLAYLIST"), completion: .file())
    var files: [String]

    @OptionGroup(title: "Where the sound goes") var sound: SoundOptions
    @OptionGroup(title: "Where the picture goes") var picture: PictureOptions
    @OptionGroup(title: "What is played") var film: FilmOptions
    @OptionGroup(title: "Subtitles") var subtitles: SubtitleOptions
    @OptionGroup(title: "Covers and pictures") var covers: CoverOptions
    @OptionGroup(title: "Films from the network") var network: NetworkOptions
    @OptionGroup(title: "What is told and recorded") var record: RecordOptions
    @OptionGroup(title: "What is read before the command line") var configuration: ConfigurationOptions

    func validate() throws {
        if film.noVideo && film.noAudio {
            throw ValidationError(
                "Without picture and without sound nothing is left to play; drop --no-video or --no-audio")
        }
        if film.noAudio && !sound.speakers.isEmpty {
            throw ValidationError("--no-audio and --speaker contradict each other; drop one of them")
        }
        if film.noVideo && (picture.isFullScreen || picture.size != nil || picture.screen != nil) {
            throw ValidationError("--no-video leaves no window for --fs, --screen or --size; drop one of them")
        }
        if network.tlsVerify == .no && network.tlsCaFile != nil {
            throw ValidationError("--tls-ca-file means nothing with --tls-verify=no; drop one of them")
        }
        if record.controlSocket != nil {
            throw ValidationError("--input-ipc-server is not there yet; control Talkie with its keys")
        }
        if case .fromStart(let start)? = film.start, case .fromStart(let end)? = film.end, end <= start {
            throw ValidationError("--end must lie after --start")
        }
    }

    /// The parsed options as one value.
    var arguments: PlayArguments {
        var arguments = PlayArguments(files: files)
        sound.apply(to: &arguments)
        picture.apply(to: &arguments)
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
