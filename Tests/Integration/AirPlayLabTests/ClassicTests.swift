import AirPlayTransport
import Foundation
import Glibc
import MediaCore
import SyncRendering
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Classic AirPlay with shairport-sync in its classic mode.
extension SpeakerLabTests {
    @Suite struct ClassicTests {
        /// The other bodies of the contract run with the software speaker.
        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.classic)
        func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(route: RouteUnderTest) throws {
            try RouteContract.startsSpeedsAndRemovalsFollowTimebase(route)
        }

        private static func words(_ addresses: [SpeakerAddress]) -> [String] {
            ["play", "--really-quiet", "--volume", "100"]
                + zip(addresses, ["buffered", "classic"]).flatMap { address, route in
                    ["--speaker", "airplay://\(address.host):\(address.port);route=\(route)"]
                }
        }

        /// One film at once on this computer's card, in a room of AirPlay 2 and in a classic one; the card, or the
        /// classic room, is compared with the picture, and the rooms with each other.
        @Test(.timeLimit(.minutes(4)), arguments: [false, true])
        func cardAndRoomsOfBothVersionsMeetThePicture(measuresCard: Bool) throws {
            let (lab, addresses) = try Lab.freshSpeakers(1, .tight, hasClassic: true)
            let scratch = try Scratch()
            let recordings = try [1, Lab.classicSpeaker].map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
            let measured = try MeterRun(
                of: Program.media("flash-and-beep.mp4"),
                measuresCard
                    ? [] : ["--sound-command", "\(Lab.program.path) record \(Lab.classicSpeaker) {wav} 60"],
                environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                player: [Program.talkie] + Self.words(addresses) + ["--speaker", "local", "{clip}"])
            for recording in recordings { try recording.stop() }
            let apart = Self.distances(try recordings.map { try lab.beeps(in: $0.file) }).map(\.apart).sorted()
            print("\(measuresCard ? "card" : "classic room"): \(measured.figure); rooms apart by (ms): \(apart)")
            #expect(measured.isWhole, "\(measured.figure)")
            let median = try #require(measured.number("offset_ms", "median"))
            #expect(abs(median) <= 1.5 * Bounds.factor)
            try #require(apart.count >= 8, "\(apart)")
            #expect(abs(apart[apart.count / 2]) <= 1 * Bounds.factor, "\(apart)")
        }

        /// Returns the beeps of the second room and how much later than in the first room they were heard, in ms.
        private static func distances(_ heard: [[Int64]]) -> [(at: Int64, apart: Double)] {
            heard[1].compactMap { beep in
                heard[0].map { Double(beep - $0) / 1e6 }.min { abs($0) < abs($1) }.map { (beep, $0) }
            }.filter { abs($0.apart) < 500 }
        }

        /// A pause, a seek, and a receiver that ends and returns, as a user causes them.
        @Test(.timeLimit(.minutes(3))) func aPauseASeekAndALostClassicRoomKeepTheRoomsInStep() throws {
            let (lab, addresses) = try Lab.freshSpeakers(1, .tight, hasClassic: true)
            let scratch = try Scratch()
            let (film, ipc) = (scratch.path("film.wav"), scratch.path("ipc"))
            _ = try lab.run("beeps", ["--make", film, "60"])
            func send(_ command: String) throws {
                let script = """
                    import socket; s = socket.socket(socket.AF_UNIX); s.connect('\(ipc)')
                    s.sendall(b'{"command":[\(command)]}\\n'); s.recv(1000)
                    """
                let sent = try Program.run("/usr/bin/env", ["python3", "-c", script])
                try #require(sent.status == 0, "\(sent.errors)")
            }
            func rest(_ seconds: Int) { HostInstant.now.advanced(by: .seconds(seconds)).sleep() }
            var recordings: [Lab.Recording] = []
            var steps: [(name: String, from: HostInstant)] = []
            var failure: (any Error)?
            let ended = try Program.run(
                Program.talkie, Self.words(addresses) + ["--input-ipc-server", ipc, film],
                environment: ["XDG_STATE_HOME": scratch.path("state"), "SDL_VIDEODRIVER": "dummy"]
            ) { process in
                defer { kill(process, SIGTERM) }
                do {
                    recordings = try [1, Lab.classicSpeaker].map { try Lab.Recording(lab, seconds: 90, speaker: $0) }
                    func step(_ name: String, _ seconds: Int) {
                        steps.append((name, .now))
                        rest(seconds)
                    }
                    step("start", 9)
                    try send(#""set_property","pause",true"#)
                    rest(2)
                    try send(#""set_property","pause",false"#)
                    step("after the pause", 9)
                    try send(#""seek",30,"absolute""#)
                    step("after the seek", 9)
                    _ = try lab.run("restart", [String(Lab.classicSpeaker), "--tolerance", "tight"])
                    // A receiver that joins a running timeline needs a few seconds to synchronize.
                    rest(8)
                    step("after the loss", 8)
                    for recording in recordings { try recording.stop() }
                } catch { failure = error }
            }
            if let failure { throw failure }
            #expect(ended.status == 143, "\(ended.errors)")
            let pairs = Self.distances(try recordings.map { try lab.beeps(in: $0.file) })
            for (index, step) in steps.enumerated() {
                let until = index + 1 < steps.count ? steps[index + 1].from : .now
                let apart = pairs.filter { step.from.nanoseconds < $0.at && $0.at < until.nanoseconds }.map(\.apart)
                print("\(step.name), rooms apart by (ms): \(apart)")
                try #require(apart.count >= 4, "\(step.name): \(apart); \(ended.errors)")
                #expect(abs(apart.sorted()[apart.count / 2]) <= 1 * Bounds.factor, "\(step.name): \(apart)")
            }
        }
    }
}
