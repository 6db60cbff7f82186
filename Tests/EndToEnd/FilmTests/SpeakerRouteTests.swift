import MediaCore
import Sockets
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The stream that a film is sent as, by the program and as the speaker received it.
@Suite(.serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls) struct SpeakerRouteTests {
    /// Plays the beginning of a film with AC-3 sound, and returns the kind and format of the stream.
    private func stream(
        _ speaker: SoftwareSpeaker, of film: String, state: String, options: String = "", _ arguments: String...
    ) throws -> String {
        let before = speaker.record.events.count
        let result = try Program.run(
            Program.talkie,
            ["play", "--really-quiet", "--end", "2", "--speaker", "airplay://127.0.0.36:\(speaker.port)\(options)"]
                + arguments + [film],
            environment: ["XDG_STATE_HOME": state], atMost: 40)
        #expect(result.status == 0)
        let events = speaker.record.events[before...]
        #expect(events.contains { if case .anchor = $0 { true } else { false } })
        let streams = events.compactMap { event -> String? in
            guard case .stream(let kind, let format, _) = event else { return nil }
            return "\(kind) \(format)"
        }
        return streams.joined(separator: ", ")
    }

    // feature: --route
    @Test func theUserChoosesRouteAndEncodingOfASpeaker() throws {
        let folder = try Scratch()
        let film = try TestClips.make(
            "speaker-route.mkv",
            TestClips.words(
                "-f lavfi -i testsrc2=s=64x36:r=25:d=4 -f lavfi -i sine=r=48000:d=4 -c:v mpeg4 -c:a ac3 -ac 2"))
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: IPv4Address("127.0.0.36")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let state = folder.path("state")
        #expect(try stream(speaker, of: film, state: state) == "buffered AAC-LC 48")
        #expect(try stream(speaker, of: film, state: state, options: ";encoding=lossless") == "buffered ALAC 48/24")
        #expect(try stream(speaker, of: film, state: state, "--route", "realtime") == "realtime ALAC 44.1/16")
        #expect(try stream(speaker, of: film, state: state) == "realtime ALAC 44.1/16", "a route is remembered")
        #expect(try stream(speaker, of: film, state: state, options: ";route=buffered") == "buffered AAC-LC 48")
        #expect(try stream(speaker, of: film, state: state, options: ";route=ntp") == "realtime ALAC 44.1/16")
        #expect(try stream(speaker, of: film, state: state, options: ";route=auto") == "buffered AAC-LC 48")
    }
}
