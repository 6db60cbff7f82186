import Glibc
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback
@testable import Routing
@testable import TalkieApp

/// The division of places between the main audio track and tracks of their own.
@Suite(.timeLimit(.minutes(10))) final class TrackRouterTests {
    private let rig = SessionRig("long")
    private let (hall, kitchen, study) = (
        RecordingOutput(name: "Hall"), RecordingOutput(name: "Kitchen"), RecordingOutput(name: "Study")
    )
    private var player: Player { rig.player }

    deinit { rig.player.shutDown() }

    private func route(_ output: RecordingOutput, _ languages: String...) -> TrackRoute {
        TrackRoute(id: output.name, outputs: [output], choice: languages.isEmpty ? nil : .languages(languages))
    }

    /// Applies routes and waits for the result.
    private func apply(_ routes: TrackRoute..., with router: TrackRouter) {
        let done = Signal()
        router.apply(routes) { _ in done.raise() }
        done.wait()
    }

    private var main: [String] { player.audioOutputs.map(\.name) }
    private var added: [String] { player.allOutputs.filter { $0.id.index >= 100 }.map(\.output.name) }

    @Test func placesWithoutALanguagePlayTheMainTrackAndTheOthersTheirOwn() {
        let router = TrackRouter(player)
        apply(route(hall), route(kitchen, "de"), route(study), with: router)
        #expect(main == ["Hall", "Study"])
        #expect(added == ["Kitchen"])
        #expect(router.isSeparate("Kitchen") && !router.isSeparate("Hall"))
        #expect(player.allOutputs.map(\.output.name) == ["Hall", "Study", "Kitchen"])
        #expect(player.output(player.allOutputs[2].id)?.output === kitchen)
    }

    @Test func ifAllHaveALanguageThatOfTheFirstSelectsTheMainTrack() {
        let router = TrackRouter(player)
        apply(route(hall, "en"), route(kitchen, "de"), route(study, "en"), with: router)
        #expect(main == ["Hall", "Study"])
        #expect(added == ["Kitchen"])
        // The first place leaves: the next one takes the main track over, once its own one has ended.
        apply(route(kitchen, "de"), with: router)
        #expect(main == ["Kitchen"])
        #expect(added.isEmpty)
    }

    @Test func aPlaceKeepsItsTrackIfTheMainOneGetsTheSameLanguage() {
        let router = TrackRouter(player)
        apply(route(hall, "en"), route(kitchen, "de"), with: router)
        let id = player.allOutputs.last?.id
        apply(route(hall, "de"), route(kitchen, "de"), with: router)
        #expect(main == ["Hall"] && added == ["Kitchen"])
        #expect(player.allOutputs.last?.id == id, "the kitchen is not interrupted")
    }

    @Test func aPlaceThatIsAddedDoesNotInterruptTheOneThatPlaysAlone() {
        let router = TrackRouter(player)
        apply(route(kitchen, "de"), with: router)
        #expect(main == ["Kitchen"] && added.isEmpty)
        apply(route(kitchen, "de"), route(hall), with: router)
        #expect(main == ["Kitchen", "Hall"] && added.isEmpty)
        apply(route(kitchen, "fr"), route(hall), with: router)
        #expect(main == ["Hall"] && added == ["Kitchen"])
    }

    @Test func aPlaceThatIsAddedBesideAnAudioDescriptionDoesNotHearIt() {
        let router = TrackRouter(player)
        let headset = TrackRoute(id: "Kitchen", outputs: [kitchen], choice: .purpose(.description))
        apply(headset, with: router)
        #expect(main == ["Kitchen"] && added.isEmpty)
        apply(headset, route(hall), with: router)
        #expect(main == ["Hall"] && added == ["Kitchen"])
    }

    @Test func aPlaceMovesToATrackOfItsOwnAndBack() {
        let router = TrackRouter(player)
        apply(route(hall), route(kitchen), with: router)
        #expect(main == ["Hall", "Kitchen"] && added.isEmpty)
        apply(route(hall), route(kitchen, "de"), with: router)
        #expect(main == ["Hall"] && added == ["Kitchen"])
        let id = player.allOutputs.last?.id
        apply(route(hall), route(kitchen, "fr"), with: router)
        #expect(player.allOutputs.last?.id == id, "another language keeps the sound")
        apply(route(hall), route(kitchen), with: router)
        #expect(main == ["Hall", "Kitchen"] && added.isEmpty)
    }

    @Test func theUsersTrackPlaysAgainWhenTheSelectionOfAnOutputEnds() {
        var arguments = PlayArguments(files: [])
        arguments.options.audioTrack = 2
        let rig = SessionRig("long tracks", arguments: arguments)
        defer { rig.player.shutDown() }
        let router = TrackRouter(rig.player)
        func plays(_ number: Int) -> Bool {
            rig.wait { $0.audioTrack?.number == number }
            return rig.player.state.audioTrack?.number == number
        }
        rig.player.append([QueueItem("long tracks")])
        rig.player.play()
        #expect(plays(2))
        // Beside others its track is an additional one; alone, or first, it selects the main one.
        apply(route(hall), route(kitchen, "en"), with: router)
        apply(route(hall), with: router)
        #expect(plays(2))
        let headset = TrackRoute(id: "Study", outputs: [study], choice: .purpose(.description))
        for own in [route(kitchen, "en"), headset] {
            apply(own, with: router)
            #expect(plays(own.choice?.purpose == .description ? 3 : 1))
            apply(route(hall), with: router)
            #expect(plays(2))
        }
        apply(headset, with: router)
        #expect(plays(3))
        apply(headset, route(hall), with: router)
        #expect(plays(2))
    }

    @Test func thePlacesInTheListHaveLanguagesThatAKeyChanges() throws {
        func track(_ number: Int, _ language: String) -> Track {
            Track(
                id: number, number: number,
                format: .audio(
                    AudioFormat(parameters: CodecParameters(codec: "aac"), sampleRate: 48_000, layout: .stereo)),
                language: language)
        }
        var state = PlayerState()
        state.audioTracks = [track(1, "eng"), track(2, "deu"), track(3, "fra")]
        state.audioTrack = state.audioTracks[0]
        player.publisher.post(state)
        let toys = ToyProvider(["Hall": hall, "Kitchen": kitchen])
        let (hall, kitchen) = (toys.destination("Hall"), toys.destination("Kitchen"))
        let (changes, arrival) = (Lock<[RouteController.Event]>([]), Signal())
        let controller = RouteController(
            player: player, registry: OutputRegistry([toys]),
            routes: [hall, kitchen], tracks: [kitchen.id: .language("de")], home: hall,
            post: { event in
                guard case .changed = event else { return }
                changes.withLock { $0.append(event) }
                arrival.raise()
            })
        defer { controller.close() }
        while added != ["Kitchen"] { sched_yield() }
        #expect(controller.name == "Hall · English, Kitchen · German")
        controller.openPicker()
        #expect(controller.picker?.rows.map(\.title) == ["Hall · English", "Kitchen · German"])
        #expect(controller.press("END") && controller.press("l"))
        arrival.wait()
        for event in changes.withLock({ $0 }) { _ = controller.handle(event) }
        #expect(controller.tracks == [kitchen.id: .language("fra")])
        #expect(controller.name == "Hall · English, Kitchen · French")
        #expect(added == ["Kitchen"])
        // A description in the language of another track is one more choice.
        state.audioTracks[2] = track(3, "deu")
        state.audioTracks[2].purpose = .description
        player.publisher.post(state)
        controller.setTrack(.purpose(.description), of: kitchen.id)
        #expect(controller.name == "Hall · English, Kitchen · German, audio description")
        #expect(controller.rows.map(\.choice?.text) == ["eng", "description,deu"])
        // A place that does not play has no language, and one that plays alone has none to distinguish.
        controller.setTrack(nil, of: kitchen.id)
        #expect(controller.name == "Hall, Kitchen")
    }

    @Test func ofTwoChoicesTheNewerOneWinsAlthoughItIsReadyFirst() {
        let router = TrackRouter(player)
        let older = router.reserve()
        apply(route(kitchen), with: router)
        let outcome = Lock<RouteChange?>(nil)
        router.apply([route(hall)], as: older) { change in outcome.withLock { $0 = change } }
        guard case .superseded = outcome.withLock({ $0 }) else {
            Issue.record("the older choice has a result")
            return
        }
        #expect(main == ["Kitchen"])
    }
}
