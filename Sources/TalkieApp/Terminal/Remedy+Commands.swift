internal import AirPlay
package import AirPlayTransport
package import MediaCore
internal import Telemetry

extension Remedy {
    /// The command that performs the action; nil if there is none.
    var command: String? {
        let outputName = outputName.map { " " + ShellArgument.quoted($0) } ?? ""
        return switch action {
        // The command asks for the PIN or the password: one in a command line is stored by shells.
        case .pair, .pairByPIN, .pairAgain, .givePassword, .correctPassword: "talkie pair\(outputName)"
        case .listOutputs: "talkie speakers"
        case .checkFirewall: "talkie doctor"
        case .chooseRoute, .resetRoute: "talkie play FILM --speaker\(outputName)"
        case .recordTimeline: "talkie play FILM --timeline FILE"
        case .recordSpeaker: "talkie speaker --record FILE"
        default: nil
        }
    }

    /// The remedy in an error message; nil: no specific wording.
    package var phrase: String? {
        guard let command else { return nil }
        return switch action {
        case .pair: ": `\(command)`"
        case .pairByPIN: outputName == nil ? "run `\(command)` once and type its PIN" : "run `\(command)` once"
        case .pairAgain: "pair it again with `\(command)`"
        case .givePassword: outputName == nil ? "set it once with `\(command)`" : "run `\(command)` once"
        case .correctPassword: "check it and enter it with `\(command)`"
        case .listOutputs: "(see `\(command)`)"
        case .checkFirewall: "a firewall may block its messages (see `\(command)`)"
        case .chooseRoute:
            "a firewall may block its messages (see `talkie doctor`); otherwise try another route with `\(command)`"
        case .resetRoute: "only this route was requested; `\(command)` tries all"
        case .recordTimeline: "record one with \(command)"
        case .recordSpeaker: "record it with \(command); check its name"
        default: nil
        }
    }
}

extension RemedyPhrases {
    /// The wording of the pairing command, which is already running.
    static let pairing = RemedyPhrases(inErrors: { remedy in
        guard remedy.action == .givePassword, remedy.outputName != nil else { return remedy.phrase }
        return remedy.command.map { "type it here, or give it with `\($0) --password-file FILE`" }
    })

    /// The commands of this program.
    package static let commands = RemedyPhrases(
        inErrors: \.phrase,
        inLists: { remedy in
            switch remedy.action {
            case .pair, .pairByPIN, .pairAgain: "select it to enter its PIN"
            case .givePassword, .correctPassword: "select it to enter its password"
            default: remedy.command.map { "type \($0) in a terminal" }
            }
        })
}
