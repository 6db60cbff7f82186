import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Everything that works with one film works with a playlist.
@Suite struct ListParityTests {
    private func queue(_ addresses: [String], _ options: PlayerOptions = PlayerOptions()) -> VirtualQueue {
        let queue = VirtualQueue(options)
        queue.core.apply(.append(addresses.map { QueueItem($0) }))
        queue.core.play()
        return queue
    }

    private let films = ["1/16000/25:1/50", "2/16000/25:1/50", "3/16000/25:1/50"]

    @Test func aListResumesAfterASuspensionAtItsPosition() {
        let queue = queue(films)
        queue.run(for: .seconds(3))
        let before = queue.synchronizer.currentTime()
        queue.clock.suspend(for: .seconds(3600))
        queue.run(for: .milliseconds(100))
        #expect(queue.core.state.phase == .buffering)
        #expect((queue.synchronizer.currentTime() - before).duration < .milliseconds(60))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...49", "2:0...49", "3:0...49"])
        #expect(queue.dropped == 0)
    }

    @Test func aListFollowsTheClockOfASpeakerThatCannotBeMoved() throws {
        let queue = queue(["1/80000", "2/80000", "3/80000"])
        let line = Lock<TimebaseSegment?>(nil)
        let clock = queue.clock
        queue.card.held = {
            line.withLock { line in
                guard var held = line else { return nil }
                held.mediaAnchor = held.mediaTime(at: clock.now)
                held.hostAnchor = clock.now
                return held
            }
        }
        queue.run(for: .seconds(3))
        let start = try #require(queue.synchronizer.timebase.snapshot.segment(at: clock.now).hostInstant(of: .zero))
        let held = TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1 + 50e-6, speed: 1)
        line.withLock { $0 = held }
        queue.run(for: .seconds(22))
        let away = queue.synchronizer.currentTime() - held.mediaTime(at: clock.now)
        #expect(abs(away.duration.inMilliseconds) < 0.1)
        #expect(queue.synchronizer.timebase.rate != 1)
        #expect(queue.core.current?.item.address == "3/80000")
    }

    @Test func aListChangesItsSpeedWithoutLosingAPicture() {
        let queue = queue(films)
        queue.run(for: .seconds(1))
        queue.core.setSpeed(1.5)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...49", "2:0...49", "3:0...49"])
        #expect(queue.dropped == 0)
    }

    @Test func delaysOfAListMoveItsSoundAndNotItsPictures() throws {
        var options = PlayerOptions()
        options.audioDelay = .milliseconds(120)
        options.calibration = .milliseconds(-20)
        let queue = queue(films, options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let second = try #require(queue.shown.first { $0.item == 2 })
        let sound = try #require(queue.stretches.first { $0.sound == 2 })
        #expect(abs((sound.at - second.target).inMilliseconds - 100) < 1)
    }

    @Test func muteLastsOverAJointAndMovesNothing() {
        let queue = queue(films)
        queue.run(for: .seconds(1))
        queue.core.audioControl.setMuted(true)
        queue.run(for: .milliseconds(200))
        let before = queue.heard.count
        queue.run(for: .milliseconds(1300))
        #expect(queue.heard.count == before, "nothing is heard across the joint")
        queue.core.audioControl.setMuted(false)
        let loud = queue.clock.now
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        // A fade changes the encoded numbers.
        let said = queue.stretches.filter { $0.at > loud && $0.frames.count > 400 }
        #expect(said.map(\.sound) == [2, 3])
        #expect(said.last?.frames == 0..<16000)
        #expect(queue.pictureRuns == ["1:0...49", "2:0...49", "3:0...49"])
        #expect(queue.newStarts == 0)
    }

    @Test func aTrackThatAPersonChoosesIsTheOneOfLaterFilmsToo() {
        let queue = queue(["1+5/24000", "2+6/16000", "3/8000"])
        queue.run(for: .seconds(1))
        queue.core.cycleAudioTrack()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 5, 6, 3])
        #expect(queue.stretches.dropFirst(2).map(\.description) == ["6:0..<16000", "3:0..<8000"])
        #expect(queue.newStarts == 0)
    }

    @Test func aLanguageThatIsAskedForHoldsForEveryFilm() {
        var options = PlayerOptions()
        options.audioLanguages = ["ru"]
        let queue = queue(["1+5/16000", "2/8000", "3+7/16000"], options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.description) == ["5:0..<16000", "2:0..<8000", "7:0..<16000"])
    }

    /// - Parameter asked: milliseconds after the first frame.
    @Test(arguments: [2000, 3300, 3700, 3900]) func outputsChangeInAListWithoutAGap(asked: Int) throws {
        let house = VirtualHouse("card", seconds: 4)
        house.core.apply(.append([QueueItem("second"), QueueItem("third")]))
        house.run(for: .milliseconds(asked))
        house.change(to: house.output("Kitchen"))
        house.run(for: .milliseconds(7000 - asked))
        #expect(house.lastChange != nil)
        // Every frame of both films was audible on one output, and on both only during the crossfade.
        let film = 4 * VirtualHouse.rate
        var frames = Set<Int>()
        for name in ["card", "Kitchen"] {
            for item in house.heard(name) {
                let pass = (item.late.inSeconds * Double(VirtualHouse.rate) / Double(film)).rounded()
                frames.insert(Int(item.frame.rounded()) + Int(pass) * film)
            }
        }
        let last = try #require(frames.max())
        #expect(last > film + VirtualHouse.rate, "the second film is heard")
        #expect(Double(frames.count) > Double(last) * 0.997)
        let changed = try #require(house.heard("Kitchen").first).at
        let tail = try #require(house.heard("card").last).at
        // The video of these films is four milliseconds longer than the audio.
        #expect(abs((changed - tail).inMilliseconds) <= 6)
        let shown = house.screen.shown.count
        #expect(shown >= 150)
        #expect(house.core.state.phase == .playing)
    }
}
