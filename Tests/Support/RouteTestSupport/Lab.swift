import AirPlay
import AirPlayTransport
import Foundation
import MediaCore
import PTP
import TalkieTestKit

/// AirPlay 2 receivers on this machine, each in a separate network namespace. The program is `$TALKIE_LAB`, else
/// Tools/lab/lab.
///
/// Each test process has its own lab, network and mDNS, so that parallel test processes do not collide. The lab is
/// taken down when the process exits.
struct Lab {
    static let program: URL = {
        if let path = ProcessInfo.processInfo.environment["TALKIE_LAB"] { return URL(fileURLWithPath: path) }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Tools/lab/lab")
    }()

    private static var rootfs: String {
        ProcessInfo.processInfo.environment["TALKIE_LAB_ROOTFS"] ?? "/var/cache/talkie-lab/forky"
    }

    /// The reason why the lab cannot run here; nil if it can.
    static let obstacle: String? = {
        if !FileManager.default.isExecutableFile(atPath: program.path) {
            return "there is no \(program.path); set TALKIE_LAB"
        }
        if getuid() != 0 { return "namespaces need root" }
        if !FileManager.default.fileExists(atPath: rootfs + "/usr/bin/shairport-sync") {
            return "\(rootfs) is not built; run \(program.path) setup"
        }
        return nil
    }()

    /// True if lab tests run. With `CI=true` they run even without a lab, and fail with `obstacle`.
    static var isWanted: Bool { obstacle == nil || ProcessInfo.processInfo.environment["CI"] == "true" }

    struct Unavailable: Error, CustomStringConvertible {
        let description: String
    }

    private static let state = "/run/talkie-lab-test-"

