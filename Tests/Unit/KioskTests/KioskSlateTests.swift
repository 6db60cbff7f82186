import MediaCore
import Playback
import Testing

@testable import Kiosk

/// What a kiosk shows while no film does, and when its image is opened.
@Suite struct KioskSlateTests {
    /// Its player executes no command.
    private let rig = KioskRig(hasScreen: true)
    private let image = "/closed.png"

    private func slate() -> KioskSlate {
        var configuration = KioskConfiguration()
        configuration.slate = image
        let (stage, settings) = (rig.director.stage, KioskSettings(configuration))
        let screen = KioskScreen(stage, settings: settings, hookRunner: HookRunner(start: stage.run) { _ in })
        return KioskSlate(
            rig.player, messages: KioskMessages(stage.log, clock: rig.clock), settings: settings, screen: screen,
            routeSupervisor: nil)
    }

    @Test func theImageIsOpenedOnlyWhileNothingCanBePlayed() {
        let slate = slate()
        var isOpened = slate.show(.begins("09:30"), image: image)
        #expect(!isOpened && !slate.isImage && !slate.isNothing)
        isOpened = slate.show(.nothing("no films"), image: image)
        #expect(isOpened && slate.isImage && slate.isNothing && rig.hasSaid("nothing is shown: no films"))
        isOpened = slate.show(.nothing("no films"), image: image)
        #expect(!isOpened, "this slate is shown already")
        slate.hide()
        #expect(slate.shown == nil)
    }

    @Test func anImageThatAnAttemptHasReplacedIsOpenedAgain() {
        let slate = slate()
        var isOpened = [slate.showNothing("a", image: image), slate.showNothing("a", image: image)]
        slate.markImageReplaced()
        isOpened.append(slate.showNothing("a", image: image))
        // An image that cannot be shown at present.
        slate.markImageReplaced()
        isOpened.append(slate.showNothing("a", image: nil))
        #expect(isOpened == [true, false, true, false])
    }

    @Test func anImageThatFailsIsReportedAndTheSlateStays() {
        let slate = slate()
        _ = slate.showNothing("a", image: image)
        slate.handleImage(.buffering)
        #expect(slate.isImage)
        slate.handleImage(.failed)
        #expect(!slate.isImage && slate.isNothing && rig.hasSaid("the image of the slate cannot be shown"))
    }

    @Test func theImageIsOpenedAfterThePauseThatHasHiddenItsSlate() {
        let slate = slate()
        slate.hold(showing: "closed")
        var isOpened = slate.show(.nothing("a"), image: image)
        #expect(!isOpened && slate.isHeld && slate.shown == .asked("closed"))
        isOpened = slate.resume(image: image)
        #expect(isOpened && !slate.isHeld && slate.isNothing)
    }
}
