import Foundation
import Glibc
import MediaCore
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The program with a private X server and sink, and what its screen showed and its sink played.
///
/// `@unchecked Sendable`: used by the thread that runs the program until that has ended, then by the test.
final class ObservedPlayback: @unchecked Sendable {
    /// How the program is started, and when it is ended.
    struct Setup {
        /// Arguments after `play`.
        var words: [String]
        var screen = "320x180"
        /// Channel count of the sink.
        var channels = 2
        var environment: [String: String] = [:]
        /// Whether the sound server has a second sink, a Bluetooth headset named `Headset`.
        var hasHeadset = false
        /// Key names of xdotool, pressed when a second of the film is first shown.
        var keys: [Int: [String]] = [:]
        /// Called for each sample of the screen; returning true ends the program by SIGTERM.
        var isOver: (ObservedPlayback) -> Bool = { _ in false }

        init(_ words: String..., screen: String = "320x180") { (self.words, self.screen) = (words, screen) }
    }

    /// A second of the film, and the interval in which it was seen or heard, in seconds of the host clock.
    struct Stretch {
        var second: Int
        var from: Double
        var to: Double
    }

    let display: VirtualDisplay
    private(set) var result = Program.Result(status: -1, output: "", errors: "")
    /// Samples of the screen; `second` is nil for black and for colours of no film.
    private(set) var looks: [(at: Double, second: Int?)] = []
    /// The last sample of the screen.
    private(set) var screen: DisplayPicture?
    /// The screen at each change and once a second.
    private(set) var pictures: [DisplayPicture] = []
    /// Recording of the sink. A test replaces it by the recording of a speaker.
    var sound: OutputCapture?
    /// Recording of the headset.
    private(set) var headset: OutputCapture?
    /// Keys not pressed yet, by second.
    private var keys: [Int: [String]]
    /// Output of pactl for the program's stream.
    private(set) var stream = ""

    private let setup: Setup
    private let sink: String
    private let home: Scratch

    private init(_ setup: Setup, sink: String) throws {
        (self.setup, self.sink, keys) = (setup, sink, setup.keys)
        display = try VirtualDisplay(setup.screen)
        home = try Scratch()
    }

    /// Starts a software speaker with the address 127.0.0.`host`.
    static func speaker(
        _ host: UInt8, output: SpeakerConfiguration.Output = .none
    ) throws -> SoftwareSpeaker {
        try SoftwareSpeaker(
            SpeakerConfiguration(
                address: .init(ipv4: 0x7F00_0000 | UInt32(host)), port: 0, output: output, clock: .required))
    }

    /// Runs programs to their ends, two at once: more would overload two cores that also run another test lane.
    static func play(_ setups: [Setup]) throws -> [ObservedPlayback] {
        let server = try PulseServer(sink: nil)
        defer { server.stop() }
        let card = try server.folder.asoundConfiguration()
        var recorders: [PulseServer.Recorder] = []
        let all = try setups.enumerated().map { number, setup in
            let sink = "sink\(number)"
            try server.control(
                "load-module", "module-null-sink", "sink_name=\(sink)", "rate=48000", "channels=\(setup.channels)",
                "norewinds=1")
            recorders.append(try server.record(sink: sink))
            return try ObservedPlayback(setup, sink: sink)
        }
        // The last sink of the list.
        var headset: PulseServer.Recorder?
        if setups.contains(where: \.hasHeadset) {
            try server.control(
                "load-module", "module-null-sink", "sink_name=headset", "rate=48000", "channels=2", "norewinds=1",
                "sink_properties='device.description=Headset device.api=bluez device.string=AC:80:0A:11:22:33"
                    + " bluetooth.codec=sbc'")
            headset = try server.record(sink: "headset")
        }
        let (group, address, processors) = (DispatchGroup(), server.address, DispatchSemaphore(value: 2))
        for playback in all {
            group.enter()
            Thread.detachNewThread {
                processors.wait()
                playback.run(card: card, server: address, isAlone: all.count == 1)
                processors.signal()
                group.leave()
            }
        }
        group.wait()
        for (playback, recorder) in zip(all, recorders) { playback.sound = try recorder.finish() }
        if let headset = try headset?.finish() { for playback in all { playback.headset = headset } }
        return all
    }

