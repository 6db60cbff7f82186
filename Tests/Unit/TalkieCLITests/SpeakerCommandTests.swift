import AirPlayWire
import ArgumentParser
import PTP
import Sockets
import Testing
import VirtualSpeaker

@testable import TalkieCLI

@Suite struct SpeakerCommandTests {
    private func speaker(_ words: String...) throws -> SpeakerConfiguration {
        try #require(try TalkieCommand.parseAsRoot(["speaker"] + words) as? SpeakerCommand).speaker
    }

    @Test func withoutOptionsTheSpeakerIsOpenAndHasItsOwnAddress() throws {
        let speaker = try speaker()
        #expect(speaker.name == "Talkie" && speaker.address.description == "127.0.0.2" && speaker.port == 7000)
        #expect(speaker.output == .none && speaker.journal == nil && speaker.clock == .ifPermitted)
        #expect(speaker.admission == .open && speaker.isAnnounced)
    }

    @Test func everyPromisedOptionArrives() throws {
        let speaker = try speaker(
            "--name", "Kitchen", "--address", "127.0.0.9", "--port", "0", "--output", "a.wav", "--record", "a.jsonl",
            "--password", "open sesame", "--clock", "ptp", "--no-mdns", "--quirk", "late-clock=2.5", "--quirk",
            "anchor-400-before-lock", "--quirk", "buffer=100000", "--quirk", "read-pauses=1:0.5", "--quirk",
            "clock-ppm=-40", "--quirk", "loss=0.01")
        #expect(speaker.name == "Kitchen" && speaker.address.description == "127.0.0.9" && speaker.port == 0)
        #expect(speaker.output == .file(path: "a.wav") && speaker.journal == "a.jsonl")
        #expect(speaker.admission == .password("open sesame"))
        #expect(speaker.clock == .required && !speaker.isAnnounced)
        let quirks = speaker.quirks
        #expect(quirks.lateClock == .milliseconds(2500) && quirks.refusesAnchorBeforeLock)
        #expect(quirks.bufferSize == 100_000 && quirks.clockPartsPerMillion == -40 && quirks.packetLoss == 0.01)
        #expect(quirks.readPauses?.every == .seconds(1) && quirks.readPauses?.lasting == .milliseconds(500))
        #expect(try self.speaker("--pin", "1234").admission == .pin("1234"))
        #expect(try self.speaker("--output", "plughw:1").output == .card(device: "plughw:1"))
    }

    @Test(arguments: [
        ["--address", "kitchen"], ["--pin", "12"], ["--pin", "12a4"], ["--password", ""], ["--name", ""],
        ["--clock", "sundial"], ["--quirk", "late-clock"], ["--quirk", "fly"], ["--output", ""], ["--port", "70000"],
        ["--pin=1234", "--password=x"], ["--password=x", "--password-file=y"],
    ])
    func whatMakesNoSenseIsAUsageError(words: [String]) {
        let outcome = CommandLineRunner.outcome(of: ["speaker"] + words)
        #expect(outcome.status == 2)
        let lines = outcome.complaint.split(separator: "\n")
        #expect(lines.count == 2 && lines.last?.hasPrefix("Usage: talkie speaker") == true, "\(outcome.complaint)")
    }

    @Test func anAddressOfAnotherComputerIsUnavailable() {
        // 192.0.2.0/24 is reserved for documentation (RFC 5737).
        let outcome = CommandLineRunner.outcome(of: ["speaker", "--clock", "ntp", "--address", "192.0.2.1"])
        #expect(outcome.status == 69)
        #expect(outcome.complaint.contains("192.0.2.1"))
    }
}
