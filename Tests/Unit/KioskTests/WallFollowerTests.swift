import MediaCore
import Playback
import SyncRendering
import TalkieTestKit
import Testing

@testable import Kiosk

/// A screen of a wall, on a computer whose clocks are off: a timeline that plays a list without a player.
private final class WallScreen {
    let rig: WallRig
    let synchronizer: RenderSynchronizer
    let follower: WallFollower
    let messages = Lock<[String]>([])
    /// The current item and its position on the player's timeline.
    let playing = Lock<WallFollower.Playing?>(nil)
    let line: WallTimeline
    private(set) var jumps = 0

    init(_ machine: WallRig.Machine, follows: Bool = true) {
        rig = WallRig(machine)
        synchronizer = RenderSynchronizer(clock: rig.clock)
        line = WallTimeline(
            epoch: WallRig.epoch.advanced(by: .seconds(30)),
            items: [30, 12, 45].map { FilmExtent(end: MediaTime(value: $0, timescale: 1)) })!
        let (playing, messages) = (playing, messages)
        follower = WallFollower(
            clock: rig.wall, timeline: line, playing: { playing.withLock { $0 } },
            report: { item in messages.withLock { $0.append(item) } })
        if follows { synchronizer.setTimelineSource(follower) }
    }

    func jump(_ meeting: WallFollower.Meeting) {
        jumps += 1
        playing.withLock { $0 = .init(item: meeting.item, timelineOffset: .zero) }
        synchronizer.setRate(0, time: meeting.position)
        synchronizer.setRate(1, time: meeting.position, byAppointment: meeting.instant)
    }

    /// Advances to the next item at the end of the current one, on the same timeline.
    private func passJoint() {
        guard let now = playing.withLock({ $0 }) else { return }
        let item = line.items[now.item]
        let end = now.timelineOffset + item.end
        guard synchronizer.currentTime() >= end else { return }
        let next = (now.item + 1) % line.items.count
        playing.withLock { $0 = .init(item: next, timelineOffset: end - line.items[next].start) }
    }

    /// - Parameter jumps: true executes the follower's seeks.
    func run(for duration: Duration, jumps: Bool = true) {
        rig.run(for: duration) {
            synchronizer.serviceTimeline()
            passJoint()
            if jumps, let meeting = follower.dueSeek(rig.clock.now) { jump(meeting) }
        }
    }

    /// How far the perceived film time is from that of the wall by true time; positive is ahead.
    var error: Double? {
        guard let place = line.position(at: rig.truth), let now = playing.withLock({ $0 }), place.item == now.item
        else {
            return nil
        }
        return (synchronizer.currentTime() - now.timelineOffset - place.position).seconds
    }
}

@Suite struct WallFollowerTests {
    private func started(_ machine: WallRig.Machine, follows: Bool = true) throws -> WallScreen {
        let screen = WallScreen(machine, follows: follows)
        screen.run(for: .seconds(10))
        screen.jump(try #require(screen.follower.meeting(from: screen.rig.clock.now)))
        return screen
    }

    @Test func twoScreensWhoseClocksPartShowOneFrameForHours() throws {
        let screens = try [
            started(WallRig.Machine(skew: 50e-6, offset: .milliseconds(370))),
            started(WallRig.Machine(skew: -50e-6, offset: .seconds(-4))),
        ]
        var worst = 0.0
        for _ in 0..<160 {
            for screen in screens { screen.run(for: .seconds(31)) }
            for screen in screens { worst = max(worst, abs(screen.error ?? 0)) }
        }
        #expect(worst < 1e-3, "\(worst)")
        #expect(screens.allSatisfy { $0.jumps == 1 })
        #expect(screens[0].error != nil)
    }

    @Test func withoutTheFollowerTheyPart() throws {
        let screen = try started(WallRig.Machine(skew: 50e-6), follows: false)
        screen.run(for: .seconds(3600), jumps: false)
        #expect(abs(try #require(screen.error) - 0.18) < 0.01)
    }

    @Test func theFilmBeginsAtTheInstantOfTheWall() throws {
        let screen = try started(WallRig.Machine(offset: .seconds(7)))
        #expect(screen.synchronizer.effectiveRate == 0, "it is waited for")
        let meeting = try #require(screen.synchronizer.timebase.snapshot.scheduled)
        #expect(meeting.mediaAnchor == .zero)
        screen.run(for: .seconds(21))
        #expect(abs(try #require(screen.error)) < 1e-6)
    }

    @Test func aRestartJoinsTheLineWhereItIs() throws {
        let screen = WallScreen(WallRig.Machine(skew: 20e-6))
        screen.run(for: .seconds(30 + 87 * 3 + 35))
        let meeting = try #require(screen.follower.meeting(from: screen.rig.clock.now))
        #expect(meeting.item == 1 && abs(meeting.position.seconds - 6.5) < 0.01)
        screen.jump(meeting)
        screen.run(for: .seconds(4))
        #expect(abs(try #require(screen.error)) < 1e-3)
    }

    @Test func aSmallDistanceIsBentAwayAndALargeOneIsJumped() throws {
        let screen = try started(WallRig.Machine())
        screen.run(for: .seconds(30))
        // 8 ms early.
        screen.synchronizer.setRate(1, time: screen.synchronizer.currentTime() + MediaTime(value: 8, timescale: 1000))
        screen.run(for: .seconds(120))
        #expect(screen.jumps == 1)
        #expect(abs(try #require(screen.error)) < 1e-4)
        // 300 ms late.
        screen.synchronizer.setRate(1, time: screen.synchronizer.currentTime() - MediaTime(value: 300, timescale: 1000))
        screen.run(for: .seconds(10))
        #expect(screen.jumps == 2)
        #expect(abs(try #require(screen.error)) < 1e-4)
        #expect(screen.messages.withLock { $0 } == ["The film is 300.0 ms behind the wall; seeking."])
        #expect(screen.follower.status.jumps == 1)
    }

    @Test func jumpsThatDoNotHelpBecomeRare() throws {
        let screen = try started(WallRig.Machine())
        screen.run(for: .seconds(30))
        screen.synchronizer.setRate(1, time: screen.synchronizer.currentTime() - MediaTime(value: 1, timescale: 1))
        var jumps = 0
        for _ in 0..<2400 {
            screen.run(for: .milliseconds(250), jumps: false)
            guard let meeting = screen.follower.dueSeek(screen.rig.clock.now) else { continue }
            jumps += 1
            // Every seek is followed by a displacement.
            screen.jump(meeting)
            screen.synchronizer.setRate(
                1, time: meeting.position, atHostTime: meeting.instant.advanced(by: .seconds(1)))
        }
        #expect((5...16).contains(jumps), "\(jumps) in ten minutes")
    }

    @Test func withoutAWallTimeTheFilmRunsFree() {
        let screen = WallScreen(WallRig.Machine(answer: .report(ChronyTracking())))
        screen.run(for: .seconds(5))
        #expect(screen.follower.meeting(from: screen.rig.clock.now) == nil)
        screen.jump(.init(item: 0, position: .zero, instant: screen.rig.clock.now))
        screen.run(for: .seconds(10))
        #expect(screen.synchronizer.timebase.rate == 1 && screen.follower.status.outcome == nil)
    }
}
