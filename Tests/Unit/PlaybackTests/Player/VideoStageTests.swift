import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Packets that wait for the decoder while a layer is full: boundaries, seeks, bounds and reports. No thread, no
/// screen; each frame is taken as soon as it is enqueued, or none.
@Suite struct VideoStageTests {
    private static let frame = MediaTime(value: 1, timescale: 25)

    private final class VideoStageFixture {
        let list = SharedPlaybackList()
        let layer = DisplayLayer(depth: 8)
        let intake = TrackIntake(clock: ManualClock())
        let source: ReorderedSource
        let decoder = ReorderingDecoder()
        let serial: Int
        private let stage: VideoStage
        /// The numbers of the frames that were taken.
        private(set) var shown: [Int] = []
        private(set) var hasEnded = false

        init(_ source: ReorderedSource, _ edit: (inout PlaybackList.ScheduledItem) -> Void = { _ in }) throws {
            self.source = source
            let film = CountedFilm(1, frameCount: source.count, audioFrameCount: 0)
            var list = PlaybackList()
            _ = list.apply(.append([QueueItem("film")]))
            serial = list.newSerial()
            var entry = PlaybackList.ScheduledItem(
                serial: serial, listPosition: try #require(list.firstPosition()), media: PrefetchedMedia(film),
                audioTrack: nil, videoTrack: source.track)
            edit(&entry)
            list.begin(with: entry)
            let made = list
            self.list.restart { $0 = made }
            let reader = VideoReader(film: film, source: source, decoder: decoder)
            stage = VideoStage(
                VideoStage.Setting(
                    list: self.list, layer: layer, progress: ProgressGate(signal: Signal()), intake: intake,
                    open: { [reader] (_, _) throws(MediaError) in reader }),
                reader: reader)
            try seek(to: 0)
        }

