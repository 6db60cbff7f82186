import Foundation
import Glibc
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// `talkie play` with a playlist and with a loop, recorded from a sound server and by a speaker: gapless boundaries are
/// exact to the sample, and on a speaker to a millisecond.
@Suite(.serialized, .timeLimit(.minutes(4)), .repeatedWhenTheMachineStalls) struct JointTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Creates a clip with 25 frames per second and a tone whose phase is zero at both ends.
    private func clip(_ name: String, hertz: Int, seconds: Int, rate: Int, size: String, _ codecs: [String]) throws
        -> String
    {
        try TestClips.make(
            name,
            [
                "-f", "lavfi", "-i", "testsrc=s=\(size):r=25:d=\(seconds)", "-f", "lavfi", "-i",
                "aevalsrc='0.4*sin(2*PI*\(hertz)*t)|0.4*sin(2*PI*\(hertz)*t)':s=\(rate):d=\(seconds)", "-c:v", "mpeg4",
                "-bf", "2", "-q:v", "5",
            ] + codecs)
    }

    /// Plays; returns the recording at 48 kHz and the lines of the timeline.
    private func play(_ words: [String]) throws -> (sound: Sound, timeline: [[String: Any]]) {
        let (socket, wave, record) = (scratch.path("socket"), scratch.path("heard.wav"), scratch.path("t.jsonl"))
        // Files of an earlier run: the waits below are for new ones.
        for path in [socket, wave, record] { try? FileManager.default.removeItem(atPath: path) }
        let environment: [String: String?] = [
            "SDL_VIDEODRIVER": "dummy", "XDG_STATE_HOME": scratch.path("state"), "PULSE_SERVER": "unix:\(socket)",
            "PULSE_SINK": "out",
        ]
        var failure: (any Error)?
        var result: Program.Result?
        _ = try Program.run(
            "/usr/bin/pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "-L",
                "module-null-sink sink_name=out rate=48000 channels=2 norewinds=1", "-L",
                "module-native-protocol-unix socket=\(socket) auth-anonymous=1",
            ], environment: ["XDG_RUNTIME_DIR": scratch.folder.path, "HOME": scratch.folder.path], atMost: 1
        ) { server in
            defer { kill(server, SIGKILL) }
            for _ in 0..<500 where !FileManager.default.fileExists(atPath: socket) { usleep(20_000) }
            do {
                _ = try Program.run(
                    "/usr/bin/python3",
                    [Program.root.appending(path: "Tools/meter/sound_probe.py").path, "unix:\(socket)", "out", wave],
                    atMost: 20
                ) { recorder in
                    do {
                        // The recorder writes the file's header when it starts recording.
                        for _ in 0..<500 where !FileManager.default.fileExists(atPath: wave) { usleep(20_000) }
                        usleep(500_000)
                        result = try Program.run(
                            Program.talkie,
                            ["play", "--audio-device", "pulse", "--really-quiet", "--timeline", record] + words,
                            environment: environment, atMost: 60)
                        usleep(500_000)
                    } catch { failure = error }
                    kill(recorder, SIGTERM)
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
        try #require(result?.status == 0, "\(result?.errors ?? "")")
        return (try Sound(wave), try timeline(record))
    }

    /// Returns the lines of a player's record.
    private func timeline(_ path: String) throws -> [[String: Any]] {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        return lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    /// Left channel of a recording of 16-bit stereo.
    private struct Sound {
        /// Samples per second.
        let rate: Double
        let samples: [Double]
        /// Range of the samples that are not silent.
        let heard: Range<Int>

        init(_ path: String) throws {
            let data = [UInt8](try Data(contentsOf: URL(filePath: path)))
            rate = Double(data[24..<28].reversed().reduce(0) { $0 << 8 | Int($1) })
            samples = stride(from: 44, to: data.count - 3, by: 4).map { offset in
                Double(Int16(truncatingIfNeeded: Int(data[offset]) | Int(data[offset + 1]) << 8)) / 32768
            }
            let first = samples.firstIndex { abs($0) > 0.02 } ?? 0
            let last = samples.lastIndex { abs($0) > 0.02 } ?? first
            heard = first..<(last + 1)
        }

        /// Returns the position at which a tone's phase is zero relative to sample 0, in samples modulo its period,
        /// measured over a range.
        func phase(_ hertz: Int, _ range: Range<Int>) -> Double {
            var (sine, cosine) = (0.0, 0.0)
            for index in range where samples.indices.contains(index) {
                let angle = 2 * Double.pi * Double(hertz) * Double(index) / rate
                sine += samples[index] * sin(angle)
                cosine += samples[index] * cos(angle)
            }
            return -atan2(cosine, sine) / (2 * .pi * Double(hertz)) * rate
        }

        /// Returns the phase shift of a tone across a gapless boundary, in samples modulo the shorter period. The
        /// resampled drift of a card moves the phase slowly, so each side is extrapolated to the boundary.
        func error(at boundary: Int, from before: Int, to after: Int) -> Double {
            let (window, edge) = (12_000, 480)
            func turned(_ value: Double, _ period: Double) -> Double { value - (value / period).rounded() * period }
            func phaseAtBoundary(_ hertz: Int, _ direction: Int) -> Double {
                let places = [1, 2].map { count in
                    let far = boundary + direction * (edge + count * window)
                    let near = boundary + direction * (edge + (count - 1) * window)
                    return phase(hertz, min(far, near)..<max(far, near))
                }
                let drift = turned(places[1] - places[0], rate / Double(hertz))
                return places[0] - drift * (0.5 + Double(edge) / Double(window))
            }
            return turned(phaseAtBoundary(after, 1) - phaseAtBoundary(before, -1), rate / Double(max(before, after)))
        }

        /// Returns the longest run of samples near zero; in an uninterrupted tone it is shorter than 1 ms.
        func longestHole(_ range: Range<Int>) -> Int {
            var (longest, run) = (0, 0)
            for index in range {
                run = abs(samples[index]) < 0.005 ? run + 1 : 0
                longest = max(longest, run)
            }
            return longest
        }
    }

    private func number(_ line: [String: Any], _ key: String) -> Double? { line[key] as? Double }

    @Test func twoClipsOfDifferentFormatsFollowOneAnotherToTheSample() throws {
        let one = try clip(
            "one.mp4", hertz: 500, seconds: 2, rate: 48_000, size: "320x180",
            ["-c:a", "alac", "-movie_timescale", "48000"])
        let two = try clip("two.mkv", hertz: 1000, seconds: 2, rate: 44_100, size: "192x144", ["-c:a", "flac"])
        let (sound, timeline) = try play([one, two, one])
        let joints = [1, 2].map { sound.heard.lowerBound + $0 * 96_000 }
        let errors = [
            sound.error(at: joints[0], from: 500, to: 1000), sound.error(at: joints[1], from: 1000, to: 500),
        ]
        let holes = joints.map { sound.longestHole($0 - 2400..<$0 + 2400) }
        print(
            "list: heard \(sound.heard.count) of \(6 * 48_000) samples, joint errors \(errors) samples,",
            "longest near silence \(holes) samples")
        // One timebase segment for all films.
        let anchors = timeline.filter { $0["event"] as? String == "anchor" && (number($0, "rate") ?? 0) > 0 }
        #expect(anchors.count == 1)
        let films = timeline.filter { $0["event"] as? String == "film" }
        #expect(films.count == 3)
        #expect(films.compactMap { number($0, "origin") } == [2, 4])
        // Every frame of every film has its time on it.
        let places = timeline.filter { $0["event"] as? String == "frame" }.compactMap { number($0, "pts") }
        #expect(Set(places.map { ($0 * 25).rounded() }).count >= 145)
        #expect(places.allSatisfy { abs($0 * 25 - ($0 * 25).rounded()) < 0.03 })
        #expect(errors.allSatisfy { abs($0) < 0.5 }, "samples: \(errors)")
        #expect(holes.allSatisfy { $0 < 12 }, "samples: \(holes)")
        #expect(abs(sound.heard.count - 6 * 48_000) < 100)
    }

    /// The first film's packets pass through; Matroska states their times in milliseconds and not their frames. The
    /// second is converted to the first one's rate and encoded.
    @Test func aFilmOfAnotherRateFollowsPacketsFromMatroskaInItsPlaceOnASpeaker() throws {
        let one = try clip("one-aac.mkv", hertz: 100, seconds: 7, rate: 44_100, size: "192x144", ["-c:a", "aac"])
        let two = try clip("two-aac.mp4", hertz: 200, seconds: 2, rate: 48_000, size: "192x144", ["-c:a", "aac"])
        let (wave, record) = (scratch.path("heard.wav"), scratch.path("t.jsonl"))
        let state: [String: String?] = ["SDL_VIDEODRIVER": "dummy", "XDG_STATE_HOME": scratch.path("state")]
        let speaker = try ChildProcess(
            Program.talkie,
            ["speaker", "--address", "127.0.0.77", "--port", "0", "--clock", "ptp", "--no-mdns", "--output", wave],
            environment: state.compactMapValues { $0 }, keepsOutput: true)
        let place = speaker.readLine().firstMatch(of: /airplay:[0-9.:\/]+/)?.output
        let result = try Program.run(
            Program.talkie,
            ["play", "--really-quiet", "--speaker", String(place ?? ""), "--timeline", record, one, two],
            environment: state, atMost: 60)
        speaker.end()
        try #require(result.status == 0, "\(result.errors)")
        let sound = try Sound(wave)
        let origin = try #require(
            timeline(record).first { $0["event"] as? String == "film" && $0["origin"] != nil }.flatMap {
                number($0, "origin")
            })
        // Each tone begins with its film, in Matroska after the encoder's 1024 frames.
        let (delay, period) = (1024.0, sound.rate / 200)
        let due = origin * sound.rate - delay
        let moved = sound.error(at: sound.heard.lowerBound + Int(due), from: 100, to: 200) - due
        let error = (moved - (moved / period).rounded() * period) / sound.rate * 1000
        print("speaker: the second film begins at \(origin) s, its sound \(error) ms late")
        #expect(abs(error) < 1, "ms: \(error)")
    }

    @Test func aLoopIsHeardAsOneTone() throws {
        let film = try clip(
            "film.mp4", hertz: 500, seconds: 2, rate: 48_000, size: "320x180",
            ["-c:a", "aac", "-b:a", "256k", "-movie_timescale", "48000"])
        let (sound, timeline) = try play(["--loop-file", "3", film])
        let joints = [1, 2, 3].map { sound.heard.lowerBound + $0 * 96_000 }
        let errors = joints.map { sound.error(at: $0, from: 500, to: 500) }
        print("loop: heard \(sound.heard.count) of \(8 * 48_000) samples, joint errors \(errors) samples")
        #expect(timeline.filter { $0["event"] as? String == "loop" }.compactMap { number($0, "film") } == [2, 4, 6])
        #expect(errors.allSatisfy { abs($0) < 0.5 }, "samples: \(errors)")
        #expect(abs(sound.heard.count - 8 * 48_000) < 1100)
    }
}