    private func run(card: String, server: String, isAlone: Bool) {
        var environment: [String: String?] = [
            "DISPLAY": display.name, "WAYLAND_DISPLAY": nil, "HOME": home.folder.path,
            "XDG_STATE_HOME": home.path("state"),
            "XDG_CONFIG_HOME": home.path("config"), "ALSA_CONFIG_PATH": card, "PULSE_SERVER": server,
            "PULSE_SINK": sink,
            "SDL_VIDEODRIVER": nil,
        ]
        for (name, value) in setup.environment { environment[name] = value }
        let ended = try? Program.run(Program.talkie, ["play"] + setup.words, environment: environment, atMost: 5) {
            pid in
            let deadline = Date(timeIntervalSinceNow: 60)
            while Self.isRunning(pid), Date() < deadline {
                sample(server: server)
                if setup.isOver(self) {
                    kill(pid, SIGTERM)
                    return
                }
                usleep(isAlone ? 15_000 : 40_000)
            }
        }
        if let ended { result = ended }
    }

    /// Returns false once the process has exited, even as a zombie.
    private static func isRunning(_ pid: pid_t) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return text.split(separator: ")").last?.split(separator: " ").first != "Z"
    }

    private func sample(server: String) {
        let at = Double(HostInstant.now.nanoseconds) / 1e9
        guard let picture = try? display.picture() else { return }
        screen = picture
        // Right of the middle: outside of the white block and of the bar in each of these films.
        let second = FeatureFilms.second(of: picture.color(picture.width / 2 + 10, picture.height / 2 + 5))
        if looks.last?.second != second || Int(at) != Int(looks.last?.at ?? 0) { pictures.append(picture) }
        if stream.isEmpty, second != nil,
            let listed = try? Program.run(
                "/usr/bin/pactl", ["-s", server, "list", "sink-inputs"], environment: ["LC_ALL": "C"], atMost: 5)
        {
            stream = listed.output
        }
        looks.append((at, second))
        if let second, let due = keys.removeValue(forKey: second) { press(due) }
    }

    private func press(_ keys: [String]) {
        _ = try? Program.run("/usr/bin/xdotool", ["key"] + keys, environment: ["DISPLAY": display.name], atMost: 5)
    }

    /// Presses a key at the first call.
    func pressOnce(_ key: String) {
        // -1 is no second of a film: seconds start at 0.
        if keys.updateValue([], forKey: -1) == nil { press([key]) }
    }

    // MARK: Observations

    /// The seconds of the film on the screen, in order.
    var seen: [Stretch] {
        var all: [Stretch] = []
        for look in looks {
            guard let second = look.second else { continue }
            if all.last?.second == second {
                all[all.count - 1].to = look.at
            } else {
                all.append(Stretch(second: second, from: look.at, to: look.at))
            }
        }
        return all
    }

    /// Returns the seconds of the film in the recording, by the tones of a track.
    func heard(_ tones: [Int] = FeatureFilms.tones) -> [Stretch] { heard(tones, in: sound) }

    /// Returns the seconds of the film in a recording, by the tones of a track.
    func heard(_ tones: [Int] = FeatureFilms.tones, in sound: OutputCapture?) -> [Stretch] {
        guard let sound else { return [] }
        var all: [Stretch] = []
        for stretch in sound.stretches(of: tones, above: 0.002) where stretch.end - stretch.start > 0.05 {
            let second = tones.firstIndex(of: stretch.hertz)!
            let (from, to) = (
                sound.instant(of: stretch.start * sound.rate) / 1e9, sound.instant(of: stretch.end * sound.rate) / 1e9
            )
            if all.last?.second == second {
                all[all.count - 1].to = to
            } else {
                all.append(Stretch(second: second, from: from, to: to))
            }
        }
        return all
    }

    /// Returns the maximum level of a tone while a second of the film is audible, 1 at full scale; 0 if that second is
    /// not audible.
    ///
    /// - Parameter hertz: a tone other than that of the second.
    func level(_ second: Int, hertz: Int? = nil) -> Double {
        guard let sound else { return 0 }
        let tone = FeatureFilms.tones[second]
        let window = Int(sound.rate * 0.1)
        var strongest = 0.0
        for stretch in sound.stretches(of: FeatureFilms.tones, above: 0.0005) where stretch.hertz == tone {
            let (first, last) = (Int(stretch.start * sound.rate), Int(stretch.end * sound.rate) - window)
            for start in stride(from: first, through: last, by: window) {
                strongest = max(strongest, sound.tone(hertz ?? tone, start..<(start + window)).level)
            }
        }
        return strongest
    }

    /// Median of audio minus video, in seconds. Excludes the first second, whose first frame is shown before the start.
    var offset: Double? {
        let pairs = zip(seen.dropFirst().reversed(), heard().dropFirst().reversed())
        let offsets = pairs.filter { $0.second == $1.second }.map { $1.from - $0.from }.sorted()
        return offsets.isEmpty ? nil : offsets[offsets.count / 2]
    }

    /// Returns audio minus video, in seconds, at the start of a second of the film; nil if it was not both seen and
    /// heard.
    func offset(of second: Int) -> Double? {
        guard let seen = seen.first(where: { $0.second == second }),
            let heard = heard().first(where: { $0.second == second })
        else { return nil }
        return heard.from - seen.from
    }

    /// Expects video and audio to go through these seconds of the film, and the program to end with a status.
    ///
    /// - Parameter offset: bounds of audio minus video in seconds; nil if the result would depend on the load of the
    ///   machine.
    func expect(
        seconds: [Int], heard wanted: [Int]? = nil, tones: [Int] = FeatureFilms.tones, status: Int32 = 0,
        offset: ClosedRange<Double>? = nil, at location: SourceLocation = #_sourceLocation
    ) {
        let words = Comment(rawValue: "\(setup.words.joined(separator: " ")): \(result.errors)")
        #expect(result.status == status, words, sourceLocation: location)
        let seen = seen.map(\.second)
        #expect(seen == seconds, words, sourceLocation: location)
        #expect(heard(tones).map(\.second) == wanted ?? seconds, words, sourceLocation: location)
        guard let offset else { return }
        #expect(
            self.offset.map(offset.contains) == true,
            "\(self.offset ?? .nan) s, anchors within \(sound?.residual ?? .nan) ms, \(words)",
            sourceLocation: location)
    }

    /// Returns the last frame of the film on the screen, after the bar was hidden.
    func picture() throws -> DisplayPicture {
        try #require(pictures.last { FeatureFilms.isLit($0) }, "\(result.errors)")
    }
}

extension FeatureFilms {
    /// Returns true if a screen shows more than the pointer of an X server without windows.
    static func isLit(_ picture: DisplayPicture) -> Bool {
        var lit = 0
        for y in stride(from: 2, to: picture.height, by: 9) {
            for x in stride(from: 2, to: picture.width, by: 9) where picture.color(x, y) != .black { lit += 1 }
        }
        return lit > 20
    }
}

extension URL {
    /// Writes an ALSA configuration with a sound server as default card; returns its path.
    func asoundConfiguration() throws -> String {
        let file = appending(path: "asound.conf")
        let text = "</usr/share/alsa/alsa.conf>\npcm.!default { type pulse }\nctl.!default { type pulse }\n"
        try Data(text.utf8).write(to: file)
        return file.path
    }
}