        var entry: PlaybackList.ScheduledItem { get throws { try #require(list.entry(serial)) } }

        func seek(to number: Int) throws {
            intake.restart()
            #expect(try stage.seek(to: frame * Int64(number), aim: .exact) == frame * Int64(number))
            (shown, hasEnded) = ([], false)
        }

        /// Steps until the stage waits.
        func fill() throws {
            for _ in 0..<10_000 {
                switch try stage.step() {
                case .moved: continue
                case .full: return
                case .ended: return hasEnded = true
                }
            }
            Issue.record("the stage never waits")
        }

        /// Fills the layer, and reads packets up to a frame although it is full.
        func readAhead(to number: Int) throws {
            try fill()
            intake.setReserve(until: frame * Int64(number))
            try fill()
        }

        /// Takes frames and steps until the stage waits without frames.
        func play() throws {
            repeat {
                while let next = layer.nextTime, let picture = layer.dequeueFrame(upTo: next).frame?.videoFrame {
                    shown.append((picture as? NumberedFrame)?.number ?? -1)
                }
                try fill()
            } while layer.count > 0
        }

        func end(at number: Int64) {
            list.update { list in
                list.change(serial) { ($0.isCut, $0.cutEnd) = (true, frame * number) }
            }
            cut()
        }

        func cut() { stage.cut(after: serial) }
    }

    private func rig(_ count: Int = 202) throws -> VideoStageFixture { try VideoStageFixture(ReorderedSource(count)) }

    @Test func allFramesAreShownInOrder() throws {
        let rig = try rig()
        try rig.readAhead(to: 75)
        #expect((rig.intake.report.readUntil ?? .zero) >= Self.frame * 75)
        try rig.play()
        #expect(rig.hasEnded && rig.shown == Array(0..<202))
        #expect(try rig.entry.videoEnd == .at(Self.frame * 202) && !rig.entry.losses.isDamaged)
    }

    /// The frames before the boundary depend on one after it.
    @Test(arguments: [24, 25, 26, 27]) func aBoundaryThatMovesBeforeQueuedPacketsKeepsAllFramesBeforeIt(end: Int) throws
    {
        let rig = try rig()
        try rig.readAhead(to: 75)
        rig.end(at: Int64(end))
        try rig.play()
        #expect(rig.hasEnded && rig.shown == Array(0..<end))
        #expect(rig.decoder.decodeErrorCount == 0)
        #expect(try rig.entry.videoEnd == .at(Self.frame * Int64(end)))
    }

    @Test func aBoundaryMayMoveBackAgainBeforeItIsReached() throws {
        let rig = try rig()
        try rig.readAhead(to: 75)
        rig.end(at: 25)
        rig.end(at: 50)
        try rig.play()
        #expect(rig.hasEnded && rig.shown == Array(0..<50))
    }

    /// Within the frames that wait at the screen: the last one is shortened.
    @Test func aBoundaryWithinTheEnqueuedFramesRemovesThoseAfterIt() throws {
        let rig = try rig()
        try rig.readAhead(to: 75)
        rig.list.update { list in
            list.change(rig.serial) {
                ($0.isCut, $0.cutEnd) = (true, Self.frame * 3 + MediaTime(value: 1, timescale: 100))
            }
        }
        rig.cut()
        #expect(rig.layer.waitingTimes == (0...3).map { Self.frame * $0 })
        try rig.play()
        #expect(rig.hasEnded && rig.shown == [0, 1, 2, 3])
        #expect(rig.layer.shownEnd == Self.frame * 3 + MediaTime(value: 1, timescale: 100))
    }

    @Test(arguments: [9, 10, 11, 12]) func aSectionEndsAtItsLimitAlsoWithReorderedFrames(end: Int) throws {
        let rig = try VideoStageFixture(ReorderedSource(202)) { $0.begin(from: .zero, until: Self.frame * Int64(end)) }
        try rig.readAhead(to: 75)
        try rig.play()
        #expect(rig.hasEnded && rig.shown == Array(0..<end))
        #expect(rig.decoder.decodeErrorCount == 0)
    }

    @Test func anExactSeekForwardDecodesTheQueuedPacketsAndReadsNothingAgain() throws {
        let rig = try VideoStageFixture(ReorderedSource(202, syncInterval: 48))
        try rig.readAhead(to: 75)
        let (seeks, reads) = (rig.source.seeks, rig.source.reads)
        try rig.seek(to: 40)
        try rig.fill()
        #expect(rig.source.seeks == seeks && rig.source.reads == reads, "from the queued packets")
        #expect(rig.decoder.flushes == 1)
        try rig.play()
        #expect(rig.shown == Array(40..<202))
        #expect(rig.source.reads == 202, "no packet twice")
    }

    @Test func aSeekThatCannotBeDecodedForwardDropsTheQueuedPackets() throws {
        let rig = try VideoStageFixture(ReorderedSource(202, syncInterval: 48))
        try rig.readAhead(to: 75)
        try rig.seek(to: 100)
        #expect(rig.intake.report.readUntil == nil)
        try rig.play()
        #expect(rig.shown == Array(100..<202))
    }

    // MARK: Bounds

    /// With about 20 KB for each packet besides its bytes.
    @Test(arguments: [(1 << 20, 32), (100, 1631)])
    func packetsAreReadAheadUpToThirtyTwoMegabytes(bytes: Int, packets: Int) throws {
        let rig = try VideoStageFixture(ReorderedSource(2002, bytes: bytes))
        try rig.fill()
        let before = rig.source.reads
        try rig.readAhead(to: 1990)
        #expect(rig.source.reads - before == packets && rig.intake.report.isSated)
        try rig.play()
        #expect(rig.shown == Array(0..<2002))
    }

    @Test func nothingIsReadAheadWithoutAReserve() throws {
        let rig = try rig()
        try rig.fill()
        #expect(rig.layer.count == 8 && rig.source.reads <= 12)
        let reads = rig.source.reads
        try rig.fill()
        #expect(rig.source.reads == reads)
    }

    @Test func anErrorThatEndsTheReadAheadIsRecordedAfterTheFramesBeforeIt() throws {
        let rig = try rig()
        rig.source.fails(at: 49, with: MediaError(.readFailed, "the disk is gone"))
        try rig.readAhead(to: 75)
        #expect(try rig.entry.losses.failures.isEmpty && rig.intake.report.isSated)
        try rig.play()
        let failure = try #require(try rig.entry.losses.failures.first)
        #expect(failure.error.code == .readFailed && failure.position == Self.frame * 49)
        #expect(rig.hasEnded && rig.shown == Array(0..<49))
    }

    // MARK: Reports

    @Test func damagedPacketsAreRecordedAtTheEnd() throws {
        let rig = try rig()
        rig.decoder.damaged = [4, 5]
        try rig.play()
        #expect(rig.shown == Array(0..<202).filter { $0 != 4 && $0 != 5 })
        #expect(try rig.entry.losses.isDamaged && rig.entry.losses.failures.isEmpty)
    }

    @Test func aTrackOfWhichNothingCanBeDecodedIsAFailure() throws {
        let rig = try rig()
        rig.decoder.damaged = Set(0..<202)
        try rig.play()
        #expect(rig.hasEnded && rig.shown.isEmpty)
        #expect(try rig.entry.losses.failures.map(\.error.code) == [.damagedPacket])
    }

    @Test func aFormatThatCannotBeDecodedEndsTheTrackAfterItsFrames() throws {
        let rig = try rig()
        rig.decoder.refusedFrom = 24
        try rig.readAhead(to: 75)
        try rig.play()
        let failure = try #require(try rig.entry.losses.failures.first)
        #expect(failure.error.code == .unsupported && failure.position == Self.frame * 22)
        #expect(rig.hasEnded && rig.shown == Array(0..<22))
    }
}

private let frame = MediaTime(value: 1, timescale: 25)

/// Packets of I, P and B-frames in decoding order: 0, 3, 1, 2, 6, 4, 5 …
private final class ReorderedSource: SampleSource, @unchecked Sendable {
    let track: Track
    let count: Int
    private let syncInterval: Int
    private let bytes: Int
    private let order: [Int]
    private var next = 0
    private var failure: (number: Int, error: MediaError)?
    private(set) var reads = 0
    private(set) var seeks = 0

