import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// A position in an item that is perceived at an appointed instant: the start of a wall of screens.
@Suite struct AppointmentTests {
    private static let rate = Int64(VirtualQueue.rate)
    private let items = ["1/160000/25:1/500", "2/80000/25:1/250"].map { QueueItem($0) }

    private func second(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }

    private func queue() -> VirtualQueue {
        let queue = VirtualQueue()
        queue.core.apply(.append(items))
        queue.core.apply(.loop(item: .times(0), list: .forever))
        return queue
    }

    /// Returns the largest deviation of audible frames from the appointment's timeline, in frames.
    private func soundError(_ queue: VirtualQueue, item: Int, position: MediaTime, at instant: HostInstant)
        -> Double?
    {
        let heard = queue.heard.filter { $0.sound == item && $0.at >= instant }
        return heard.map { sound in
            let due = position.seconds + (sound.at - instant).inSeconds
            return abs(due * Double(Self.rate) - Double(sound.frame))
        }.max()
    }

    @Test func anItemIsPerceivedAtItsInstantInPictureAndSound() throws {
        let queue = queue()
        let instant = queue.clock.now.advanced(by: .seconds(2))
        queue.core.jump(to: items[0].id, at: second(7), perceivedAt: instant)
        queue.run(for: .seconds(4))
        let first = try #require(queue.heard.first)
        #expect(first.frame == 7 * Self.rate && max(first.at - instant, instant - first.at) < .microseconds(200))
        #expect(try #require(soundError(queue, item: 1, position: second(7), at: instant)) < 2)
        // The first frame is shown while film time is stopped.
        let moving = queue.shown.filter(\.isMoving)
        #expect(try #require(moving.first?.number) <= 176)
        for picture in moving {
            let due = instant.advanced(by: .milliseconds(40 * (try #require(picture.number) - 175)))
            #expect(max(picture.target - due, due - picture.target) < .microseconds(200))
        }
        #expect(queue.phase == .playing)
    }

    @Test func aLatePlayerStartsAtTheCurrentPosition() throws {
        let queue = queue()
        queue.card.isAway = true
        let instant = queue.clock.now.advanced(by: .milliseconds(500))
        queue.core.jump(to: items[0].id, at: second(7), perceivedAt: instant)
        queue.run(for: .seconds(2))
        #expect(queue.heard.isEmpty)
        queue.card.isAway = false
        queue.run(for: .seconds(4))
        #expect(queue.phase == .playing)
        #expect(try #require(soundError(queue, item: 1, position: second(7), at: instant)) < 2)
        let line = queue.synchronizer.timebase.snapshot.current
        #expect(line.mediaTime(at: instant) == second(7))
    }

    @Test func aJumpWithinTheItemThatPlaysKeepsItsAppointment() throws {
        let queue = queue()
        queue.core.play()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        queue.run(for: .seconds(2))
        let instant = queue.clock.now.advanced(by: .seconds(1))
        queue.core.jump(to: items[0].id, at: second(12), perceivedAt: instant)
        queue.run(for: .seconds(3))
        #expect(try #require(soundError(queue, item: 1, position: second(12), at: instant)) < 2)
    }

    @Test func whatFollowsIsInStepWithTheLengthsThatWereMeasured() throws {
        let queue = queue()
        let instant = queue.clock.now.advanced(by: .seconds(1))
        queue.core.jump(to: items[0].id, at: second(15), perceivedAt: instant)
        queue.run(for: .seconds(20))
        #expect(try #require(soundError(queue, item: 2, position: .zero, at: instant.advanced(by: .seconds(5)))) < 2)
        let again = queue.heard.filter { $0.sound == 1 && $0.at > instant.advanced(by: .seconds(10)) }
        #expect(try #require(again.first).frame == 0)
        #expect(max(again[0].at - instant, .zero) - .seconds(15) < .microseconds(400))
    }

    @Test func aPositionAfterTheEndIsNoAppointment() {
        let queue = queue()
        let instant = queue.clock.now.advanced(by: .seconds(60))
        queue.core.jump(to: items[0].id, at: second(100), perceivedAt: instant)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(3)))
        queue.run(for: .seconds(1))
        #expect(queue.synchronizer.effectiveRate == 1)
    }

    @Test func aPauseTakesTheAppointmentBack() {
        let queue = queue()
        let instant = queue.clock.now.advanced(by: .seconds(2))
        queue.core.jump(to: items[0].id, at: second(7), perceivedAt: instant)
        queue.run(for: .seconds(1))
        queue.core.pause()
        queue.run(for: .seconds(3))
        #expect(queue.heard.isEmpty && queue.phase == .paused)
    }
}
