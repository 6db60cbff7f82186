internal import CardOutput
internal import Kiosk
package import MediaCore
internal import Profiles
internal import Routing
internal import ScreenOutput
internal import Storage

/// A request for a calibration, which a controller sends to a running kiosk as JSON.
struct KioskCalibrationRequest {
    let arguments: CalibrateArguments

    init(_ arguments: CalibrateArguments) { self.arguments = arguments }

    var text: String {
        var members: [(String, JSONValue)] = [
            ("speakers", .array(arguments.speakers.map { .text($0.name) })), ("events", .integer(arguments.events)),
            ("light", .flag(arguments.expectsLight)), ("json", .flag(arguments.isJSON)),
            ("plot", .flag(arguments.plotPath != nil)), ("volume", .optional(arguments.volume, decimals: 3)),
        ]
        if case .microphone(let device) = arguments.way { members.append(("microphone", .text(device))) }
        return JSONValue.object(members).compact
    }

    /// Parses a request.
    ///
    /// - Throws: `invalidArgument` for values that `talkie calibrate` refuses too.
    init(parsing text: String) throws(TalkieError) {
        guard let object = JSONValue(parsing: text), case .array(let names)? = object["speakers"] else {
            throw TalkieError(
                .invalidArgument, "the request of the calibration is invalid; use the same version of Talkie")
        }
        do throws(ValueError) {
            var speakers: [SpeakerChoice] = []
            for name in names.prefix(CalibrateArguments.maxSpeakers) {
                speakers.append(try SpeakerChoice(parsing: name.text ?? ""))
            }
            var arguments = CalibrateArguments(speakers: speakers)
            arguments.events = try CalibrateArguments.events(parsing: "\(object["events"]?.integer ?? 0)")
            // The plot and the events file are written by the controller.
            let microphone = object["microphone"]?.text
            // The controller has not the rights of the kiosk.
            if let microphone, !Microphone.isDevice(microphone) {
                throw ValueError("the microphone of a kiosk must be default, pulse, hw:… or plughw:…")
            }
            arguments.way = microphone.map { .microphone($0) } ?? .emit("")
            arguments.plotPath = object["plot"]?.flag == true ? "" : nil
            arguments.expectsLight = object["light"]?.flag == true
            arguments.isJSON = object["json"]?.flag == true
            arguments.volume = object["volume"]?.number.map { min(100, max(0, $0)) }
            self.arguments = arguments
        } catch { throw TalkieError(.invalidArgument, error.description) }
    }
}

extension KioskTasks {
    /// Creates the work of the program for controllers of a kiosk.
    ///
    /// - Parameter registry: The outputs of the kiosk.
    init(_ registry: OutputRegistry) {
        self.init(
            calibrate: { (request, screen, interruption, progress) throws(TalkieError) in
                let session = CalibrationSession(
                    try KioskCalibrationRequest(parsing: request).arguments, store: ProfileStore(),
                    terminal: Terminal(showsStatus: false), interruption: interruption)
                let result = try session.run(on: screen, with: registry, progress: progress)
                return JSONValue.object([("text", .text(result.text)), ("plot", .optional(result.plot))]).compact
            },
            editProfiles: { (request) throws(TalkieError) in try Self.profiles(request) })
    }

    private static func profiles(_ request: String) throws(TalkieError) -> String {
        let (commands, object) = (ProfileCommands(), JSONValue(parsing: request))
        switch object?["do"]?.text {
        case "list":
            return JSONValue.object([
                ("text", .text(commands.list(json: object?["json"]?.flag == true))),
                ("notes", .array(commands.notes.map { .text($0) })),
            ]).compact
        case "forget":
            let speaker = object?["speaker"]?.text ?? ""
            return result(try commands.forget(speaker, screen: object?["screen"]?.text))
        case "export": return result(try commands.export(to: nil))
        case "import":
            let profiles: [LatencyProfile]
            do throws(FileFailure) {
                profiles = try ProfileExchange.read(Array((object?["profiles"]?.text ?? "").utf8))
            } catch { throw TalkieError(.invalidArgument, "the profile is invalid; export it again") }
            try commands.store(profiles)
            return result("")
        default: throw TalkieError(.invalidArgument, "the request is invalid; use the same version of Talkie")
        }
    }