    init(_ count: Int, syncInterval: Int = 12, bytes: Int = 100) {
        (self.count, self.syncInterval, self.bytes) = (count, syncInterval, bytes)
        var order: [Int] = [0]
        for number in 1..<count {
            // A reference frame precedes the two before it; the last ones may lack theirs.
            let group = (number - 1) / 3 * 3
            let reference = group + 3
            if reference < count {
                order.append(number == group + 1 ? reference : number - 1)
            } else {
                order.append(number)
            }
        }
        self.order = order
        let format = VideoFormat(
            parameters: CodecParameters(codec: "reordered"), size: PixelSize(width: 16, height: 16))
        track = Track(id: 0, number: 1, format: .video(format), duration: frame * Int64(count))
    }

    /// Lets the reading fail at a frame in decoding order.
    func fails(at number: Int, with error: MediaError) { failure = (number, error) }

    func read() throws(MediaError) -> SampleBuffer? {
        guard next < count, let format = track.videoFormat else { return nil }
        if let failure, next == failure.number { throw failure.error }
        let number = order[next]
        next += 1
        reads += 1
        let time = frame * Int64(number)
        let batch = PacketBatch(reservingBytes: bytes, packets: 1)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 8)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        batch.append(
            UnsafeRawBufferPointer(memory), as: PacketBatch.Packet(presentationTime: time, duration: frame))
        return SampleBuffer(
            payload: .encodedVideo(format, batch), presentationTime: time, duration: frame,
            flags: number % syncInterval == 0 ? .sync : [])
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        seeks += 1
        let sync = number(before: time)
        next = order.firstIndex(of: sync) ?? 0
        return frame * Int64(sync)
    }

    func syncTime(before time: MediaTime) -> MediaTime? { frame * Int64(number(before: time)) }
    private func number(before time: MediaTime) -> Int {
        Int(time.seconds / frame.seconds + 1e-9) / syncInterval * syncInterval
    }
    func cancel() {}
}

/// Decodes `ReorderedSource` and counts a frame whose reference is missing as damaged.
private final class ReorderingDecoder: VideoFrameDecoder {
    /// Frames whose packets are damaged.
    var damaged: Set<Int> = []
    /// The first frame of a format that cannot be decoded.
    var refusedFrom = Int.max
    private(set) var flushes = 0
    private(set) var decodeErrorCount = 0
    var skipPolicy = SkipPolicy.full
    private var held: (number: Int, frame: SampleBuffer)?
    private var ready: [SampleBuffer] = []
    private var showFrom: MediaTime?

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        guard let time = buffer.presentationTime else { return }
        let number = Int((time.seconds / frame.seconds).rounded())
        if number >= refusedFrom { throw MediaError(.unsupported, "no decoder for this format") }
        if damaged.contains(number) { return decodeErrorCount += 1 }
        let picture = NumberedFrame.buffer(number, every: frame)
        if number % 3 == 0 {
            release()
            held = (number, picture)
        } else if held.map({ $0.number < number || $0.number - number < 3 }) ?? false {
            output(picture)
        } else if showFrom == nil {
            decodeErrorCount += 1
        }
    }

    private func release() { if let frame = held.take()?.frame { output(frame) } }

    private func output(_ picture: SampleBuffer) {
        if let showFrom, let end = picture.end, end <= showFrom { return }
        showFrom = nil
        ready.append(picture)
    }

    func finish() { release() }
    func receive() -> SampleBuffer? { ready.isEmpty ? nil : ready.removeFirst() }
    func flush() {
        flushes += 1
        (held, showFrom) = (nil, nil)
        ready.removeAll()
    }
    func dropFrames(before time: MediaTime) { showFrom = time }
    func skipForward(to time: MediaTime) -> Bool {
        dropFrames(before: time)
        return true
    }
}
