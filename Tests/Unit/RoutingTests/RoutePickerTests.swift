import SyncRendering
import Testing

@testable import Routing

@Suite struct RoutePickerTests {
    private func row(
        _ id: String, ticked: Bool = false, obstacle: String? = nil, volume: Double? = 100
    ) -> RoutePicker.Row {
        RoutePicker.Row(id: id, name: id, isTicked: ticked, pending: nil, obstacle: obstacle, volume: volume)
    }

    private func picker(_ rows: RoutePicker.Row...) -> RoutePicker {
        var picker = RoutePicker()
        picker.update(rows)
        return picker
    }

    @Test func itBeginsAtWhatPlaysAndEnterPlaysOneAlone() {
        var picker = picker(row("local"), row("Kitchen", ticked: true), row("Study"))
        #expect(picker.current == "Kitchen")
        _ = picker.press("DOWN")
        #expect(picker.press("ENTER") == .some(.playAndClose("Study")))
        _ = picker.press("DOWN")
        #expect(picker.current == "Study", "the list has an end")
    }

    @Test func spaceAddsAndLeavesOutButNeverTheLast() {
        var picker = picker(row("local", ticked: true), row("Kitchen"))
        _ = picker.press("DOWN")
        #expect(picker.press("SPACE") == .some(.play(["local", "Kitchen"])))
        picker.update([row("local", ticked: true), row("Kitchen", ticked: true)])
        #expect(picker.press("SPACE") == .some(.play(["local"])))
        picker.update([row("local", ticked: true), row("Kitchen")])
        _ = picker.press("UP")
        guard case .explain? = picker.press("SPACE") else {
            Issue.record("the sound went nowhere")
            return
        }
    }

    @Test func whatCannotBeChosenSaysWhy() {
        var picker = picker(row("local", ticked: true), row("Kitchen", obstacle: "run 'talkie pair Kitchen' once"))
        _ = picker.press("DOWN")
        #expect(picker.press("ENTER") == .some(.explain("Kitchen: run 'talkie pair Kitchen' once")))
    }

    @Test func aPasswordIsEnteredInTheListAndNotShown() {
        var picker = picker(row("local", ticked: true), row("Kitchen"))
        var locked = picker.rows[1]
        (locked.obstacle, locked.pairing) = ("must be paired first", .password)
        picker.update([picker.rows[0], locked])
        _ = picker.press("DOWN")
        #expect(picker.press("ENTER") == .some(.pair("Kitchen", adds: false)))
        #expect(picker.press("SPACE") == .some(.pair("Kitchen", adds: true)))
        picker.entry = RoutePicker.Entry(id: "Kitchen", name: "Kitchen", kind: .password)
        for key in ["q", "SPACE", "SHARP", "s", "UP", "x", "BS"] { #expect(picker.press(key) == .some(nil)) }
        #expect(picker.terminalText.hasPrefix("Password of Kitchen: ••••_"), "\(picker.terminalText)")
        guard case .enter(let entry)? = picker.press("ENTER") else {
            Issue.record("nothing was entered")
            return
        }
        #expect(entry.text == "q #s" && picker.entry == nil)
        picker.entry = RoutePicker.Entry(id: "Kitchen", name: "Kitchen", kind: .pin)
        _ = picker.press("7")
        #expect(picker.hint.hasPrefix("PIN that Kitchen shows: 7_"))
        #expect(picker.press("ESC") == .some(.cancelEntry) && picker.entry == nil)
    }

    @Test func aLanguageIsPartOfTheNameAndAKeyAsksForTheNext() {
        var kitchen = row("Kitchen", ticked: true)
        kitchen.language = "German"
        var picker = picker(kitchen)
        #expect(picker.rows[0].title == "Kitchen · German")
        #expect(picker.terminalText.contains("Kitchen · German"))
        #expect(picker.press("l") == .some(.cycleLanguage("Kitchen")))
    }

    @Test func volumeIsTurnedBesideEachRouteAndStaysInRange() {
        var picker = picker(row("local", ticked: true, volume: 97))
        #expect(picker.press("RIGHT") == .some(.setVolume("local", 100)))
        #expect(picker.press("LEFT") == .some(.setVolume("local", 95)))
        #expect(picker.point(at: 0, .level(0.52), turned: 0) == .setVolume("local", 50))
        #expect(picker.point(at: 0, .text, turned: -1) == .setVolume("local", 45))
        picker.update([row("local", volume: nil)])
        #expect(picker.terminalText == ">[ ] local<")
        guard case .explain? = picker.press("RIGHT") else {
            Issue.record("a volume that is not known was changed")
            return
        }
    }

    @Test func thePointerDoesWhatKeysDo() {
        var picker = picker(row("local", ticked: true), row("Kitchen"))
        #expect(picker.point(at: 1, .mark, turned: 0) == .play(["local", "Kitchen"]))
        #expect(picker.point(at: 1, .text, turned: 0) == .playAndClose("Kitchen"))
        #expect(picker.point(at: 0, .language, turned: 0) == .cycleLanguage("local"))
        #expect(picker.point(at: 7, .text, turned: 0) == nil)
    }

    @Test func keysOfTheFilmAreLeftToTheFilmAndEscCloses() {
        var picker = picker(row("local", ticked: true))
        #expect(picker.press("p") == nil)
        #expect(picker.press("q") == nil)
        #expect(picker.press("ESC") == .some(.close))
        #expect(picker.press("s") == .some(.close))
    }

    @Test func theRowOneIsOnStaysWhenOthersComeAndGo() {
        var picker = picker(row("local", ticked: true), row("Kitchen"), row("Study"))
        _ = picker.press("DOWN")
        picker.update([row("local", ticked: true), row("Attic"), row("Kitchen"), row("Study")])
        #expect(picker.current == "Kitchen" && picker.index == 2)
        picker.update([row("local", ticked: true), row("Attic"), row("Study")])
        #expect(picker.current == "Study")
        picker.update([])
        #expect(picker.current == nil)
        #expect(picker.press("ENTER") == .some(nil))
    }
}
