internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import SyncRendering
internal import TalkieApp

/// `talkie pair`: pairs a speaker with this computer.
struct PairCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Pair with a speaker that requires a PIN or a password; needed once.",
        discussion: """
            Without options the speaker shows its PIN, or the command asks for the password, which is then typed \
            here. The stored credentials are readable only by you.
            """)
    static let usageLine =
        "talkie pair SPEAKER [--pin PIN | --password PW | --password-file FILE] [--forget] [--kiosk NAME]"

    @Argument(
        help: ArgumentHelp("Name, ID or address of the speaker.", valueName: "NAME|ID|airplay://HOST[:PORT]"))
    var speaker: String

    @Option(help: ArgumentHelp("The PIN, if it is already known.", valueName: "PIN"))
    var pin: String?

    @Option(help: ArgumentHelp("The password of the speaker.", valueName: "PW"))
    var password: String?

    @Option(help: ArgumentHelp("The same, as the first line of a file.", valueName: "FILE"))
    var passwordFile: String?

    @Flag(help: "Remove the stored credentials of the speaker.")
    var forget = false

    @Option(
        help: ArgumentHelp(
            "Pair the running kiosk with this configuration, which stores the credentials where it reads them.",
            valueName: "NAME"))
    var kiosk: String?

    func validate() throws {
        if [pin != nil, password != nil, passwordFile != nil, forget].count(where: { $0 }) > 1 {
            throw ValidationError(
                "--pin, --password, --password-file and --forget exclude each other; use one of them")
        }
        if speaker.isEmpty || pin == "" || password == "" {
            throw ValidationError("A name, PIN or password must not be empty; enter one")
        }
    }

    func run() throws {
        let password = try passwordFile.map { try SecretFile.read($0) } ?? password
        let request: PairingAction = forget ? .forget : password.map { .password($0) } ?? .pin(pin)
        if let kiosk {
            let sentence = try KioskClient(kiosk).pair(speaker, request) { TerminalQuestion()?.ask($0) }
            StandardStream.output.write("\(PrintableText.sentence(sentence))\n")
            return
        }
        let outcome = try introduce(request)
        for remark in outcome.remarks { StandardStream.error.write("talkie: \(PrintableText.sentence(remark))\n") }
        StandardStream.output.write("\(PrintableText.sentence(outcome.message))\n")
    }

    /// Pairs with the speaker; if it requires a password, asks for it on the terminal.
    private func introduce(_ request: PairingAction) throws(TalkieError) -> PairingOutcome {
        do {
            return try SpeakerIntroduction().run(speaker, request, ask: Self.question)
        } catch {
            guard case .pin(nil) = request, error.remedy?.action == .givePassword,
                let typed = TerminalQuestion()?.ask("Password of '\(speaker)': ", isSecret: true), !typed.isEmpty
            else { throw error }
            return try SpeakerIntroduction().run(speaker, .password(typed), ask: Self.question)
        }
    }

    /// Asks the user on the terminal; nil without a terminal.
    private static var question: PairingQuestion? {
        TerminalQuestion() == nil ? nil : { TerminalQuestion()?.ask($0) }
    }
}
