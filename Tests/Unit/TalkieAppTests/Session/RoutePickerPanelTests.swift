import ScreenOutput
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback
@testable import Routing
@testable import TalkieApp

@Suite struct RoutePickerPanelTests {
    @Test func rowsShowVolumesAndWhatCannotBeChosen() {
        var picker = RoutePicker()
        picker.update([
            RoutePicker.Row(id: "local", name: "local", isTicked: true, pending: nil, obstacle: nil, volume: 45),
            RoutePicker.Row(
                id: "Kitchen", name: "Kitchen", isTicked: false, pending: nil, obstacle: "pair it first", volume: nil),
        ])
        #expect(picker.panel.rows.map(\.isDim) == [false, true])
        #expect(picker.panel.rows.map(\.level) == [0.45, nil])
        #expect(picker.panel.rows[1].detail == "pair it first")
    }

    @Test func rowsHaveTheIconsOfTheirKinds() {
        let kinds: [OutputPlace.Kind] = [
            .thisComputer, .soundCard, .computer, .television, .speaker, .stereoPair, .init(rawValue: "toy"),
        ]
        var picker = RoutePicker()
        picker.update(
            kinds.map { kind in
                RoutePicker.Row(id: kind.rawValue, name: kind.rawValue, kind: kind, isTicked: false)
            })
        #expect(
            picker.panel.rows.map(\.symbol) == [
                .computer, .computer, .computer, .television, .speaker, .speaker, .speaker,
            ])
    }

    /// The bar for the outputs of a controller.
    private func bar(_ routes: RouteController) -> ScreenBar {
        var bar = ScreenBar(isPlaying: true, place: 0.5, time: "")
        bar.show(routes)
        return bar
    }

    // feature: rooms
    @Test func theBarHasAButtonOnlyIfThereIsAChoiceAndNamesOutputsElsewhere() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (card, kitchen) = (rig.toys.place("card"), rig.toys.place("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        #expect(!routes.hasChoice && bar(routes).buttons[.rooms] == nil)
        _ = routes.handle(.offered(OutputOffer(places: [card, kitchen])))
        #expect(routes.hasChoice && !routes.isElsewhere)
        #expect(bar(routes).buttons[.rooms] == [], "an icon alone")
        #expect(bar(routes).output == ScreenBar.Output(symbol: .speaker, isElsewhere: false))
        routes.choose([card.id, kitchen.id])
        #expect(routes.isElsewhere && bar(routes).buttons[.rooms] == ["card, Kitchen", ""])
        #expect(bar(routes).output == ScreenBar.Output(symbol: .speaker, isElsewhere: true))
        // The last place beside the chosen ones has left: the button shows where the sound plays.
        _ = routes.handle(.offered(OutputOffer(places: [card])))
        #expect(bar(routes).buttons[.rooms] == ["card, Kitchen", ""])
    }

    // feature: rooms
    @Test func anOpenListHasItsButtonAndStatesWhyPlacesMayBeMissing() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let card = rig.toys.place("card")
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        _ = routes.handle(.offered(OutputOffer(places: [card], note: "nothing announces speakers")))
        #expect(bar(routes).buttons[.rooms] == nil)
        routes.openPicker()
        #expect(bar(routes).buttons[.rooms] == [])
        #expect(routes.picker?.notice == "nothing announces speakers", "also if the search began before")
    }

    @Test func aPlaceThatIsChosenTwicePlaysOnce() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (card, kitchen) = (rig.toys.place("card"), rig.toys.place("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        _ = routes.handle(.offered(OutputOffer(places: [card, kitchen])))
        routes.choose([kitchen.id, kitchen.id])
        #expect(routes.ids == [kitchen.id] && routes.name == "Kitchen")
    }

    @Test func outputsAreNamedTogetherAlsoIfTheirNamesHaveCommas() throws {
        let (rooms, cards) = (SessionRooms(), ["alsa:hdmi:CARD=A", "alsa:hdmi:CARD=A,DEV=1", "local"])
        let rows = cards.map { RoutePicker.Row(id: $0, name: $0, isTicked: false) }
        #expect(rooms.set(rows, ids: [cards[1], cards[2]]))
        #expect(try rooms.ids(try #require(rooms.current)) == [cards[1], cards[2]])
        #expect(try rooms.ids("local,alsa:hdmi:CARD=A") == [cards[2], cards[0]])
        #expect(try rooms.ids(",local,") == ["local"])
        for list in ["", ",", "local,alsa", "alsa:hdmi:CARD=A,DEV=10", "localalsa:hdmi:CARD=A"] {
            #expect(throws: ControlError.self) { try rooms.ids(list) }
        }
    }

    @Test func aSpeakerOfTheStartStaysListedAfterItWasLeft() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (card, kitchen) = (rig.toys.place("card"), rig.toys.place("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [kitchen], home: card, post: { _ in })
        defer { routes.close() }
        routes.choose([card.id])
        _ = routes.handle(.offered(OutputOffer(places: [card])))
        #expect(routes.rows.map(\.name) == ["card", "Kitchen"])
        #expect(routes.rows.map(\.isTicked) == [true, false])
    }

    // feature: rooms
    @Test func aPausedFilmHasASignOfSoundElsewhere() {
        let rig = SessionRig("long", routes: [ToyProvider([:]).place("Kitchen")])
        defer { rig.player.shutDown() }
        var state = PlayerState()
        (state.hasAudio, state.isPaused) = (true, true)
        rig.player.board.post(state)
        // The session's thread does not run, so the director may be used on this thread.
        #expect(rig.director.outputs.pauseSign == "♪ Kitchen")
        #expect(rig.director.outputs.windowTitle("Film") == "Film – Kitchen – Talkie")
        state.isPaused = false
        rig.player.board.post(state)
        #expect(rig.director.outputs.pauseSign == nil, "nothing stays over a film that plays")
        let here = SessionRig("long", routes: [ToyProvider([:]).place("card")])
        defer { here.player.shutDown() }
        state.isPaused = true
        here.player.board.post(state)
        #expect(here.director.outputs.pauseSign == nil)
        #expect(here.director.outputs.windowTitle("Film") == "Film – Talkie")
    }
}
