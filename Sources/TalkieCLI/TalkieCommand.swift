internal import ArgumentParser
internal import MediaCore

/// `talkie`: the root command.
struct TalkieCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "talkie",
        abstract: "Plays films in lip sync.",
        discussion: "'talkie FILM' plays it; 'talkie play --help' lists all options.",
        version: "talkie \(Release.version)",
        subcommands: [
            PlayCommand.self, KioskCommand.self, SpeakersCommand.self, PairCommand.self, CalibrateCommand.self,
            ProfileCommand.self,
            LatencyCommand.self, ReportCommand.self, SpeakerCommand.self, DoctorCommand.self,
        ])
}
