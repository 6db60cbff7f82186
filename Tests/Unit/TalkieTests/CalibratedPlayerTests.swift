import MediaCore
import Profiles
import Routing
import Storage
import TalkieTestKit
import Testing

@testable import Playback
@testable import SyncRendering
@testable import Talkie

/// A program that imports Talkie applies calibrations like `talkie`.
@Suite struct CalibratedPlayerTests {
    private func profile(_ room: String, screen: String, mode: String = "60-Hz window", late: Double) -> LatencyProfile
    {
        var profile = LatencyProfile(
            key: LatencyProfile.Key(speaker: "toy-\(room)", screen: screen, mode: mode, route: "toy"), speakerName: room
        )
        profile.offset = late
        profile.audioRest = late
        return profile
    }

    private let words = TemporaryFolder()

    private final class CalibratedPlayerFixture {
        let attic = RecordingOutput()
        let shed = RecordingOutput()
        let folder = TemporaryFolder()
        let player: Player

        /// - Parameter outputs: of a player with several outputs; nil creates one with the attic alone.
        init(
            _ profiles: [LatencyProfile], _ options: PlayerOptions = PlayerOptions(),
            outputs: ((RecordingOutput, RecordingOutput) -> [any AudioOutput])? = nil
        ) throws {
            let store = ProfileStore(StateFolder(path: folder.path))
            try store.store(profiles)
            let registry = OutputRegistry([ToyProvider(["attic": attic, "shed": shed])])
            if let outputs = outputs?(attic, shed) {
                player = Player(outputs: outputs, registry: registry, profiles: store, options: options) { _ in }
            } else {
                player = Player(attic, registry: registry, profiles: store, options: options) { _ in }
            }
        }

        /// Returns the delay of an output, after all requests were processed.
        func delay(of output: any AudioOutput) -> Duration? {
            player.shutDown()
            return player.outputs.flatMap { group in
                group.state.withLock { $0.members.number(of: output) == nil ? nil : $0.members.delay(of: output) }
            }
        }
    }

    @Test func aPlayerAppliesTheStoredCalibrationOfItsOutput() throws {
        let rig = try CalibratedPlayerFixture([profile("attic", screen: "A", late: 40)])
        #expect(rig.delay(of: rig.attic) == .milliseconds(-40))
    }

    @Test func eachOfSeveralOutputsIsMovedByWhatIsKeptForIt() throws {
        let rig = try CalibratedPlayerFixture([
            profile("attic", screen: "A", late: 40), profile("shed", screen: "A", late: 30),
        ]) {
            [$0, $1]
        }
        #expect(rig.delay(of: rig.attic) == .milliseconds(-40))
        #expect(rig.delay(of: rig.shed) == .milliseconds(-30))
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func subtitlesAreDrawnOverThePicture(isSeveral: Bool) throws {
        var options = PlayerOptions()
        options.startsPaused = true
        options.subtitleFiles = [words.write(SubtitleFiles.srt([.init(0, 60_000, "Good evening")]), to: "a.srt")]
        let rig = try CalibratedPlayerFixture([], options) { isSeveral ? [$0, $1] : [] }
        defer { rig.player.shutDown() }
        rig.player.open(try TestClips.flashAndBeep("subtitled.mp4", "-c:v libx264 -g 25 -c:a aac", seconds: 4))
        let area = PixelSize(width: 640, height: 360)
        let canvas = SubtitleCanvas(
            area: area, video: PixelRect(x: 0, y: 0, width: area.width, height: area.height), storage: area)
        // A screen sets the subtitle canvas with each frame.
        let layer = rig.player.layer
        let limit = HostInstant.now.advanced(by: .seconds(30))
        while layer.subtitleOverlay(at: .zero) == nil, HostInstant.now < limit {
            layer.setSubtitleCanvas(canvas)
            _ = layer.arrival.wait(until: .now.advanced(by: .milliseconds(50)))
            layer.arrival.clear()
        }
        #expect(layer.subtitleOverlay(at: .zero)?.images.isEmpty == false)
    }

    @Test func itsScreenDecidesWhichFindingHolds() throws {
        let rig = try CalibratedPlayerFixture([
            profile("attic", screen: "A", late: 40), profile("attic", screen: "B", late: 100),
        ])
        rig.player.setScreen("B", refreshRate: 60, isFullScreen: false)
        rig.player.setScreen("A", refreshRate: 60, isFullScreen: false)
        #expect(rig.delay(of: rig.attic) == .milliseconds(-40))
    }

    @Test func anOutputThatIsChosenLaterIsMovedBeforeItIsHeard() async throws {
        let rig = try CalibratedPlayerFixture([profile("shed", screen: "A", late: 30)])
        // Waits until the player has applied the delays of its first outputs.
        _ = await rig.player.apply(.removeAll)
        rig.player.setAudioOutputs([rig.shed]) { _ in }
        #expect(rig.delay(of: rig.shed) == .milliseconds(-30))
        #expect(rig.delay(of: rig.attic) == .zero)
    }

    @Test func theOutputOfAFurtherSoundIsMovedToo() throws {
        let rig = try CalibratedPlayerFixture([
            profile("attic", screen: "A", late: 40), profile("shed", screen: "A", late: 30),
        ])
        let room = OutputGroup(members: [rig.shed], codecs: FloatCodecs())
        rig.player.addAudio(track: .number(2), to: room)
        #expect(rig.delay(of: rig.attic) == .milliseconds(-40))
        #expect(room.state.withLock { $0.members.delay(of: rig.shed) } == .milliseconds(-30))
    }

    @Test func anApplicationSwitchesItOffOrGivesANumberOfItsOwn() throws {
        var off = PlayerOptions()
        off.appliesCalibrations = false
        var own = PlayerOptions()
        own.calibration = .milliseconds(-25)
        for options in [off, own] {
            let rig = try CalibratedPlayerFixture([profile("attic", screen: "A", late: 40)], options)
            rig.player.setScreen("A", refreshRate: 60, isFullScreen: false)
            #expect(rig.delay(of: rig.attic) == .zero)
        }
    }
}
