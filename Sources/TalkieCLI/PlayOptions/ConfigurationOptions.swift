internal import ArgumentParser

/// Options for configuration files; valid only on the command line.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Also apply these profiles of talkie.conf; help lists them.", valueName: "NAME,…"))
    var profile: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read talkie.conf and input.conf from here instead of ~/.config/talkie.", valueName: "FOLDER"),
        completion: .directory)
    var configDir: String?

    @Flag(help: "Do not read talkie.conf and input.conf.")
    var noConfig = false

    /// The names of all given profiles.
    var profiles: [String] { profile.flatMap { $0.split(separator: ",").map(String.init) } }
}
