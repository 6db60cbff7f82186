import MediaCore
import SyncRendering
import Testing

@testable import Playback

@Suite struct PlayerMailboxTests {
    /// The player's thread may wait for a device while another program sends commands.
    @Test func commandsThatABlockedPlayerDoesNotExecuteAreBounded() {
        let mailbox = PlayerMailbox()
        var taken = 0
        for _ in 0..<100_000 where mailbox.request({ _ in }) { taken += 1 }
        #expect((500...5000).contains(taken))
        // The player's own results are not refused.
        #expect(mailbox.post { _ in } && mailbox.drain().count == taken + 1)
        taken = 0
        for _ in 0..<1000 where mailbox.request(items: 10_000, { _ in }) { taken += 1 }
        #expect((1...5).contains(taken))
        #expect(mailbox.drain().count == taken && mailbox.request(items: 1 << 20) { _ in })
        #expect(!mailbox.isClosed && mailbox.close().count == 1 && mailbox.isClosed && !mailbox.request { _ in })
    }

    @Test func aCommandThatDoesNotFitIsRefusedAsSuch() {
        let mailbox = PlayerMailbox()
        let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: MonotonicClock()).timebase)
        let control = PlayerControl(mailbox, board)
        while mailbox.request({ _ in }) {}
        let refusal = Lock<ControlError?>(nil)
        control.perform([.text("cycle"), .text("pause")]) { result in
            if case .failure(let error) = result { refusal.withLock { $0 = error } }
        }
        #expect(refusal.withLock { $0 } == PlayerControl.busy)
        let isCalled = Lock(false)
        control.afterCommands { isCalled.withLock { $0 = true } }
        #expect(isCalled.withLock { $0 })
        control.close()
    }

    @Test func aRefusedCommandDoesNotCancelTheFilmThatOpens() {
        let (mailbox, opening) = (PlayerMailbox(), OpenCancellation())
        mailbox.opening.withLock { $0 = opening }
        while mailbox.request({ _ in }) {}
        #expect(!mailbox.requestOpening { _ in } && !opening.isCancelled)
        _ = mailbox.drain()
        #expect(mailbox.requestOpening { _ in } && opening.isCancelled)
    }

    @Test func eachPartOfAnOpeningIsCancelled() {
        let opening = OpenCancellation()
        let ended = Lock<[Int]>([])
        for part in 1...2 { opening.onCancel { ended.withLock { $0.append(part) } } }
        opening.cancel()
        opening.onCancel { ended.withLock { $0.append(3) } }
        #expect(ended.withLock { $0 } == [1, 2, 3])
    }
}
