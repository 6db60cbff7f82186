import MediaCore
import Testing

@testable import Kiosk
@testable import Playback

/// The item that a kiosk plays, by the events of the player.
@Suite struct ItemProgressTests {
    private let a = QueueItem("a")
    private let b = QueueItem("b")

    /// An item that was opened by a command, and plays.
    private func playing(_ item: QueueItem) -> ItemProgress {
        var progress = ItemProgress()
        progress.select(ItemProgress.Item(item))
        progress.expectOpening()
        let isCommanded = progress.consumeOpening()
        let opened = progress.open(item, isCommanded: true, isSeparate: false)
        let buffering = progress.enter(.buffering)
        let begun = progress.begin(item, at: .zero, origin: nil)
        #expect(isCommanded == true && opened?.hasEnded == false)
        #expect(buffering.isToBeShown && !begun.isToBeShown, "it is shown when it is open")
        #expect(progress.isOpen && progress.hasBegun && progress.item?.address == item.address)
        return progress
    }

    @Test func eventsAreThoseOfTheLastCommand() {
        var progress = playing(a)
        progress.expectOpening()
        progress.expectOpening()
        let first = progress.consumeOpening()
        #expect(first == nil && progress.isReplaced)
        let second = progress.consumeOpening()
        #expect(second == true && !progress.isReplaced)
        let third = progress.consumeOpening()
        #expect(third == false, "no command led to it")
    }

    @Test func anItemThatFollowsIsShownWhenItStarts() throws {
        var progress = playing(a)
        let opened = progress.open(b, isCommanded: false, isSeparate: false)
        let change = try #require(opened)
        #expect(change.hasEnded && change.remarks.isEmpty && progress.item?.address == "b" && !progress.isOpen)
        let again = progress.open(b, isCommanded: false, isSeparate: false)
        #expect(again.map(\.hasEnded) == nil)
        let buffering = progress.enter(.buffering)
        #expect(!buffering.isToBeShown && progress.isOpen)
        let begun = progress.begin(b, at: .zero, origin: nil)
        #expect(begun.isToBeShown)
        // At a gapless boundary nothing is opened.
        let joined = progress.begin(a, at: .zero, origin: .zero)
        #expect(joined.isToBeShown && progress.item?.address == "a")
    }

    @Test func anItemThatIsPlayedAloneIsShownWhenItIsOpen() {
        var progress = playing(a)
        let change = progress.open(b, isCommanded: false, isSeparate: true)
        #expect(change?.hasEnded == true && change?.remarks.count == 2)
        let (buffering, begun) = (progress.enter(.buffering), progress.begin(b, at: .zero, origin: nil))
        #expect(buffering.isToBeShown && !begun.isToBeShown)
    }

    @Test func anItemThatIsLeftOrFailsHasNotEnded() {
        var left = playing(a)
        left.leave()
        let next = left.open(b, isCommanded: false, isSeparate: false)
        let buffering = left.enter(.buffering)
        #expect(next?.hasEnded == false && buffering.isToBeShown)
        var failed = playing(a)
        _ = failed.enter(.failed)
        #expect(!failed.isOpen && !failed.hasBegun)
        let other = failed.open(b, isCommanded: false, isSeparate: false)
        #expect(other?.hasEnded == false)
    }
}