    private static func result(_ text: String) -> String { JSONValue.object([("text", .text(text))]).compact }
}

extension KioskClient {
    /// Calibrates speakers of the kiosk. Blocks until the result, which is written as by `talkie calibrate`.
    ///
    /// - Parameter write: Receives the text for standard output.
    package func calibrate(_ arguments: CalibrateArguments, write: (String) -> Void) throws(TalkieError) {
        let terminal = Terminal()
        defer { terminal.show(status: nil) }
        var reply = try perform(["calibrate-outputs", KioskCalibrationRequest(arguments).text])
        while reply["result"] == nil {
            if let progress = reply["progress"]?.text, !progress.isEmpty { terminal.show(status: progress) }
            reply = try perform(["calibration-progress"])
        }
        terminal.show(status: nil)
        guard let result = JSONValue(parsing: reply["result"]?.text ?? ""), let text = result["text"]?.text else {
            throw ended
        }
        if case .emit(let path) = arguments.way {
            return try OutputFile.write(text, to: path, what: "the events file", isPrivate: true)
        }
        write(Self.printable(text))
        if let path = arguments.plotPath, let plot = result["plot"]?.text {
            try OutputFile.write(plot, to: path, what: "the plot")
        }
    }

    /// Lists the calibrations of the kiosk. Returns the text, and sentences about unreadable files.
    package func profiles(json isJSON: Bool) throws(TalkieError) -> (text: String, notes: [String]) {
        let reply = try profiles(.object([("do", .text("list")), ("json", .flag(isJSON))]))
        guard case .array(let notes)? = reply["notes"] else { throw ended }
        return (Self.printable(reply["text"]?.text ?? ""), notes.compactMap(\.text))
    }

    /// Removes the calibrations of a speaker from the kiosk. Returns a sentence for the user.
    package func forgetProfiles(of speaker: String, screen: String?) throws(TalkieError) -> String {
        let request = JSONValue.object([
            ("do", .text("forget")), ("speaker", .text(speaker)), ("screen", .optional(screen)),
        ])
        return Self.printable(try profiles(request)["text"]?.text ?? "")
    }

    /// Exports the calibrations of the kiosk; see `ProfileCommands.export`.
    package func exportProfiles(to path: String?) throws(TalkieError) -> String {
        let text = try profiles(.object([("do", .text("export"))]))["text"]?.text ?? ""
        guard let path else { return text }
        // ignored: a text that is no export has no profiles.
        let count = (try? ProfileExchange.read(Array(text.utf8)).count) ?? 0
        try OutputFile.write(text, to: path, what: "the export")
        return ProfileCommands.exported(count, to: path)
    }

    /// Imports profiles into the kiosk. An invalid file changes nothing.
    package func importProfiles(from path: String) throws(TalkieError) -> String {
        let all = try ProfileCommands.profiles(in: path)
        for profile in all {
            _ = try profiles(
                .object([("do", .text("import")), ("profiles", .text(ProfileExchange.json([profile]).compact))]))
        }
        return ProfileCommands.imported(all, from: path)
    }

    private func profiles(_ request: JSONValue) throws(TalkieError) -> JSONValue {
        guard let reply = JSONValue(parsing: try perform(["profiles", request.compact]).text ?? "") else { throw ended }
        return reply
    }

    /// Returns lines without control characters: names are chosen by others.
    private static func printable(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { PrintableText.of(String($0)) }
            .joined(separator: "\n")
    }
}

extension JSONValue {
    /// Parses a text; nil if it is no object.
    fileprivate init?(parsing text: String) {
        let value = Array(text.utf8).withUnsafeBytes { JSONNode(object: $0, maxElements: 1 << 20).map(JSONValue.init) }
        guard let value else { return nil }
        self = value
    }
}
