internal import ArgumentParser
internal import MediaCore
internal import TalkieApp

/// `talkie doctor`: reports what this machine supports, with remedies.
struct DoctorCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what this computer supports, and show how to fix what is missing.")
    static let usageLine = "talkie doctor [--json]"

    @Flag(help: "Print the findings as JSON.")
    var json = false

    func run() throws {
        let findings = Doctor.examine()
        StandardStream.output.write(json ? Doctor.json(findings).formatted : Doctor.text(findings))
    }
}
