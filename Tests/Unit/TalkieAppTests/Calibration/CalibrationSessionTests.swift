import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Calibration
@testable import Profiles
@testable import Storage
@testable import TalkieApp

@Suite struct CalibrationSessionTests {
    private let folder = TemporaryFolder()

    /// The analysis of a video takes seconds.
    @Test func aCalibrationThatIsInterruptedDuringItsAnalysisIsNotStored() throws {
        let store = ProfileStore(StateFolder(path: folder.path("state")))
        let speaker = OutputIdentity(key: "3EA790B32481", name: "Kitchen", query: "Kitchen", route: "buffered")
        let answer = SpeakerAnswer(
            speaker: speaker, offset: -2.5, sigma: 0.5, interval: -2.75 ... -2.25, readings: [], audioRest: 0.25,
            screenRest: 2.75, screenShare: .stated, isOffsetKnown: true)
        let display = CalibrationRecord.Display(name: "TV", mode: "60-Hz full-screen")
        let outcome = (
            CalibrationRecord(run: "run", speakers: [speaker], display: display, events: [], shares: []),
            CalibrationAnswer(way: .video, display: display, speakers: [answer])
        )
        func conclude(_ interruption: Interruption) throws {
            let session = CalibrationSession(
                CalibrateArguments(speakers: []), store: store, terminal: Terminal(showsStatus: false),
                interruption: interruption)
            _ = try session.conclude(outcome)
        }
        let interruption = Interruption()
        interruption.raise(status: ExitStatus.interrupted)
        #expect(throws: TalkieError.self) { try conclude(interruption) }
        #expect(store.all().profiles.isEmpty)
        try conclude(Interruption())
        #expect(store.all().profiles.count == 1)
    }

    /// 3 ms are 144 frames.
    @Test func aVideosAudioBeginsWhereItsFileSays() throws {
        let words = "-f lavfi -i color=s=64x64:r=25:d=1 -itsoffset 0.003 -f lavfi -i aevalsrc=0.5:s=48000:d=1"
        let path = try TestClips.make("late.mkv", TestClips.arguments("\(words) -c:a pcm_s16le"))
        let recording = try MediaRecording.read(path, until: Interruption())
        #expect(recording.film != nil)
        #expect(recording.channels[0].prefix { $0 == 0 }.count == 144)
        #expect(recording.channels[0].count == 48_144)
    }
}