    /// Folder for recordings and stimuli; removed when the process exits.
    private static let scratch: URL = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("talkie-lab-test-\(getpid())")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: Lab.scratch) }
        return folder
    }()

    /// Environment variables that select this process's lab.
    static var environment: [String: String] { settings(of: getpid()) }

    /// Returns the environment variables that select the lab of a test process.
    private static func settings(of process: Int32) -> [String: String] {
        // Third octet of the lab's addresses; 0 is the lab that is started by hand (10.78.0).
        let number = Int(process) % 250 + 1
        return [
            "TALKIE_LAB_STATE": state + String(process), "TALKIE_LAB_BRIDGE": "tklabt\(number)",
            "TALKIE_LAB_NETWORK": "10.78.\(number)",
        ]
    }

    /// Takes down labs of killed test processes, and registers the removal of this process's lab at exit.
    private static let tidiness: Void = {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/run")) ?? []
        for entry in entries where entry.hasPrefix("talkie-lab-test-") {
            guard let process = Int32(entry.dropFirst("talkie-lab-test-".count)), kill(process, 0) != 0 else {
                continue
            }
            _ = try? run(program.path, ["down"], settings(of: process))
        }
        atexit { _ = try? Lab.run(Lab.program.path, ["down"], Lab.environment) }
    }()

    /// The drift at which a receiver adds or drops frames (Tools/lab).
    enum DriftTolerance: String {
        /// shairport-sync's default of 2 ms.
        case asShipped = "default"
        /// 0.1 ms: the receiver stays at its anchor. For tests that compare two sessions to the millisecond: as
        /// shipped, each may be 2 ms off on its own.
        case tight
        /// One second: the receiver plays the stream frame by frame, regardless of its clock estimate. For tests that
        /// count frames; tests that measure instants need one of the others.
        case frameByFrame = "1"
    }

    /// Starts a speaker with a new receiver process: a receiver that has played before may lose the first beep.
    static func freshSpeaker(_ tolerance: DriftTolerance = .asShipped) throws -> (lab: Lab, host: String, port: UInt16)
    {
        let (lab, addresses) = try freshSpeakers(1, tolerance)
        return (lab, addresses[0].host, addresses[0].port)
    }

    /// Starts a speaker of classic AirPlay with a new receiver process.
    static func freshClassicSpeaker(
        _ tolerance: DriftTolerance = .asShipped
    ) throws -> (lab: Lab, host: String, port: UInt16) {
        let (lab, addresses) = try freshSpeakers(0, tolerance, hasClassic: true)
        return (lab, addresses[0].host, addresses[0].port)
    }

    /// The number of the speaker of classic AirPlay.
    static let classicSpeaker = 9

    /// Starts several speakers, each with a new receiver process and an unimpaired network.
    ///
    /// - Parameter hasClassic: Whether the last one knows classic AirPlay only.
    static func freshSpeakers(
        _ count: Int, _ tolerance: DriftTolerance = .asShipped, hasClassic: Bool = false
    ) throws -> (lab: Lab, addresses: [SpeakerAddress]) {
        if let obstacle { throw Unavailable(description: "the speaker lab cannot run: \(obstacle)") }
        _ = tidiness
        let lab = Lab()
        let listing = try lab.run(
            "up",
            [String(count), "--private", "--fresh", "--tolerance", tolerance.rawValue]
                + (hasClassic ? ["--classic"] : []))
        // Format of a line: `1  "Talkie Lab 1"  10.78.9.11  port 7000  airplay2`
        let words = listing.split(whereSeparator: \.isWhitespace).map(String.init)
        let all = words.indices.dropFirst().dropLast().compactMap { index -> SpeakerAddress? in
            guard words[index] == "port", let port = UInt16(words[index + 1]) else { return nil }
            return SpeakerAddress(host: words[index - 1], port: port)
        }
        // The speaker of classic AirPlay is the last one.
        let addresses = Array(all.prefix(count)) + (hasClassic ? all.suffix(1) : [])
        guard addresses.count == count + (hasClassic ? 1 : 0), all.count >= addresses.count else {
            throw Unavailable(description: "the lab names too few speakers: \(listing)")
        }
        return (lab, addresses)
    }

    /// Returns sender outputs for these addresses; they share one PTP clock.
    static func outputs(_ addresses: [SpeakerAddress], _ route: Route = .buffered) -> [AirPlaySpeaker] {
        let identity = SenderIdentity.random(name: "Talkie test")
        let clocks = PTPDirectory(identity: identity.clock)
        return addresses.map {
            AirPlaySpeaker(
                name: $0.description, configuration: .init(address: $0, identity: identity), clocks: clocks,
                route: route)
        }
    }

    func run(_ command: String, _ arguments: [String]) throws -> String {
        try Self.run(Self.program.path, [command] + arguments, Self.environment)
    }

    private static func run(
        _ path: String, _ arguments: [String], _ settings: [String: String] = [:]
    ) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(settings) { $1 }
        // A file instead of a pipe: background processes of the command would keep a pipe open.
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("lab-\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: log) }
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let output = String(decoding: try Data(contentsOf: log), as: UTF8.self)
        guard process.terminationStatus == 0 else {
            throw Unavailable(
                description:
                    "\(path) \(arguments.first ?? "") ended with status \(process.terminationStatus): \(output)")
        }
        return output
    }

    /// A recording at a receiver's DAC that runs while the test plays.
    final class Recording {
        private let process = Process()
        let file: URL

        /// Starts recording; returns when samples flow.
        ///
        /// - Parameter lateness: simulated delay of an amplifier after the speaker.
        init(_ lab: Lab, seconds: Int, speaker: Int = 1, lateness: Duration = .zero) throws {
            file = Lab.scratch.appendingPathComponent("\(UUID().uuidString).wav")
            process.executableURL = Lab.program
            process.arguments = [
                "record", String(speaker), file.path, String(seconds), "--late", String(lateness.inMilliseconds),
            ]
            process.environment = ProcessInfo.processInfo.environment.merging(Lab.environment) { $1 }
            let errors = Pipe()
            process.standardError = errors
            process.standardInput = FileHandle.nullDevice
            try process.run()
            // The program prints "recording" when samples flow.
            let words = errors.fileHandleForReading.availableData
            guard String(decoding: words, as: UTF8.self).contains("recording") else {
                throw Unavailable(description: "the lab does not record: \(String(decoding: words, as: UTF8.self))")
            }
        }

        /// Waits until the requested duration has been recorded.
        func wait() throws {
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Unavailable(description: "the recording failed") }
        }

        /// Ends the recording after `tail`. The caller has stopped playback.
        func stop() throws {
            HostInstant.now.advanced(by: Self.tail).sleep()
            if process.isRunning { kill(process.processIdentifier, SIGTERM) }
            try wait()
        }

        /// Upper limit of the audio buffered by the recorder and the receiver's sound server.
        private static let tail = Duration.milliseconds(500)
    }

    /// The metadata that a receiver passes on, collected while the test runs.
    final class Metadata {
        /// One message: `minm` and others for the item, `PICT`, `prgr`, `copl` (a property list).
        struct Item {
            var code: String
            var data: Data
        }

        private let process = Process()
        private let file: URL

        init(speaker: Int = 1) throws {
            file = Lab.scratch.appendingPathComponent("\(UUID().uuidString).metadata")
            _ = FileManager.default.createFile(atPath: file.path, contents: nil)
            process.executableURL = URL(fileURLWithPath: "/bin/cat")
            process.arguments = [Lab.environment["TALKIE_LAB_STATE", default: ""] + "/speaker\(speaker)/metadata"]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = try FileHandle(forWritingTo: file)
            try process.run()
        }

        deinit {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        /// The complete messages so far. Their format is that of shairport-sync's pipe: hexadecimal codes, base64.
        var items: [Item] {
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            return text.components(separatedBy: "</item>").dropLast().compactMap { item in
                func between(_ start: String, _ end: String) -> String? {
                    guard let from = item.range(of: start),
                        let to = item.range(of: end, range: from.upperBound..<item.endIndex)
                    else { return nil }
                    return String(item[from.upperBound..<to.lowerBound])
                }
                guard let code = between("<code>", "</code>").flatMap({ UInt32($0, radix: 16) }) else { return nil }
                let data = between("<data encoding=\"base64\">", "</data>")
                return Item(
                    code: String(decoding: withUnsafeBytes(of: code.bigEndian) { Array($0) }, as: UTF8.self),
                    data: data.flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) } ?? Data())
            }
        }

        /// Returns the last text with a code.
        func text(_ code: String) -> String? {
            items.last { $0.code == code }.map { String(decoding: $0.data, as: UTF8.self) }
        }

        /// Waits until the messages satisfy a condition; returns false after ten seconds.
        func wait(for condition: (Metadata) -> Bool) -> Bool {
            let deadline = HostInstant.now.advanced(by: .seconds(10))
            while !condition(self) {
                if HostInstant.now >= deadline { return condition(self) }
                HostInstant.now.advanced(by: .milliseconds(50)).sleep()
            }
            return true
        }
    }

    /// Returns the number of bytes sent to a speaker's network interface, from the kernel's statistics.
    func bytesCarried(to speaker: Int) throws -> Int {
        // Interface name as in Tools/lab/speakers.py.
        let cable = "\(Self.environment["TALKIE_LAB_BRIDGE", default: ""].prefix(11))-s\(speaker)"
        let text = try String(contentsOfFile: "/sys/class/net/\(cable)/statistics/tx_bytes", encoding: .utf8)
        guard let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Unavailable(description: "\(cable) does not count")
        }
        return count
    }

    /// Returns the instants at which the beeps of a recording were audible, on CLOCK_MONOTONIC, in nanoseconds.
    func beeps(in file: URL) throws -> [Int64] {
        try numberedBeeps(in: file).map(\.at)
    }

    /// Same with the number of each beep in its track, modulo 8.
    func numberedBeeps(in file: URL) throws -> [(number: Int, at: Int64)] {
        let text = try run("beeps", [file.path, "--json"])
        let rows = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]] ?? []
        return rows.compactMap { row in
            guard let number = row["kind"] as? Int, let at = row["monotonic_ns"] as? NSNumber else { return nil }
            return (number, at.int64Value)
        }
    }

    /// Returns the offset of each beep from the nearest whole second after an origin, in milliseconds; positive is
    /// late.
    static func errors(_ beeps: [Int64], from origin: HostInstant) -> [Double] {
        beeps.map { instant in
            let milliseconds = Double(instant - origin.nanoseconds) / 1e6
            return milliseconds - (milliseconds / 1000).rounded() * 1000
        }
    }

    /// Creates a file with one tone at 0.4 of full scale.
    ///
    /// - Parameter codec: arguments for ffmpeg; the file extension selects the container.
    static func tone(_ hertz: Int, seconds: Int, rate: Int, _ codec: [String], named name: String) throws -> URL {
        let sound = "aevalsrc='0.4*sin(2*PI*\(hertz)*t)':s=\(rate):d=\(seconds),aformat=channel_layouts=stereo"
        return URL(fileURLWithPath: try TestClips.make(name, ["-f", "lavfi", "-i", sound] + codec))
    }

    /// Creates a film with a sound track for each language; each has the film's beeps one beep later than the one
    /// before. The beeps are 24 frames of 1001/24000 s apart.
    static func addTracks(to film: String, _ languages: [String], seconds: Int, at path: String) throws {
        let delays = languages.indices.map { "[0:a]adelay=\(1001 * $0):all=1,atrim=0:\(seconds)[a\($0)]" }
        let maps = languages.enumerated().flatMap { number, language in
            ["-map", "[a\(number)]", "-metadata:s:a:\(number)", "language=\(language)"]
        }
        try TestClips.make(
            at: path,
            ["-i", film, "-filter_complex", delays.joined(separator: ";"), "-map", "0:v"] + maps
                + ["-c:v", "copy", "-c:a", "aac", "-b:a", "192k"])
    }

    /// Returns a track of beeps, one per second starting at frame 0, as AAC-LC access units of 1024 frames.
    func aacBeeps(seconds: Int, rate: Int) throws -> [[UInt8]] {
        let folder = Lab.scratch.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let wave = folder.appendingPathComponent("beeps.wav").path
        _ = try run("beeps", ["--make", wave, String(seconds), "--rate", String(rate)])
        let aac = try TestClips.make("beeps.aac", ["-i", wave, "-c:a", "aac", "-b:a", "192k", "-f", "adts"])
        return ADTS.accessUnits(in: try TestClips.bytes(of: aac))
    }
}

/// Splits an ADTS file into access units (ISO/IEC 14496-3, section 1.A.2.2).
enum ADTS {
    static func accessUnits(in bytes: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var position = 0
        while position + 7 <= bytes.count, bytes[position] == 0xFF, bytes[position + 1] & 0xF6 == 0xF0 {
            let header = bytes[position + 1] & 1 == 1 ? 7 : 9
            let length =
                Int(bytes[position + 3] & 3) << 11 | Int(bytes[position + 4]) << 3 | Int(bytes[position + 5] >> 5)
            guard length > header, position + length <= bytes.count else { break }
            units.append(Array(bytes[(position + header)..<(position + length)]))
            position += length
        }
        return units
    }
}
