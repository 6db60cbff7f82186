import MediaCore
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

    @Test func aSelectedOutputWithoutSoundSaysSo() {
        var picker = RoutePicker()
        picker.update([
            RoutePicker.Row(
                id: "Kitchen", name: "Kitchen", isTicked: true, problem: "no sound, trying again", volume: 45)
        ])
        let row = picker.panel.rows[0]
        #expect(row.detail == "no sound, trying again" && row.mark == .pending && !row.isDim)
        #expect(picker.terminalText == ">[!] Kitchen 45% (no sound, trying again)<")
    }

    @Test(arguments: [OutputDestination.Pairing.pin, .password])
    func aSpeakerIsPairedFromTheListAndFromAPage(_ kind: OutputDestination.Pairing) async throws {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let home = rig.toys.destination("card")
        let toys = ToyProvider(
            ["Safe": RecordingOutput(name: "Safe", capacity: 48_000)], obstacle: "must be paired first",
            pairing: (kind, "4711"))
        let (events, posted) = AsyncStream<RouteController.Event>.makeStream()
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([toys]), routes: [home], home: home,
            post: { posted.yield($0) })
        defer { routes.close() }
        _ = routes.handle(.offered(OutputOffer(destinations: [home, toys.destination("Safe")])))
        routes.openPicker()
        /// Handles events up to the result of a pairing.
        func result() async -> String? {
            for await event in events {
                let message = routes.handle(event)
                if case .pinWanted = event { return nil }
                if case .paired = event { return message }
            }
            return nil
        }
        func enter(_ code: String) { for key in code.map(String.init) + ["ENTER"] { _ = routes.press(key) } }
        _ = routes.press("DOWN")
        _ = routes.press("ENTER")
        if kind == .pin { _ = await result() }
        #expect(routes.picker?.entry?.kind == kind)
        enter("1234")
        #expect(await result() == nil)
        #expect(routes.picker?.notice == "Safe: it was rejected.")
        #expect(routes.picker?.entry?.isRetry == true && routes.ids == ["toy:card"])
        _ = routes.press("ESC")
        // A page asks for a PIN first.
        let replies = Lock<[String]>([])
        func pair(_ code: String?) {
            routes.pair(with: "toy:Safe", code: code) { result in
                replies.withLock { $0.append((try? result.get()) ?? "refused") }
            }
        }
        if kind == .pin {
            pair(nil)
            _ = await result()
        }
        pair("4711")
        #expect(await result() == "Safe is paired")
        let expected = (kind == .pin ? ["enter the PIN that it shows"] : []) + ["Safe is paired"]
        #expect(replies.withLock { $0 } == expected)
    }

    @Test func aSearchThatFindsNoSpeakerSaysSoAfterThreeSeconds() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (home, clock) = (rig.toys.destination("card"), ManualClock())
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([ToyProvider(["card": rig.card], present: [])]),
            routes: [home], home: home, clock: clock, post: { _ in })
        defer { routes.close() }
        routes.openPicker()
        #expect(!routes.refresh() && routes.picker?.notice == nil)
        clock.advance(by: .seconds(3))
        #expect(routes.refresh() && routes.picker?.notice == "No speakers found.")
        _ = routes.handle(
            .offered(OutputOffer(destinations: [home], note: "Cannot search for speakers because of it.")))
        #expect(routes.picker?.notice == "No speakers found. Cannot search for speakers because of it.")
        let kitchen = OutputDestination(provider: "other", id: "k", name: "Kitchen", kind: .speaker)
        _ = routes.handle(.offered(OutputOffer(destinations: [home, kitchen])))
        routes.closePicker()
        routes.openPicker()
        #expect(routes.picker?.notice == nil)
    }

    @Test func rowsHaveTheIconsOfTheirKinds() {
        let kinds: [OutputDestination.Kind] = [
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
        var bar = ScreenBar(isPlaying: true, position: 0.5, time: "")
        bar.show(routes)
        return bar
    }

    // feature: rooms
    @Test func theBarHasAButtonOnlyIfThereIsAChoiceAndNamesOutputsElsewhere() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (card, kitchen) = (rig.toys.destination("card"), rig.toys.destination("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        #expect(!routes.hasChoice && bar(routes).buttons[.rooms] == nil)
        _ = routes.handle(.offered(OutputOffer(destinations: [card, kitchen])))
        #expect(routes.hasChoice && !routes.isElsewhere)
        #expect(bar(routes).buttons[.rooms] == [], "an icon alone")
        #expect(bar(routes).output == ScreenBar.Output(symbol: .speaker, isElsewhere: false))
        routes.choose([card.id, kitchen.id])
        #expect(routes.isElsewhere && bar(routes).buttons[.rooms] == ["card, Kitchen", ""])
        #expect(bar(routes).output == ScreenBar.Output(symbol: .speaker, isElsewhere: true))
        // The last place beside the chosen ones has left: the button shows where the sound plays.
        _ = routes.handle(.offered(OutputOffer(destinations: [card])))
        #expect(bar(routes).buttons[.rooms] == ["card, Kitchen", ""])
    }

    // feature: rooms
    @Test func anOpenListHasItsButtonAndStatesWhyPlacesMayBeMissing() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let card = rig.toys.destination("card")
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        _ = routes.handle(.offered(OutputOffer(destinations: [card], note: "nothing announces speakers")))
        #expect(bar(routes).buttons[.rooms] == nil)
        routes.openPicker()
        #expect(bar(routes).buttons[.rooms] == [])
        #expect(routes.picker?.notice == "nothing announces speakers", "also if the search began before")
    }

    @Test func aPlaceThatIsChosenTwicePlaysOnce() {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        let (card, kitchen) = (rig.toys.destination("card"), rig.toys.destination("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [card], home: card, post: { _ in })
        defer { routes.close() }
        _ = routes.handle(.offered(OutputOffer(destinations: [card, kitchen])))
        routes.choose([kitchen.id, kitchen.id])
        #expect(routes.ids == [kitchen.id] && routes.name == "Kitchen")
    }

    /// An output that refuses its first session was never heard: its error ends the film.
    @Test(arguments: [false, true]) func onlyOutputsThatHavePlayedAreReplacedByThisComputer(hasOpened: Bool) {
        let rig = SessionRig("long")
        defer { rig.player.shutDown() }
        rig.player.session.lostRoutePolicy = .local
        let (card, kitchen) = (rig.toys.destination("card"), rig.toys.destination("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [kitchen], home: card, post: { _ in })
        defer { routes.close() }
        let heard = PlaybackRouteChange.Output(id: OutputID(0), name: "Kitchen", kind: .bufferedSpeaker)
        var change = PlaybackRouteChange(reason: .takenOver, previous: [heard], current: [])
        change.hasOpened = hasOpened
        routes.handle(change)
        #expect(routes.ids == [hasOpened ? card.id : kitchen.id])
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
        let (card, kitchen) = (rig.toys.destination("card"), rig.toys.destination("Kitchen"))
        let routes = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [kitchen], home: card, post: { _ in })
        defer { routes.close() }
        routes.choose([card.id])
        _ = routes.handle(.offered(OutputOffer(destinations: [card])))
        #expect(routes.rows.map(\.name) == ["card", "Kitchen"])
        #expect(routes.rows.map(\.isTicked) == [true, false])
    }

    // feature: rooms
    @Test func aPausedFilmHasASignOfSoundElsewhere() {
        let rig = SessionRig("long", routes: [ToyProvider([:]).destination("Kitchen")])
        defer { rig.player.shutDown() }
        var state = PlayerState()
        (state.hasAudio, state.isPaused) = (true, true)
        rig.player.publisher.post(state)
        // The session's thread does not run, so the director may be used on this thread.
        #expect(rig.director.outputs.pauseSign == "♪ Kitchen")
        #expect(rig.director.outputs.windowTitle("Film") == "Film – Kitchen – Talkie")
        state.isPaused = false
        rig.player.publisher.post(state)
        #expect(rig.director.outputs.pauseSign == nil, "nothing stays over a film that plays")
        let here = SessionRig("long", routes: [ToyProvider([:]).destination("card")])
        defer { here.player.shutDown() }
        state.isPaused = true
        here.player.publisher.post(state)
        #expect(here.director.outputs.pauseSign == nil)
        #expect(here.director.outputs.windowTitle("Film") == "Film – Talkie")
    }
}
