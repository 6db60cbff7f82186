internal import ArgumentParser

/// Options for configuration files; valid only on the command line.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take the settings of these profiles of talkie.conf, too; help lists them.", valueName: "NAME,…"))
    var profile: [String] = []

    @Option(
        help: ArgumentHelp("Read talkie.conf and input.conf here, not in ~/.config/talkie.", valueName: "FOLDER"),
        completion: .directory)
    var configDir: String?

    @Flag(help: "Read neither talkie.conf nor input.conf.")
    var noConfig = false

    /// The names of all given profiles.
    var profiles: [String] { profile.flatMap { $0.split(separator: ",").map(String.init) } }
}
