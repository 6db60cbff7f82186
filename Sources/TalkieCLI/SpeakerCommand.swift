internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import TalkieApp
internal import VirtualSpeaker

/// `talkie speaker`: runs an AirPlay 2 speaker in software until a signal.
struct SpeakerCommand: ParsableCommand, UsageLine {
    static let configuration = CommandConfiguration(
        commandName: "speaker",
        abstract: "Run an AirPlay 2 speaker in software, for tests.",
        discussion: """
            Senders see it like any other speaker. It uses its own address, so that a sender can run on the same \
            computer. PTP timing, and with it buffered streams, needs UDP ports 319 and 320 there. Ctrl-C quits.

            Quirks: \(SpeakerQuirks.vocabulary.joined(separator: ", ")). REQUEST is a method such as SETUP or a path \
            such as /feedback; a SHARE is 0 to 1; AFTER, BUSY, EVERY and LASTING are seconds.
            """)
    static let usageLine = "talkie speaker [OPTION…]"

    @Option(help: "Name shown to users.")
    var name = "Talkie"

    @Option(help: ArgumentHelp("Address of this computer to listen on.", valueName: "A"))
    var address = "127.0.0.2"

    @Option(help: ArgumentHelp("TCP port to listen on; 0 for any.", valueName: "PORT"))
    var port: UInt16 = 7000

    @Option(
        help: ArgumentHelp("Output: a sound card, a recording, or none.", valueName: "ALSA|FILE.wav|none"),
        transform: { text in
            try Self.checked { () throws(SpeakerError) in try SpeakerConfiguration.output(parsing: text) }
        })
    var output: SpeakerConfiguration.Output = .none

    @Option(
        help: ArgumentHelp(
            "Record audio and events with their times, as JSON lines; at most 256 MiB.", valueName: "FILE"))
    var record: String?

    @Option(help: ArgumentHelp("Password that senders need.", valueName: "PW"))
    var password: String?

    @Option(help: ArgumentHelp("The same, as the first line of a file.", valueName: "FILE"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("PIN of four digits that senders need once.", valueName: "PIN"))
    var pin: String?

    @Option(
        help: ArgumentHelp("Timing to offer; auto offers PTP if its ports can be bound.", valueName: "auto|ptp|ntp"),
        transform: { text in
            try Self.checked { () throws(SpeakerError) in try SpeakerConfiguration.ClockPolicy(parsing: text) }
        })
    var clock: SpeakerConfiguration.ClockPolicy = .ifPermitted

    @Option(
        name: .customLong("quirk"),
        help: ArgumentHelp("Imitate a quirk of real speakers; may be given several times.", valueName: "NAME[=VALUE…]"))
    var quirks: [String] = []

    @Flag(help: "Offer classic AirPlay (RAOP) instead of AirPlay 2.")
    var classic = false

    @Flag(help: "Do not announce it by mDNS.")
    var noMdns = false

    func validate() throws {
        if password != nil && passwordFile != nil {
            throw ValidationError("--password and --password-file exclude each other; use one of them")
        }
        if classic && pin != nil {
            throw ValidationError("classic AirPlay has no PIN; use --password")
        }
        _ = try speaker
    }

    /// The parsed options as one value.
    var speaker: SpeakerConfiguration {
        get throws {
            try Self.checked { () throws(SpeakerError) in
                var quirks = SpeakerQuirks()
                for quirk in self.quirks { try quirks.set(quirk) }
                guard !name.isEmpty, name.utf8.count <= 63 else {
                    throw SpeakerError(.badOption, "a name must have 1 to 63 bytes, the limit of mDNS")
                }
                var configuration = SpeakerConfiguration(
                    name: name, port: port, output: output, journal: record, clock: clock, isAnnounced: !noMdns,
                    quirks: quirks)
                configuration.isClassic = classic
                configuration.address = try SpeakerConfiguration.address(parsing: address)
                configuration.admission = try SpeakerConfiguration.admission(password: password, pin: pin)
                return configuration
            }
        }
    }

    /// Converts errors of the speaker module to usage errors.
    private static func checked<Value>(_ body: () throws(SpeakerError) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw ValidationError(error.message)
        }
    }

    func run() throws {
        var configuration = try speaker
        if let passwordFile {
            let secret = try SecretFile.read(passwordFile)
            configuration.admission = try Self.checked { () throws(SpeakerError) in
                try SpeakerConfiguration.admission(password: secret, pin: pin)
            }
        }
        if pin != nil { configuration.memory = SpeakerMemoryFile(name: name) }
        let ending = SpeakerEnding()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let signals = try SignalWatch.begin { if case .end(let status) = $0 { ending.end(status) } }
        defer { signals.stop() }
        let speaker: SoftwareSpeaker
        do {
            speaker = try SoftwareSpeaker(configuration)
        } catch {
            throw TalkieError(Self.code(for: error), error.message)
        }
        StandardStream.output.write(Self.greeting(speaker))
        let record = speaker.record
        do throws(ExhaustionError) {
            // A separate thread, so that a slow reader of standard output does not delay audio.
            _ = try WorkerThread.start(name: "speaker-news") {
                while let entry = record.nextEvent() { SpeakerMessages.printEvent(entry.event) }
            }
        } catch {
            speaker.stop()
            throw TalkieError(error)
        }
        let status = ending.wait()
        speaker.stop()
        throw Finished(status: status)
    }

    static func greeting(_ speaker: SoftwareSpeaker) -> String {
        let configuration = speaker.configuration
        let timing = speaker.offersPTP ? "PTP and NTP timing" : "NTP timing only, so realtime streams only"
        let output =
            switch configuration.output {
            case .none: "no audio output"
            case .file(let path): "plays into \(path)"
            case .card(let device): "plays on \(device)"
            }
        let name = PrintableText.of(configuration.name)
        return "\"\(name)\" is \(speaker.url); \(timing); \(output)\n"
    }

    private static func code(for error: SpeakerError) -> TalkieError.Code {
        switch error.code {
        case .notPermitted: .notPermitted
        case .cannotWrite, .exhausted: .failed
        default: .unavailable
        }
    }
}

/// Waits for the end of the speaker. Any thread.
private final class SpeakerEnding: Sendable {
    private let status = Lock<Int32>(ExitStatus.done)
    private let signal = Signal()

    func end(_ status: Int32) {
        self.status.withLock { $0 = status }
        signal.raise()
    }

    func wait() -> Int32 {
        signal.wait()
        return status.withLock { $0 }
    }
}
