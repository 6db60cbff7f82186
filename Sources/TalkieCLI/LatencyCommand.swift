internal import ArgumentParser
internal import MediaCore
internal import Profiles
internal import Routing
internal import TalkieApp

/// `talkie latency`: prints the components of a speaker's offset and their sources.
struct LatencyCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Show the components of a speaker's offset and their sources.",
        discussion:
            "The sum of the components is the offset in use: how much earlier than its picture the sound is sent.")
    static let usageLine = "talkie latency SPEAKER [--audio-device ALSA] [--json]"

    @Argument(
        help: ArgumentHelp(
            "Speaker by name, ID or address, or local for this computer.",
            valueName: "NAME|ID|airplay://HOST[:PORT]|local"),
        transform: { try SpeakerChoice(parsing: $0) })
    var speaker: SpeakerChoice

    @Option(help: ArgumentHelp("The sound card used for 'local'.", valueName: "ALSA"))
    var audioDevice: String?

    @Flag(help: "Print the components as JSON.")
    var json = false

    func run() throws {
        let ledgers = try LatencyInquiry().ledgers(speaker, audioDevice: audioDevice)
        if json {
            StandardStream.output.write(
                ledgers.count == 1 ? ledgers[0].json.formatted : JSONValue.array(ledgers.map(\.json)).formatted)
        } else {
            StandardStream.output.write(ledgers.map(\.text).joined())
            if ledgers.contains(where: { $0.profile?.offset == nil }) {
                StandardStream.output.write(
                    "talkie calibrate measures what is not calibrated; talkie doctor explains an unknown sink\n")
            }
        }
    }
}
