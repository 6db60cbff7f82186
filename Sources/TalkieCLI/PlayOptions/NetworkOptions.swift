internal import ArgumentParser
internal import TalkieApp

/// Options about films that come from servers.
struct NetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Whether https servers must prove who they are.", valueName: "yes|no"),
        completion: .list(["yes", "no"]),
        transform: wordChoice("--tls-verify takes yes or no"))
    var tlsVerify: Answer = .yes

    @Option(
        help: ArgumentHelp("Believe the authorities of this PEM file, too.", valueName: "FILE"), completion: .file())
    var tlsCaFile: String?

    enum Answer: String { case yes, no }

    func apply(to arguments: inout PlayArguments) {
        arguments.verifiesServers = tlsVerify == .yes
        arguments.authorityFile = tlsCaFile
    }
}
