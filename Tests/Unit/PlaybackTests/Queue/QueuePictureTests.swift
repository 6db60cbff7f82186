import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct QueuePictureTests {
    private static let film = MediaTime(value: 1, timescale: 25)
    private static let cinema = MediaTime(value: 1001, timescale: 24000)
    /// One frame of the virtual card: the resolution at which an audio boundary can be measured.
    private static let sample = Duration.microseconds(125)

    private func items(_ addresses: [String]) -> [QueueItem] { addresses.map { QueueItem($0) } }

    private func queue(_ items: [QueueItem], _ options: PlayerOptions = PlayerOptions()) -> VirtualQueue {
        let queue = VirtualQueue(options)
        queue.core.apply(.append(items))
        queue.core.play()
        return queue
    }

    private func said(_ queue: VirtualQueue) -> [String] { queue.stretches.map(\.description) }

    private func hasSaid(_ queue: VirtualQueue, _ part: String) -> Bool {
        queue.playerEvents.withLock { playerEvents in
            playerEvents.contains { event in
                switch event {
                case .message(let text): text.contains(part)
                case .incomplete(_, let failure): failure.error.message.contains(part)
                default: false
                }
            }
        }
    }

    /// Runs until the queue reaches a time of its timeline.
    private func run(_ queue: VirtualQueue, to seconds: Double) {
        for _ in 0..<20_000 where queue.synchronizer.currentTime().seconds < seconds {
            queue.run(for: .milliseconds(5))
        }
    }

    // MARK: Gapless boundaries

    /// Between two others, and as the first one.
    @Test func anItemThatEndsAtItsStartWithoutMediaIsNamedAndPassed() {
        let all = items(["1/none/25:1/0", "2/8000/25:1/25", "3/none/25:1/0", "4/8000/25:1/25"])
        let queue = queue(all)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["2:0...24", "4:0...24"])
        let named = queue.playerEvents.withLock { events in
            events.compactMap { event -> QueueItem? in
                switch event {
                case .failed(let item, let failure) where failure.message.contains("cannot be decoded"): item
                case .incomplete(let item, let failure) where failure.error.message.contains("cannot be decoded"): item
                default: nil
                }
            }
        }
        #expect(named == [all[0], all[2]], "\(queue.playerEvents.withLock { $0 })")
    }

    @Test func theFirstPictureOfEachItemIsDueWithItsFirstSample() throws {
        let queue = queue(
            items(["1/16000/25:1/50", "2/16016/24000:1001/48", "3/8008/30000:1001/30", "4/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...49", "2:0...47", "3:0...29", "4:0...24"])
        #expect(queue.dropped == 0)
        #expect(queue.holes == 0)
        #expect(queue.worstLateness == .zero)
        let first = queue.shown.filter { $0.number == 0 }
        #expect(first.map(\.pts) == queue.beginnings)
        for (picture, sound) in zip(first, queue.stretches).dropFirst() {
            #expect(abs((picture.target - sound.at).wholeNanoseconds) <= Self.sample.wholeNanoseconds)
        }
    }

    @Test(arguments: ["1/3840/25:1/12", "1/4004/24000:1001/12", "1/7999/25:1/25", "1/4004/24000:1001/12/stated"])
    func manyPassesOfAnItemNeitherDriftNorLoseNorAddAPicture(address: String) throws {
        var options = PlayerOptions()
        // An error of a fifth of a sample in each is more than 8 samples after these.
        let passes = 45
        options.loopFile = .times(passes - 1)
        let queue = queue(items([address]), options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(60)))
        let isCinema = address.contains("24000")
        let (last, frames): (Int, Int64) =
            switch address {
            case "1/3840/25:1/12": (11, 3840)
            case "1/7999/25:1/25": (24, 8000)
            default: (11, 4004)
            }
        #expect(queue.pictureRuns == Array(repeating: "1:0...\(last)", count: passes))
        #expect(queue.dropped == 0)
        #expect(queue.worstLateness == .zero)
        // A gap shorter than a millisecond is not filled: the audio is early by less than that, and never by more.
        #expect(queue.strangers(every: isCinema ? Self.cinema : Self.film, within: 8) == [])
        #expect(queue.stretches.count == passes)
        for (pass, picture) in queue.shown.filter({ $0.number == 0 }).enumerated() {
            #expect(picture.pts == MediaTime(value: frames * Int64(pass), timescale: 8000))
        }
    }

    @Test func loopsOfTheQueueShowEveryItemWhole() {
        var options = PlayerOptions()
        options.loopFile = .times(1)
        options.loopPlaylist = .times(2)
        let queue = queue(items(["1/1600/25:1/5", "2/3203/25:1/10"]), options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let pass = ["1:0...4", "1:0...4", "2:0...9", "2:0...9"]
        #expect(queue.pictureRuns == pass + pass + pass)
        #expect(queue.dropped == 0)
        #expect(queue.strangers(every: Self.film) == [])
    }

    /// Also with an output of small depth that is full until shortly before the boundary.
    @Test(arguments: [300, 60])
    func theNextItemsPicturesAreThereBeforeThePlayhead(depth: Int) {
        let queue = VirtualQueue()
        queue.card.desiredDepth = .milliseconds(depth)
        queue.core.apply(.append(items(["1/16000/25:1/50", "2/16000/25:1/50"])))
        queue.core.play()
        run(queue, to: 1.9)
        #expect(queue.layer.waitingTimes.contains(MediaTime(value: 2, timescale: 1)))
    }

    /// With a card of small and large depth; followed by another item, and by the same one again.
    @Test(arguments: [300, 60_000])
    func aFilmThatBreaksOffIsFollowedWhereItsDataEnd(depth: Int) throws {
        let queue = VirtualQueue()
        queue.card.desiredDepth = .milliseconds(depth)
        queue.core.apply(.append(items(["1/8000/25:1/75/stated/torn25", "2/16000/25:1/50"])))
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...49"])
        let second = try #require(queue.shown.first { $0.item == 2 })
        let last = try #require(queue.shown.last { $0.item == 1 })
        // One frame later, or the duration of a start.
        #expect((second.target - last.target).inSeconds < 0.5)
        #expect(hasSaid(queue, "breaks off at"))
    }

    @Test func aFilmWithLongerAudioThanVideoPlaysToItsEnd() {
        let queue = queue(items(["1/48000/25:1/150/stated/torn25", "2/16000/25:1/50"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...49"])
        #expect(queue.stretches.first?.frames == 0..<48_000)
        #expect(!hasSaid(queue, "breaks off at"))
    }

    /// Audio read only up to the end of the video, and far beyond it. A file truncated while it was open: near its end,
    /// where the end of its video is known, and far from it.
    @Test(arguments: [
        ("1/20000/25:1/150/stated/torn25", 2_000), ("1/20000/25:1/150/stated/torn25", 60_000),
        ("1/48000/25:1/150/stated/cut25", 60_000), ("1/200000/25:1/1250/stated/cut25", 60_000),
    ])
    func soundThatWasReadAheadOfACutFileEndsWithItsPictures(address: String, depth: Int) throws {
        let queue = VirtualQueue()
        queue.card.desiredDepth = .milliseconds(depth)
        queue.core.apply(.append(items([address, "2/16000/25:1/50"])))
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...49"])
        let second = try #require(queue.shown.first { $0.item == 2 })
        let last = try #require(queue.shown.last { $0.item == 1 })
        #expect((second.target - last.target).inSeconds < 0.5)
        #expect(hasSaid(queue, "breaks off at"))
        // The audio ends there too, and the next item is audible completely.
        #expect(queue.stretches.map(\.sound) == [1, 2])
        #expect(try #require(queue.stretches.first?.frames).count < 12_000)
        #expect(queue.stretches.last?.frames == 0..<16_000)
    }

    @Test func picturesAreReadNearThePlayheadThoughTheSoundIsMinutesAhead() {
        let queue = VirtualQueue()
        queue.card.desiredDepth = .seconds(60)
        let all = items(["1/80000/25:1/250", "2/80000/25:1/250", "3/80000/25:1/250"])
        queue.core.apply(.append(all))
        queue.core.play()
        run(queue, to: 3)
        // Audio of all three was read, but only video of the first.
        #expect((queue.state.audioReadUntil?.seconds ?? 0) > 25)
        #expect((3...5).contains(queue.state.loadedUntil?.seconds ?? 0), "no further than the pictures")
        #expect(queue.opened.withLock { $0 } == all.map(\.address))
        #expect(queue.decoders.withLock { $0 } == [1])
        run(queue, to: 4.5)
        #expect(queue.decoders.withLock { $0 } == [1, 2])
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(40)))
        #expect(queue.pictureRuns == ["1:0...249", "2:0...249", "3:0...249"])
        #expect(queue.strangers(every: Self.film) == [])
    }

    @Test func anInputThatCannotBeOpenedTwiceIsOpenedOnce() {
        let queue = queue(items(["1/16000/25:1/50/once", "2/16000/25:1/50"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.opened.withLock { $0.count { $0.hasSuffix("once") } } == 1)
        #expect(queue.pictureRuns == ["1:0...49", "2:0...49"])
        #expect(queue.strangers(every: Self.film) == [])
    }

    /// Video that stops until one boundary has passed, and until two have.
    @Test(arguments: [2.5, 4.5])
    func afterBoundariesThatItMissedTheVideoContinuesWithTheCurrentItem(resumed: Double) throws {
        let queue = queue(items(["1/16000/25:1/50", "2/16000/25:1/50", "3/16000/25:1/50", "4/8000/25:1/25"]))
        run(queue, to: 1.5)
        queue.picturesMove = false
        run(queue, to: resumed)
        queue.picturesMove = true
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "2:0..<16000", "3:0..<16000", "4:0..<8000"])
        #expect(queue.pictureRuns.last == "4:0...24")
        let missed = queue.shown.filter { $0.item == 3 }.compactMap(\.number)
        #expect(missed.last == 49 && missed.count >= 35, "\(queue.pictureRuns)")
        #expect(queue.newStarts == 0)
    }

    @Test func videoThatWaitsAtAPassedItemIsNotRead() {
        let queue = VirtualQueue()
        queue.heldTask.withLock { $0 = "prefetch pictures" }
        queue.core.apply(.append(items(["1/8000/25:1/25", "2/80000/25:1/250"])))
        queue.core.play()
        run(queue, to: 0.9)
        #expect(queue.state.videoIsRead)
        run(queue, to: 2)
        #expect(queue.state.position.seconds < 1.1, "the second item")
        #expect(!queue.state.videoIsRead)
    }

    // MARK: Edits

    @Test func anItemThatIsRemovedWhileItsFirstPictureWaitsIsNotSeen() throws {
        let all = items(["1/16000/25:1/50", "2/16000/25:1/50", "3/16000/25:1/50"])
        let queue = queue(all)
        run(queue, to: 1.76)
        #expect(try #require(queue.state.handedUntil).seconds > 2)
        #expect(queue.layer.waitingTimes.contains(MediaTime(value: 2, timescale: 1)))
        #expect(queue.edit(.remove(all[1].id)) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "3:0..<16000"])
        #expect(queue.pictureRuns == ["1:0...49", "3:0...49"])
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.dropped == 0)
    }

    @Test func movedInsertedAndReplacedItemsAreSeenInTheNewOrder() {
        let all = items(["1/16000/25:1/50", "2/8000/25:1/25", "3/8000/25:1/25", "4/8000/25:1/25"])
        let queue = queue(all)
        run(queue, to: 1.7)
        #expect(queue.edit(.insert(items(["5/4000/25:1/13"]), after: all[0].id)) == .seamless)
        #expect(queue.edit(.move(all[3].id, after: all[0].id)) == .seamless)
        #expect(queue.edit(.replace(all[1].id, with: QueueItem("6/4800/25:1/15"))) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...49", "4:0...24", "5:0...12", "6:0...14", "3:0...24"])
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.dropped == 0)
    }

    @Test func anItemThatEndsEarlyTakesItsPicturesWithIt() {
        let all = items(["1/80000/25:1/250", "2/16000/25:1/50"])
        let queue = queue(all)
        run(queue, to: 3)
        guard case .late = queue.edit(.remove(all[0].id)) else {
            Issue.record("it is heard already")
            return
        }
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2])
        #expect(queue.pictureRuns.count == 2)
        #expect(queue.pictureRuns.last == "2:0...49")
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.dropped == 0)
    }

    @Test func aLoopMayBeginAndEndWhileTheNextPassIsInTheLayer() {
        let all = items(["1/8000/25:1/25", "2/8000/25:1/25"])
        let queue = queue(all)
        run(queue, to: 0.7)
        #expect(queue.edit(.loop(item: .forever, list: .times(0))) == .seamless)
        run(queue, to: 2.7)
        #expect(queue.edit(.loop(item: .times(0), list: .times(0))) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "1:0...24", "1:0...24", "2:0...24"])
        #expect(queue.strangers(every: Self.film) == [])
    }

    @Test func theQueueEndsWhereItsLastItemIsCutThoughAllOfItWasHandedOver() {
        let all = items(["1/8000/25:1/25", "2/12000/25:1/38"])
        let queue = queue(all)
        run(queue, to: 1.6)
        guard case .late = queue.edit(.remove(all[1].id)) else {
            Issue.record("it is heard already")
            return
        }
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(3)))
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func editsInAnyOrderNeverShowAPictureBesideAnotherItemsSound(seed: UInt64) {
        var dice = Dice(seed: seed)
        func fresh(_ dice: inout Dice) -> QueueItem {
            let pictures = 12 + dice.roll(40)
            return QueueItem("\(1 + dice.roll(7))/\(pictures * 320)/25:1/\(pictures)")
        }
        let queue = queue([fresh(&dice), fresh(&dice), fresh(&dice)])
        queue.editAtRandom(&dice, fresh: fresh)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(60)))
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.dropped == 0)
        #expect(queue.worstLateness == .zero)
    }

    // MARK: Kinds of items

    @Test func anItemWithoutSoundIsSilenceAsLongAsItsPictures() throws {
        let queue = queue(items(["1/8000/25:1/25", "2/none/25:1/38", "3/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...37", "3:0...24"])
        #expect(said(queue) == ["1:0..<8000", "3:0..<8000"])
        let third = try #require(queue.shown.first { $0.item == 3 })
        #expect(third.pts == MediaTime(value: 25 + 38, timescale: 25))
        #expect(abs((third.target - queue.stretches[1].at).wholeNanoseconds) <= Self.sample.wholeNanoseconds)
    }

    @Test func anItemWithoutPicturesIsBlackAndAQueueOfSoundShowsNothing() throws {
        let queue = queue(items(["1/8000/25:1/25", "2/8000", "3/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "black", "3:0...24"])
        let black = try #require(queue.shown.first { $0.item == nil })
        #expect(black.pts == MediaTime(value: 1, timescale: 1))
        let sound = self.queue(items(["1/8000", "2/8000"]))
        #expect(sound.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(sound.shown.isEmpty)
    }

    @Test func thePictureOfARecordIsSeenFromItsBeginningToItsEnd() throws {
        let queue = queue(items(["1/8000/cover", "2/8000/25:1/25", "3/8000/cover"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...0", "2:0...24", "3:0...0"])
        #expect(queue.shown.filter { $0.number == 0 }.map(\.pts) == queue.beginnings)
    }

    @Test func anUndecodableCoverIsReportedOnceAndAudioStaysGapless() throws {
        let queue = queue(items(["1/8000/cover/broken", "2/8000/cover", "3/8000/cover/broken"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["black", "2:0...0", "black"])
        #expect(queue.stretches.count == 3 && queue.holes == 0)
        let messageCount = queue.playerEvents.withLock { $0 }.count { event in
            if case .message(let text) = event { text.contains("damaged") } else { false }
        }
        #expect(messageCount == 2)
    }

    @Test func aPictureOfItsOwnStaysForAsLongAsItIsToAndTheNextFollows() throws {
        let queue = queue(items(["1/none/picture", "2/none/picture", "3/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...0", "2:0...0", "3:0...24"])
        let first = queue.shown.filter { $0.number == 0 }
        #expect(first.map(\.pts.seconds) == [0, 2, 4])
    }

    @Test(arguments: ["1/8000/25:1/38", "1/8000/25:1/38/stated"])
    func picturesThatLastLongerThanTheSoundAreShownInSilence(address: String) throws {
        let queue = queue(items([address, "2/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...37", "2:0...24"])
        let second = try #require(queue.shown.first { $0.item == 2 })
        #expect(second.pts == MediaTime(value: 38, timescale: 25))
        #expect(abs((second.target - queue.stretches[1].at).wholeNanoseconds) <= Self.sample.wholeNanoseconds)
    }

    @Test func theLastPictureStaysOnWhereTheSoundLastsLonger() throws {
        let queue = queue(items(["1/12001/25:1/25", "2/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...24"])
        #expect(queue.holes == 0)
        let second = try #require(queue.shown.first { $0.item == 2 })
        #expect(second.pts == MediaTime(value: 12001, timescale: 8000))
    }

    @Test func beforeALateFirstPictureThereIsBlack() {
        let queue = queue(items(["1/8000/25:1/25", "2/16000/25:1/25/late"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "black", "2:25...49"])
    }

    @Test func whatCannotBeOpenedIsPassedOverWithoutAPictureBetween() {
        let queue = queue(items(["nothing", "1/8000/25:1/25", "nothing", "2/8000/25:1/25"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...24", "2:0...24"])
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.holes == 0)
    }

    // MARK: Transport

    @Test func aStartIsHeldUntilItsFirstPictureIsThere() {
        let queue = queue(items(["1/16000/25:1/50"]))
        queue.picturesMove = false
        queue.run(for: .seconds(1))
        #expect(queue.state.phase == .buffering)
        #expect(queue.heard.isEmpty)
        queue.picturesMove = true
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(5)))
        #expect(queue.pictureRuns == ["1:0...49"])
        #expect(queue.strangers(every: Self.film) == [])
    }

    @Test func aStartWaitsForTheFirstPictureAndAJumpShowsTheVeryPicture() throws {
        let all = items(["1/80000/25:1/250", "2/80000/24000:1001/240"])
        let queue = queue(all)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        #expect(queue.shown.count == 1)
        queue.run(for: .seconds(1))
        let before = queue.shown.count
        // In the middle of frame 100 of the second item.
        let target = Self.cinema * 100 + MediaTime(value: 1, timescale: 100)
        queue.core.jump(to: all[1].id, at: target)
        queue.run(for: .seconds(1))
        let picture = queue.shown[before]
        #expect((picture.item, picture.number) == (2, 100))
        #expect(!picture.isMoving)
        #expect(queue.shown[before + 1].number == 101)
        #expect(queue.strangers(every: Self.cinema).filter { $0.hasPrefix("2:") } == [])
        queue.core.skip()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(5)))
    }

    @Test func aPauseHoldsThePictureAndAnEditMeanwhileIsExact() throws {
        let all = items(["1/16000/25:1/50", "2/16000/25:1/50", "3/8000/25:1/25"])
        let queue = queue(all)
        run(queue, to: 1.7)
        queue.core.pause()
        queue.run(for: .milliseconds(400))
        let held = queue.shown.count
        queue.run(for: .seconds(2))
        #expect(queue.shown.count == held)
        #expect(queue.edit(.remove(all[1].id)) == .seamless)
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(queue.pictureRuns == ["1:0...49", "3:0...24"])
        #expect(queue.strangers(every: Self.film) == [])
    }

    @Test func anInterfaceReceivesTheShownItemAndItsDuration() {
        let queue = queue(items(["1/8000/25:1/25/stated", "2/8000"]))
        run(queue, to: 0.3)
        #expect(queue.state.hasVideo)
        #expect(queue.state.displayedVideoFormat?.size == PixelSize(width: 16, height: 16))
        #expect(queue.state.duration == MediaTime(value: 1, timescale: 1))
        run(queue, to: 1.5)
        #expect(!queue.state.hasVideo)
        #expect(queue.state.displayedVideoFormat == nil)
        #expect(queue.state.duration == MediaTime(value: 1, timescale: 1))
    }

    @Test func anInterfaceReceivesTheSizeOfTheShownFramesWhereItChangesInAFilm() {
        let queue = queue(items(["1/16000/25:1/50/grows"]))
        run(queue, to: 0.2)
        #expect(queue.state.displayedVideoFormat?.size == PixelSize(width: 16, height: 16))
        run(queue, to: 1.2)
        #expect(queue.state.displayedVideoFormat?.size == PixelSize(width: 32, height: 32))
    }

    @Test func withoutPicturesNothingIsShownAndWhatHasNoSoundIsPassedOver() {
        var options = PlayerOptions()
        options.playsVideo = false
        let queue = queue(items(["1/8000/25:1/38", "2/none/25:1/25", "3/8000"]), options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(queue.shown.isEmpty)
        #expect(said(queue) == ["1:0..<8000", "3:0..<8000"])
        #expect(queue.holes == 0)
    }
}
