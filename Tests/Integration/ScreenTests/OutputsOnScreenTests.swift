import Foundation
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport

/// The output of the audio as the bar and a paused film show it, with a software speaker.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct OutputsOnScreenTests {
    // feature: rooms, bar, key Enter
    @Test func theBarAndAPausedFilmShowThatSoundPlaysElsewhereUntilItIsBack() throws {
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.48")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let evening = try MenusOnScreenTests.Evening(
            options: ["--loop-file=inf", "--speaker", "airplay://127.0.0.48:\(speaker.port)"])
        try evening.begin()
        #expect(try evening.blue().isEmpty, "nothing stays over a film that plays")
        try evening.showBar()
        try eventually("the button is blue") { try evening.blue().count > 20 }

        try evening.press("space")
        try evening.point(320, 100)
        try eventually("a paused film has a sign, without the bar") {
            try evening.isRed(2, 398) && evening.blue().count > 20
        }
        try evening.press("space")
        try eventually("it has gone") { try evening.isRed(2, 398) && evening.blue().isEmpty }

        try evening.showBar()
        try eventually("the button is blue again") { try evening.blue().count > 20 }
        let button = try #require(try evening.blue().min()) + 5
        try evening.point(button, 385)
        try eventually("the bar is there") { try !evening.isRed(2, 398) }
        try evening.click()
        try eventually("the list is above its button") { try !evening.isRed(button, 345) }
        try evening.press("Home", "Return")
        try eventually("the sound is back") { try evening.said("Sound: This computer") }
        try evening.showBar()
        try eventually("nothing is blue") { try !evening.isRed(2, 398) && evening.blue().isEmpty }
    }

    @Test func aLostSpeakerIsNamedAsSilentWhereverItIsNamed() throws {
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.48")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let socket = "/tmp/talkie-lost-\(UUID().uuidString)"
        let evening = try MenusOnScreenTests.Evening(
            options: [
                "--loop-file=inf", "--input-ipc-server", socket, "--speaker", "airplay://127.0.0.48:\(speaker.port)",
            ])
        try evening.begin()
        func outputs() throws -> String {
            let client = try Program.run(
                "/usr/bin/python3",
                [
                    "-c",
                    """
                    import socket, sys
                    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
                    s.sendall(b'{"command":["get_property","audio-device-list"]}\\n')
                    for line in s.makefile():
                        if '"data"' in line: print(line); break
                    """, socket,
                ], atMost: 10)
            return client.output
        }
        try evening.showBar()
        try eventually("the button is blue") { try evening.blue().count > 20 }
        #expect(try !outputs().contains("problem"))
        speaker.stop()
        try eventually("another program sees the loss") {
            try outputs().contains(#""problem":"no sound, trying again""#)
        }
        try evening.showBar()
        try eventually("the button is not blue") { try !evening.isRed(2, 398) && evening.blue().isEmpty }
        #expect(try !evening.said("another sender"))
    }
}

extension MenusOnScreenTests.Evening {
    /// The columns of the blue pixels at the lower edge, where the bar and the sign of a paused film are.
    fileprivate func blue() throws -> [Int] {
        let picture = try display.picture()
        return (354..<400).flatMap { y in
            (0..<640).filter { x in
                let color = picture.color(x, y)
                return color.blue > 200 && color.red < 140
            }
        }
    }
}
