import MediaCodecs
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Films that arrive more slowly than they play: film time is held, and nothing is lost.
@Suite struct BufferingTests {
    private static let film = MediaTime(value: 1, timescale: 25)

    private func queue(_ films: String..., arrivingAt rate: Double, _ change: (inout PlayerOptions) -> Void = { _ in })
        -> VirtualQueue
    {
        var options = PlayerOptions()
        change(&options)
        let queue = VirtualQueue(options, arrivingAt: rate)
        // The depth of a sound card.
        queue.card.desiredDepth = .seconds(1)
        queue.core.apply(.append(films.map { QueueItem($0) }))
        queue.core.play()
        return queue
    }

    private func holds(_ queue: VirtualQueue) -> Int {
        queue.playerEvents.withLock { $0.count { if case .phase(.buffering) = $0 { true } else { false } } } - 1
    }

    /// Returns true if every frame of an item's audio was audible once and in order, except the five milliseconds that
    /// a card plays after a stop.
    private func isWhole(_ queue: VirtualQueue, _ frames: Int64, of item: Int = 1) -> Bool {
        let all = queue.stretches.filter { $0.sound == item }
        let seams = zip(all, all.dropFirst()).allSatisfy {
            (-48...0).contains($1.frames.lowerBound - $0.frames.upperBound)
        }
        return seams && all.first?.frames.lowerBound == 0 && all.last?.frames.upperBound == frames
    }

    /// Runs until a phase is reached; returns the reasons that were reported on the way, or nil on timeout.
    private func run(_ queue: VirtualQueue, until phase: PlayerState.Phase, atMost limit: Duration) -> [String]? {
        var reasons: [String] = []
        let end = queue.clock.now.advanced(by: limit)
        while queue.phase != phase {
            if queue.clock.now >= end { return nil }
            queue.run(for: .milliseconds(20))
            if let reason = queue.state.reason, reasons.last != reason { reasons.append(reason) }
        }
        return reasons
    }

    // MARK: Slow arrival

