internal import ArgumentParser
internal import MediaCore
internal import Playback

/// Options for loudness tags.
struct ReplayGainWords: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Play each piece as loud as its ReplayGain or R128 tags say, by itself or by its album.",
            valueName: "no|track|album"),
        transform: wordChoice("a replay gain is no, track or album"))
    var replaygain: ReplayGainOptions.Mode = .no

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Decibels on top of what the tags say.", valueName: "DB"),
        transform: { try PlayerOptions.decibels(parsing: $0) })
    var replaygainPreamp: Double?

    @Option(
        help: ArgumentHelp(
            "Leave peaks beyond full scale to the limiter, instead of lowering the gain until there are none.",
            valueName: "yes|no"),
        transform: wordChoice("clipping is yes or no"))
    var replaygainClip: YesOrNo = .no

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Decibels for what has no such tags.", valueName: "DB"),
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
