internal import ArgumentParser
internal import MediaCore
internal import Playback

/// Options for loudness tags.
struct LoudnessTagOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Adjust the volume by ReplayGain or R128 tags, per track or per album.",
            valueName: "no|track|album"),
        transform: valueChoice("--replaygain must be no, track or album"))
    var replaygain: ReplayGainOptions.Mode = .no

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Gain in decibels in addition to the tags.", valueName: "DB"),
        transform: { try PlayerOptions.decibels(parsing: $0) })
    var replaygainPreamp: Double?

    @Option(
        help: ArgumentHelp(
            "Allow peaks above full scale, which the limiter reduces, instead of lowering the gain.",
            valueName: "yes|no"),
        transform: valueChoice("--replaygain-clip must be yes or no"))
    var replaygainClip: YesOrNo = .no

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Gain in decibels for files without tags.", valueName: "DB"),
        transform: { try PlayerOptions.decibels(parsing: $0) })
    var replaygainFallback: Double?

    enum YesOrNo: String, CaseIterable {
        case yes = "yes"
        case no = "no"
    }

    var options: ReplayGainOptions {
        var options = ReplayGainOptions()
        options.mode = replaygain
        options.preamp = replaygainPreamp ?? 0
        options.mayClip = replaygainClip == .yes
        options.fallback = replaygainFallback ?? 0
        return options
    }
}