    @Test(arguments: [0.25, 0.5, 0.9])
    func aFilmThatArrivesTooSlowlyIsHeldAndEverySampleAndFrameIsPerceivedOnce(rate: Double) throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: rate)
        let reasons = try #require(run(queue, until: .ended, atMost: .seconds(60)))
        #expect(isWhole(queue, 80000), "\(queue.stretches)")
        #expect(queue.pictureRuns == ["1:0...249"])
        #expect(queue.strangers(every: Self.film) == [])
        #expect(queue.dropped == 0 && queue.underruns == 0)
        #expect(reasons.contains { $0.hasPrefix("Waiting for the file: ") && $0.hasSuffix(" %") }, "\(reasons)")
        #expect((1...6).contains(holds(queue)), "\(holds(queue)) holds")
    }

    @Test func aFilmThatArrivesFasterThanItPlaysIsNeverHeld() {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 1.2)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(holds(queue) == 0)
        #expect(isWhole(queue, 80000), "\(queue.stretches)")
    }

    @Test func theShareOfWhatIsCollectedGrowsAndTheFilmContinuesWithASecondInReserve() throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 3)
        queue.run(for: .seconds(2))
        #expect(queue.phase == .playing)
        queue.network.rate = 0.25
        _ = try #require(run(queue, until: .buffering, atMost: .seconds(5)))
        let (place, began) = (queue.synchronizer.currentTime(), queue.clock.now)
        var shares: [Double] = []
        while queue.phase == .buffering, queue.clock.now - began < .seconds(10) {
            queue.run(for: .milliseconds(100))
            if let share = queue.state.bufferingProgress { shares.append(share) }
        }
        #expect(queue.phase == .playing && queue.state.bufferingProgress == nil && queue.state.reason == nil)
        #expect(shares == shares.sorted() && Set(shares).count > 10, "\(shares)")
        #expect(queue.synchronizer.currentTime() - place < Self.film * 5)
        // A second of film at a quarter of its rate.
        let waited = (queue.clock.now - began).inSeconds
        #expect((3.2...4.5).contains(waited), "\(waited) s")
        #expect(queue.state.position > .zero)
    }

    @Test func aServerThatIsAwayForSixSecondsCostsSixSecondsAndNoSample() throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 3)
        queue.run(for: .seconds(3))
        queue.network.rate = 0
        _ = try #require(run(queue, until: .buffering, atMost: .seconds(2)))
        queue.run(for: .seconds(6))
        #expect(queue.phase == .buffering)
        #expect(queue.synchronizer.effectiveRate == 0)
        queue.network.rate = 3
        let began = queue.clock.now
        _ = try #require(run(queue, until: .playing, atMost: .seconds(2)))
        #expect(queue.clock.now - began < .milliseconds(600))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(isWhole(queue, 80000), "\(queue.stretches)")
        #expect(queue.pictureRuns == ["1:0...249"])
        #expect(queue.strangers(every: Self.film) == [] && queue.dropped == 0 && queue.underruns == 0)
        #expect(holds(queue) == 1)
    }

    @Test func atTwiceItsSpeedAFilmNeedsTwiceItsRate() throws {
        for (rate, isHeld) in [(1.5, true), (2.4, false)] {
            let queue = queue("1/80000/25:1/250/slow", arrivingAt: rate) { $0.speed = 2 }
            #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
            #expect(queue.pictureRuns == ["1:0...249"])
            // The first start needs no reserve of a second.
            #expect((holds(queue) > 1) == isHeld, "\(holds(queue)) holds at \(rate)")
            #expect(queue.dropped == 0 && queue.underruns == 0)
        }
    }

    @Test func aFilmOfPicturesAloneAndOneOfSoundAloneAreHeld() throws {
        for film in ["1/none/25:1/100/slow", "1/32000/cover/slow"] {
            let queue = queue(film, arrivingAt: 0.5)
            #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
            #expect(holds(queue) > 0)
            if film.contains("none") {
                #expect(queue.pictureRuns == ["1:0...99"])
            } else {
                #expect(isWhole(queue, 32000), "\(queue.stretches)")
            }
            #expect(queue.underruns == 0)
        }
    }

    // MARK: No hold

    @Test(arguments: ["1/80000/cover/slow", "1/80000/1:3/4/slow", "1/80000/25:1/50/slow", "1/16000/25:1/250/slow"])
    func stillsFewPicturesAndTracksThatEndEarlyHoldNothing(film: String) {
        let queue = queue(film, arrivingAt: 1.2)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(holds(queue) == 0)
        #expect(queue.stretches.count == 1)
    }

    @Test func aJointOfFilmsThatArriveInTimeHoldsNothing() {
        let queue = queue("1/24000/25:1/75/slow", "2/24000/25:1/75/slow", arrivingAt: 2)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(holds(queue) == 0 && queue.newStarts == 0)
        #expect(queue.stretches.map(\.description) == ["1:0..<24000", "2:0..<24000"])
        #expect(queue.holes == 0)
    }

    @Test func filmsThatArriveTooSlowlyFollowOneAnotherWithoutALoss() {
        let queue = queue("1/24000/25:1/75/slow", "2/24000/25:1/75/slow", arrivingAt: 0.6)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(40)))
        #expect(isWhole(queue, 24000) && isWhole(queue, 24000, of: 2), "\(queue.stretches)")
        #expect(queue.pictureRuns == ["1:0...74", "2:0...74"])
        #expect(queue.dropped == 0 && queue.underruns == 0)
    }

    @Test func picturesThatADecoderIsTooSlowForHoldNothing() {
        let queue = queue("1/80000/25:1/250", arrivingAt: 1)
        queue.run(for: .seconds(2))
        queue.picturesMove = false
        queue.run(for: .seconds(2))
        #expect(queue.phase == .playing && holds(queue) == 0)
    }

    // MARK: User actions

    @Test func aPauseWhileTheFilmIsHeldStaysOneAndPlayingWaitsForTheRest() throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 3)
        queue.run(for: .seconds(2))
        queue.network.rate = 0
        _ = try #require(run(queue, until: .buffering, atMost: .seconds(2)))
        queue.core.pause()
        queue.run(for: .milliseconds(100))
        #expect(queue.phase == .paused)
        queue.core.play()
        queue.run(for: .milliseconds(200))
        #expect(queue.phase == .buffering && queue.state.bufferingProgress != nil)
        queue.core.pause()
        queue.network.rate = 3
        queue.run(for: .seconds(3))
        #expect(queue.phase == .paused)
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(isWhole(queue, 80000), "\(queue.stretches)")
        #expect(queue.pictureRuns == ["1:0...249"])
        #expect(queue.dropped == 0 && queue.underruns == 0)
    }

    @Test func aSeekWhileTheFilmIsHeldGoesThereAndSaysWhatItWaitsFor() throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 3)
        queue.run(for: .seconds(2))
        queue.network.rate = 0.25
        _ = try #require(run(queue, until: .buffering, atMost: .seconds(3)))
        let before = queue.shown.count
        queue.network.rate = 0
        queue.core.seek(to: Self.film * 150, exact: true)
        queue.run(for: .milliseconds(600))
        #expect(queue.state.reason == "Waiting for the file: 0 %")
        queue.network.rate = 0.25
        #expect(run(queue, until: .playing, atMost: .seconds(20)) != nil)
        #expect(queue.shown[before].number == 150)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(60)))
        #expect(queue.shown.last?.number == 249 && queue.dropped == 0 && queue.underruns == 0)
        #expect(queue.stretches.last?.frames.upperBound == 80000)
    }

    @Test func aChangeOfSpeedWhileTheFilmIsHeldReadsNothingAgain() throws {
        let queue = queue("1/80000/25:1/250/slow", arrivingAt: 3)
        queue.run(for: .seconds(2))
        queue.network.rate = 0
        _ = try #require(run(queue, until: .buffering, atMost: .seconds(2)))
        queue.core.setSpeed(1.5)
        queue.run(for: .seconds(1))
        #expect(queue.phase == .buffering)
        queue.network.rate = 3
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.pictureRuns == ["1:0...249"] && queue.dropped == 0)
    }

    // MARK: Speakers with minutes of buffer

    @Test func aSpeakerThatHoldsTheSoundWaitsForThePictureAndIsSentNothingTwice() {
        let clock = ManualClock()
        let network = SlowNetwork(clock, rate: 0.5)
        let film = SlowFilm(CountedFilm(1, frameCount: 150, audioFrameCount: 288_000), network, [.video])
        let programme = VirtualProgramme(["film": film], first: "film", depth: .seconds(60), clock: clock)
        programme.runners = PipelineRunners()
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(30)))
        #expect(programme.numbers == (0..<150).map { 1_000_000 + $0 })
        #expect(programme.tape.doubled == 0 && programme.tape.takes.isEmpty && programme.tape.blanks == 0)
        #expect(programme.dropped == 0)
        #expect(programme.playerEvents.contains { if case .phase(.buffering) = $0 { true } else { false } })
    }

    @Test func whileItWaitsForThePictureNoMoreCountsAsReadThanThePicture() throws {
        let clock = ManualClock()
        let network = SlowNetwork(clock, rate: 0.5)
        let film = SlowFilm(CountedFilm(1, frameCount: 150, audioFrameCount: 288_000), network, [.video])
        let programme = VirtualProgramme(["film": film], first: "film", depth: .seconds(60), clock: clock)
        programme.runners = PipelineRunners()
        // The first wait is that of the start.
        try #require(programme.run(untilPhase: .playing, atMost: .seconds(5)))
        try #require(programme.run(untilPhase: .buffering, atMost: .seconds(5)))
        let state = programme.state
        #expect((state.handedUntil?.seconds ?? 0) > 5.9, "the speaker holds all of the sound")
        #expect((state.loadedUntil?.seconds ?? 9) < state.position.seconds + 0.5)
    }

    @Test(arguments: ["1/80000/cover", "1/80000/25:1/25"])
    func aTrackThatIsReadToItsEndDoesNotLimitHowFarTheFilmIsRead(film: String) {
        let queue = queue(film, arrivingAt: 1)
        queue.run(for: .seconds(2))
        #expect((queue.state.loadedUntil?.seconds ?? 0) > 2.5, "as far as its sound")
    }

    // MARK: Sources without progress

    /// Returns the number of pictures of a track that was asked 5,000 times to read ahead.
    private func picturesReadAhead(_ film: CountedFilm, repeats: Bool, strayTime: Bool = false) throws -> Int {
        let source = RepeatingSource(try film.source(for: try #require(film.summary.track(.video))))
        source.strayTime.withLock { $0 = strayTime ? MediaTime(value: 3600, timescale: 1) : nil }
        source.repeats.withLock { $0 = repeats }
        let reader = VideoReader(film: film, source: source, decoder: CountedVideoDecoder())
        let intake = TrackIntake(clock: ManualClock())
        for _ in 0..<5000 {
            let hasRead = try reader.read(noting: intake)
            if repeats { #expect(hasRead, "the reserve is not complete") }
        }
        source.repeats.withLock { $0 = false }
        var count = 0
        while try reader.nextFrame() != nil { count += 1 }
        return count
    }

    @Test func aSourceThatRepeatsItsBeginningForeverIsReadAheadWithinABound() throws {
        let count = try picturesReadAhead(CountedFilm(1, frameCount: 25, audioFrameCount: 0), repeats: true)
        #expect((265...300).contains(count))
    }

    @Test func nothingOfAFilmThatAdvancesIsDroppedWhileItIsReadAhead() throws {
        #expect(try picturesReadAhead(CountedFilm(1, frameCount: 2000, audioFrameCount: 0), repeats: false) == 2000)
    }

    @Test func aFrameWithAWrongTimeDoesNotMakeThoseAfterItRepeats() throws {
        let film = CountedFilm(1, frameCount: 2000, audioFrameCount: 0)
        #expect(try picturesReadAhead(film, repeats: false, strayTime: true) == 2000)
    }

    @Test func aSourceThatRepeatsItsBeginningForeverFillsNoQueue() throws {
        let film = CountedFilm(1, frameCount: 0, audioFrameCount: 12_000)
        let track = try #require(film.summary.track(.audio))
        var list = PlaybackList()
        _ = list.apply(.append([QueueItem("film")]))
        let entry = PlaybackList.ScheduledItem(
            serial: list.newSerial(), listPosition: try #require(list.firstPosition()), media: PrefetchedMedia(film),
            audioTrack: track, videoTrack: nil)
        list.begin(with: entry)
        let shared = SharedPlaybackList()
        shared.restart { $0 = list }
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: EventLog(clock: clock))
        #expect(synchronizer.addRenderer(renderer) == nil)
        let intake = TrackIntake(clock: clock)
        let stage = AudioStage(
            list: shared, renderer: renderer, entry: entry,
            source: RepeatingSource(try film.source(for: track)), intake: intake)
        _ = try stage.seek(to: .zero, aim: .exact)
        // More than the source has, as during a hold.
        intake.setReserve(until: MediaTime(value: 1, timescale: 1))
        for _ in 0..<5000 { _ = try stage.step() }
        #expect(renderer.store.level.count < 200)
        #expect(intake.report.readUntil == MediaTime(value: 1, timescale: 4))
    }
}

/// Starts again whenever it has ended, as a demuxer may in a damaged file.
private final class RepeatingSource: SampleSource {
    let track: Track
    let repeats = Lock(true)
    /// The time of the next packet instead of its own; nil: its own.
    let strayTime = Lock<MediaTime?>(nil)
    private let source: any SampleSource

    init(_ source: any SampleSource) { (track, self.source) = (source.track, source) }

    func read() throws(MediaError) -> SampleBuffer? {
        if var buffer = try source.read() {
            buffer.presentationTime = strayTime.withLock { $0.take() } ?? buffer.presentationTime
            return buffer
        }
        guard repeats.withLock({ $0 }) else { return nil }
        _ = try source.seek(to: .zero, mode: .syncBefore)
        return try source.read()
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        try source.seek(to: time, mode: mode)
    }

    func cancel() { source.cancel() }
}

/// The size of the reserve, and when it is sufficient.
@Suite struct BufferingPolicyTests {
    private let now = HostInstant(nanoseconds: 1_000_000_000_000)
    private func seconds(_ value: Double) -> MediaTime { MediaTime(seconds: value) }

    private func supply(_ tracks: BufferedSupply.Track..., end: MediaTime? = nil, speed: Double = 1) -> BufferedSupply {
        var supply = BufferedSupply(at: seconds(10), speed: speed, reserve: .seconds(1), end: end)
        for track in tracks { supply.add(track) }
        return supply
    }

    private func track(_ handed: Double?, read: Double?, waits: Bool = true) -> BufferedSupply.Track {
        BufferedSupply.Track(
            handedUntil: handed.map(seconds), readUntil: read.map(seconds), isWaitingForSource: waits,
            margin: .milliseconds(100))
    }

    @Test func aTrackIsStarvedWhenItsSourceGivesNothingAndItsMaterialEndsWithinTheMargin() {
        #expect(supply(track(10.09, read: 10.09)).isStarved)
        #expect(!supply(track(10.11, read: 10.11)).isStarved)
        #expect(!supply(track(10.09, read: 10.09, waits: false)).isStarved, "a slow decoder")
        #expect(!supply(track(nil, read: nil)).isStarved, "sound that begins later")
        #expect(!supply(track(10.09, read: 10.09), end: seconds(10.1)).isStarved, "the film ends there")
        #expect(supply(track(10.09, read: 10.09), end: seconds(9)).isStarved, "the film does not end there")
        #expect(supply(track(10.15, read: 10.15), speed: 2).isStarved)
        #expect(supply(track(10.5, read: 10.5)).untilDry == .milliseconds(400))
    }

    @Test func theTrackThatHasLeastDecides() {
        #expect(abs(supply(track(10.2, read: 10.4), track(10.2, read: 10.9)).share - 0.4) < 1e-9)
        #expect(supply(track(10.2, read: 11.5), end: nil).share == 1)
        #expect(supply(track(10.2, read: 10.4), end: seconds(10.42)).share == 1)
        #expect(abs(supply(track(10.2, read: 10.5), speed: 2).share - 0.25) < 1e-9)
        #expect(supply(track(nil, read: nil)).share == 0)
        #expect(supply().share == 1)
    }

    @Test func aSilentTrackIsDistinguished() {
        var silent = track(10, read: 10)
        silent.isSilent = true
        #expect(supply(silent, track(10.3, read: 11.2)).shareOfOthers == 1)
        #expect(supply(silent).shareOfOthers == nil)
    }

    @Test func holdsThatFollowOneAnotherCollectMoreUpToFourSeconds() {
        var policy = BufferingPolicy()
        var (now, reserves) = (now, [Duration]())
        for _ in 0..<4 {
            policy.hold(at: now)
            reserves.append(policy.reserve)
            #expect(!policy.release(share: 0.99, at: now) && policy.isHolding)
            #expect(policy.release(share: 1, at: now) && !policy.isHolding)
            now = now.advanced(by: .seconds(5))
        }
        #expect(reserves == [.seconds(1), .seconds(2), .seconds(4), .seconds(4)])
        policy.hold(at: now.advanced(by: .seconds(60)))
        #expect(policy.reserve == .seconds(1))
    }
}
