import Testing

@testable import Kiosk

/// Which slate is shown while fleet commands and the kiosk ask for different ones.
@Suite struct SlateStackTests {
    private var slates = SlateStack()

    @Test mutating func aSlateIsShownOnceAndRemovedOnce() {
        var changes = [slates.show(.nothing("a")), slates.show(.nothing("a")), slates.show(.nothing("b"))]
        #expect(changes == [true, false, true] && slates.shown == .nothing("b"))
        changes = [slates.hide(), slates.hide()]
        #expect(changes == [true, false] && slates.shown == nil)
    }

    @Test mutating func aCommandCoversTheReasonAndGivesItBack() {
        _ = slates.show(.nothing("a"))
        var hasChanged = slates.hold(showing: "closed")
        #expect(hasChanged && slates.shown == .asked("closed") && slates.isHeld)
        hasChanged = slates.show(.nothing("b"))
        #expect(!hasChanged && slates.shown == .asked("closed"))
        hasChanged = slates.hold(showing: "open soon")
        #expect(hasChanged && slates.shown == .asked("open soon"))
        hasChanged = slates.resume()
        #expect(hasChanged && slates.shown == .nothing("b") && !slates.isHeld)
    }

    @Test mutating func aFilmThatStartsUnderACommandLeavesNothingToGiveBack() {
        _ = slates.show(.nothing("a"))
        _ = slates.hold(showing: nil)
        var hasChanged = slates.hide()
        #expect(!hasChanged && slates.shown == .asked(nil))
        hasChanged = slates.resume()
        #expect(hasChanged && slates.shown == nil)
    }

    @Test mutating func aPauseWithoutWordsLeavesTheSlateOfTheKiosk() {
        slates.hold()
        var hasChanged = slates.show(.audio(title: "Song"))
        #expect(hasChanged && slates.isHeld)
        hasChanged = slates.resume()
        #expect(!hasChanged && slates.shown == .audio(title: "Song"))
    }
}
