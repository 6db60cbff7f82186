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
            SpeakerConfiguration(address: IPv4Address("127.0.0.48")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let evening = try MenusOnScreenTests.Evening(
            options: ["--loop-file=inf", "--speaker", "airplay://127.0.0.48:\(speaker.port)"])
        try evening.begin()
        /// The blue pixels at the lower edge, where the bar and the sign of a paused film are.
        func blue() throws -> [Int] {
            let picture = try evening.display.picture()
            return (354..<400).flatMap { y in
                (0..<640).filter { x in
                    let color = picture.color(x, y)
                    return color.blue > 200 && color.red < 140
                }
            }
        }
        #expect(try blue().isEmpty, "nothing stays over a film that plays")
        try evening.showBar()
        try eventually("the button is blue") { try blue().count > 20 }

        try evening.press("space")
        try evening.point(320, 100)
        try eventually("a paused film has a sign, without the bar") {
            try evening.isRed(2, 398) && blue().count > 20
        }
        try evening.press("space")
        try eventually("it has gone") { try evening.isRed(2, 398) && blue().isEmpty }

        try evening.showBar()
        try eventually("the button is blue again") { try blue().count > 20 }
        let button = try #require(try blue().min()) + 5
        try evening.point(button, 385)
        try eventually("the bar is there") { try !evening.isRed(2, 398) }
        try evening.click()
        try eventually("the list is above its button") { try !evening.isRed(button, 345) }
        try evening.press("Home", "Return")
        try eventually("the sound is back") { try evening.said("Sound: This computer") }
        try evening.showBar()
        try eventually("nothing is blue") { try !evening.isRed(2, 398) && blue().isEmpty }
    }
}
