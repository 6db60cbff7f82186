import AirPlayWire
import MediaCore
import PTP
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct StreamInputTests {
    private let store = PacketStore(bytes: 4096, packets: 64)

    private func input(
        _ format: StreamFormat = .lossless48000, isPassThrough: Bool = false, speed: Double = 1
    ) -> StreamInput {
        StreamInput(
            format: format, store: store, first: RTPTimestamp(rawValue: 1000), isPassThrough: isPassThrough,
            speed: speed)
    }

    /// Contiguous packets of one byte each.
    ///
    /// - Parameter speed: Media seconds per second of audio.
    private func packets(_ count: Int, from first: Int = 0, frames: Int = 352, speed: Int64 = 1) -> PacketBatch {
        let batch = PacketBatch(reservingBytes: count, packets: count)
        let length = MediaTime(value: Int64(frames) * speed, timescale: 48_000)
        for index in 0..<count {
            [UInt8(index)].withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(
                        presentationTime: length * Int64(first + index), duration: length))
            }
        }
        return batch
    }

    @Test func acceptedAudioIsMeasuredInMediaTimeAtDoubleSpeed() {
        var input = input(speed: 2)
        _ = input.accept(packets(30, speed: 2), from: 0, position: nil)
        _ = input.accept(packets(30, from: 30, speed: 2), from: 0, position: nil)
        let media = 2 * Double(60 * 352) / 48_000
        #expect(abs((input.acceptedUntil ?? .zero).seconds - media) < 1e-6)
        // After a seek, from its packets on.
        _ = input.flush()
        _ = input.accept(packets(1, from: 500, speed: 2), from: 0, position: nil)
        #expect(abs((input.acceptedUntil ?? .zero).seconds - Double(1000 * 352 + 2 * 352) / 48_000) < 1e-6)
    }

    /// A conversion that is no longer shared continues with an encoder of its own, whose delay is one packet of AAC.
    @Test(arguments: [1, 2] as [Int64]) func anEncoderThatBeginsAgainInMidStreamShiftsNothing(speed: Int64) {
        let (frames, store) = (1024, PacketStore(bytes: 4096, packets: 64))
        var input = StreamInput(
            format: .aac48000, store: store, first: RTPTimestamp(rawValue: 1000), isPassThrough: false,
            speed: Double(speed))
        // The delay, and packets 0 to 8.
        _ = input.accept(packets(10, from: -1, frames: frames, speed: speed), from: 0, position: nil)
        // Another encoder from packet 9 on.
        let next = packets(5, from: 8, frames: frames, speed: speed)
        #expect(input.accept(next, from: 0, position: nil).taken == 5)
        var out: [UInt8] = []
        var sent: [Int] = []
        while let timestamp = store.removeNext(into: &out) {
            sent.append(Int(RTPTimestamp(rawValue: 1000).distance(to: timestamp)))
        }
        // A silent packet first, then the delay at the stream's first timestamp.
        #expect(sent == (-1...13).map { $0 * frames })
        let time = MediaTime(value: Int64(9 * frames) * speed, timescale: 48_000)
        #expect(
            input.timestampOnWire(audibleAt: time)
                == RTPTimestamp(rawValue: 1000).advanced(byFrames: Int64(10 * frames)))
    }

    @Test func whatIsAcceptedReachesAsFarAsItsPacketsAndHalfASecondSufficesForAStart() {
        var input = input()
        #expect(input.isEmpty && input.acceptedUntil == nil && !input.isStartable)
        let first = input.accept(packets(60), from: 0, position: nil)
        #expect(first == (60, false))
        #expect(input.acceptedUntil == MediaTime(value: 60 * 352, timescale: 48_000))
        input.finish()
        #expect(input.isStartable, "no more follows")
        #expect(input.accept(packets(4, from: 60), from: 1, position: nil) == (3, false))
        #expect(!input.isStartable, "more has followed")
        _ = input.flush()
        #expect(input.acceptedUntil == nil && input.isEmpty)
    }

    @Test func aFullStoreTakesAPartAndTheRestFollowsWhereItEnded() {
        var input = input()
        #expect(input.accept(packets(70), from: 0, position: .zero) == (64, false))
        #expect(input.timestamps.frames == 64 * 352)
        var out: [UInt8] = []
        for _ in 0..<10 { _ = store.removeNext(into: &out) }
        // Audio that was heard frees space; the rest completes half a second.
        let heard = MediaTime(value: 10 * 352, timescale: 48_000)
        #expect(input.accept(packets(70), from: 64, position: heard) == (0, false))
        #expect(input.accept(packets(70), from: 64, position: heard) == (6, true))
    }

    @Test func theFirstPacketOfAACFollowsASilentOneBecauseReceiversMuteIt() {
        var input = input(.aac48000, isPassThrough: true)
        _ = input.accept(packets(2, frames: 1024), from: 0, position: nil)
        var out: [UInt8] = []
        #expect(store.removeNext(into: &out) == RTPTimestamp(rawValue: 1000).advanced(byFrames: -1024))
        #expect(out == SilentUnit.stereo)
        #expect(store.removeNext(into: &out) == RTPTimestamp(rawValue: 1000))
    }

    /// Timestamps of the unsent packets relative to the first of the stream, and whether they are silent.
    private func unsent(_ silence: [UInt8]) -> [(frame: Int, isSilent: Bool)] {
        var out: [UInt8] = []
        var found: [(Int, Bool)] = []
        while let timestamp = store.removeNext(into: &out) {
            found.append((Int(RTPTimestamp(rawValue: 1000).distance(to: timestamp)), out == silence))
        }
        return found
    }

    @Test(arguments: [
        (StreamFormat.aac48000, 1024, SilentUnit.stereo), (.lossless48000, 352, SilentUnit.lossless48000),
        (.lossless44100, 352, SilentUnit.lossless44100),
    ]) func aGapIsFilledWithSilenceSoThatTheQueueOfTheReceiverDoesNotRunEmpty(
        format: StreamFormat, frames: Int, silence: [UInt8]
    ) {
        let store = PacketStore(bytes: 1 << 16, packets: 64)
        var input = StreamInput(
            format: format, store: store, first: RTPTimestamp(rawValue: 1000), isPassThrough: true, speed: 1)
        func packet(at frame: Int) -> PacketBatch {
            let batch = PacketBatch(reservingBytes: 1, packets: 1)
            let rate = Int32(format.sampleRate)
            [UInt8(1)].withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(
                        presentationTime: MediaTime(value: Int64(frame), timescale: rate),
                        duration: MediaTime(value: Int64(frames), timescale: rate)))
            }
            return batch
        }
        let late = 4 * frames + frames / 2
        #expect(input.accept(packet(at: 0), from: 0, position: nil).taken == 1)
        #expect(input.accept(packet(at: late), from: 0, position: nil).taken == 1)
        var out: [UInt8] = []
        var found: [Int] = []
        while let timestamp = store.removeNext(into: &out) {
            if out == silence { found.append(Int(RTPTimestamp(rawValue: 1000).distance(to: timestamp))) }
        }
        let first = format.coding == .aacLC ? [-frames] : []
        #expect(found == first + [frames, 2 * frames, 3 * frames])
        #expect(input.timestamps.next == RTPTimestamp(rawValue: 1000).advanced(byFrames: Int64(late + frames)))
    }

    @Test func aFilledGapContinuesWhenThereIsSpaceAndALongOneIsLeft() {
        var input = input(.aac48000, isPassThrough: true)
        _ = input.accept(packets(1, frames: 1024), from: 0, position: nil)
        // 64 packets fit: 2 are used, 62 of the 89 of the gap follow.
        let late = packets(1, from: 90, frames: 1024)
        #expect(input.accept(late, from: 0, position: .zero).taken == 0)
        #expect(unsent(SilentUnit.stereo).count { $0.isSilent } == 63)
        let heard = MediaTime(value: 60 * 1024, timescale: 48_000)
        #expect(input.accept(late, from: 0, position: heard).taken == 0, "audio that was heard frees space")
        #expect(input.accept(late, from: 0, position: heard).taken == 1)
        let rest = unsent(SilentUnit.stereo)
        #expect(rest.map(\.frame) == (63...90).map { $0 * 1024 } && rest.last?.isSilent == false)
        #expect(input.accept(packets(1, from: 90_000, frames: 1024), from: 0, position: nil).taken == 1)
        #expect(unsent(SilentUnit.stereo).map(\.frame) == [90_000 * 1024])
    }

    @Test func onlyAFinishedInputIsExtendedBySilence() {
        var input = input(.aac48000, isPassThrough: true)
        _ = input.accept(packets(2, frames: 1024), from: 0, position: nil)
        let goal = MediaTime(value: 4 * 1024, timescale: 48_000)
        #expect(input.extendTail(until: goal) == nil)
        input.finish()
        #expect(input.extendTail(until: goal) == goal && input.extendTail(until: .zero) == goal)
        #expect(unsent(SilentUnit.stereo).map(\.frame) == [-1024, 0, 1024, 2048, 3072])
        #expect(input.acceptedUntil == MediaTime(value: 2 * 1024, timescale: 48_000), "silence is no audio of the film")
        // What follows after all keeps its place: packets over the silence are dropped.
        #expect(input.accept(packets(4, from: 2, frames: 1024), from: 0, position: nil).taken == 4)
        #expect(unsent(SilentUnit.stereo).map(\.frame) == [4096, 5120])
        input.finish()
        #expect(input.extendTail(until: MediaTime(value: 600, timescale: 1)) == nil, "it ended long before")
    }

    @Test func overlappingPacketsOfAnotherFormatAreDropped() {
        var input = input()
        _ = input.accept(packets(10), from: 0, position: nil)
        input.join(isPassThrough: false)
        #expect(input.accept(packets(4, from: 8), from: 0, position: nil) == (4, false))
        #expect(store.waiting == 12)
        #expect(input.acceptedUntil == MediaTime(value: 12 * 352, timescale: 48_000))
    }

    @Test func afterACutTheNextPacketTakesThePlaceOfTheFirstThatWasDropped() {
        var input = input()
        _ = input.accept(packets(10), from: 0, position: nil)
        let cut = RTPTimestamp(rawValue: 1000 + 5 * 352)
        _ = store.dropUnsent(from: cut, frames: 352)
        input.cut(at: cut)
        #expect(input.acceptedUntil == MediaTime(value: 5 * 352, timescale: 48_000))
        #expect(input.timestamps.next == cut)
    }

    @Test func aFailedSpeakerCountsWhatItDoesNotKeep() {
        var input = input()
        #expect(input.discard(packets(10), from: 4) == 6)
        #expect(store.waiting == 0 && input.isEmpty)
        #expect(input.acceptedUntil == MediaTime(value: 10 * 352, timescale: 48_000))
    }
}

@Suite struct SpeakerAnchorsTests {
    private let now = HostInstant(nanoseconds: 10_000_000_000)

    @Test func aStartThatIsTakenBackBeforeItWasHeardIsForgottenAndOneThatWasHeardIsNot() {
        var anchors = SpeakerAnchors()
        #expect(anchors.isAudible(at: now) == nil)
        anchors.recordStart(at: now.advanced(by: .seconds(60)))
        #expect(anchors.isAudible(at: now) == false)
        anchors.recordStop(at: now)
        #expect(!anchors.hasBeenAudible(at: now.advanced(by: .seconds(70))) && anchors.isAudible(at: now) == nil)
        anchors.recordStart(at: now.advanced(by: .milliseconds(-1)))
        anchors.revokeStart(at: now)
        #expect(anchors.hasBeenAudible(at: now))
        anchors.beginSession()
        #expect(anchors.hasBeenAudible(at: now) && anchors.isAudible(at: now) == nil)
    }

    @Test func aSeekVoidsTheAnchorAndARestartOnlyItsEpoch() {
        var anchors = SpeakerAnchors(epoch: 7)
        anchors.hold(
            SentAnchor(
                media: .zero, position: RTPTimestamp(rawValue: 0), instant: PTPInstant(nanoseconds: 0), speed: 1,
                epoch: 1, generation: 1, delay: .zero))
        anchors.void()
        #expect(anchors.sent != nil && anchors.epoch == 8)
        anchors.reset()
        #expect(anchors.sent == nil && anchors.epoch == 9)
    }

    @Test func aSpeakerWhoseClockKeepsStallingIsGivenUpUnlessItPlays() {
        var anchors = SpeakerAnchors()
        func remedies(_ second: Int, isAnchored: Bool) -> [SpeakerAnchors.StallRemedy] {
            (0..<3).map { _ in
                anchors.remedy(
                    forStallAt: HostInstant(nanoseconds: 0).advanced(by: .seconds(second)), isAnchored: isAnchored)
            }
        }
        #expect(remedies(0, isAnchored: true) == [.renew, .renew, .wait])
        #expect(remedies(599, isAnchored: false) == [.giveUp, .giveUp, .giveUp])
        #expect(remedies(600, isAnchored: false) == [.renew, .renew, .giveUp])
    }
}

@Suite struct SpeakerVolumeTests {
    /// Returns the volume in dB that is sent after a request.
    private func sent(_ volume: inout SpeakerVolume, _ request: (inout SpeakerVolume) -> Void) -> Double? {
        request(&volume)
        return volume.consumeRequest()
    }

    @Test func theOwnersVolumeIsThatOfTheFirstSessionAndIsRestored() {
        var volume = SpeakerVolume()
        #expect(volume.own == nil && sent(&volume) { $0.restore() } == nil)
        volume.recordReport(-12)
        #expect(volume.own == VolumeCurve.volume(decibels: -12))
        #expect(sent(&volume) { $0.request(gain: 1) } == 0)
        #expect(sent(&volume) { $0.request(gain: 0) } == -144)
        #expect(sent(&volume) { $0.request(gain: 1e-6) } == -30)
        volume.recordReport(0)
        #expect(sent(&volume) { $0.restore() } == -12)
    }

    @Test(arguments: [Double.nan, .infinity]) func aSpeakerThatReportsNoneIsRestoredToAModestOne(reported: Double) {
        var volume = SpeakerVolume()
        volume.recordReport(reported)
        #expect(volume.isOwnKnown)
        volume.request(gain: 0.5)
        #expect(sent(&volume) { $0.restore() } == -20)
    }
}

@Suite struct ReportedSpeakerTests {
    private let one = SpeakerAddress(host: "10.0.0.1", port: 7000)
    private let other = SpeakerAddress(host: "10.0.0.2", port: 7000)

    private func info(model: String, flags: StatusFlags) -> ReceiverInfo {
        ReceiverInfo([
            "model": .string(model), "statusFlags": .integer(Int64(flags.rawValue)),
            "deviceID": .string("AA:BB:CC:DD:EE:FF"),
        ])
    }

    @Test func aSpeakerIsTriedWhereItWasUnlessItIsAnnouncedElsewhere() {
        var speaker = ReportedSpeaker()
        #expect(speaker.addresses(configured: one, announced: []) == [one])
        speaker.record(info(model: "x", flags: []), at: other, isFirst: true)
        #expect(speaker.addresses(configured: one, announced: []) == [other])
        #expect(speaker.addresses(configured: one, announced: [one, other]) == [other, one])
        #expect(speaker.addresses(configured: one, announced: [one]) == [one, other])
    }

    @Test func aFlagThatWasSetBeforeWePlayedIsNoSenders() {
        var speaker = ReportedSpeaker()
        #expect(speaker.busyFlags == [.busy, .playing])
        speaker.record(info(model: "x", flags: .playing), at: one, isFirst: true)
        #expect(speaker.busyFlags == .busy)
        speaker.record(info(model: "x", flags: []), at: one, isFirst: false)
        #expect(speaker.busyFlags == .busy, "our own session may be still there")
        #expect(speaker.deviceID == SpeakerID("AA:BB:CC:DD:EE:FF"))
    }

    @Test(arguments: [("ShairportSync", true), ("TalkieSpeaker", true), ("AppleTV6,2", false)])
    func packetsAreSkippedWhereThatIsKnownToWork(model: String, skips: Bool) {
        var speaker = ReportedSpeaker()
        #expect(!speaker.skipsPackets)
        speaker.record(info(model: model, flags: []), at: one, isFirst: true)
        #expect(speaker.skipsPackets == skips)
        speaker.endUse()
        #expect(!speaker.skipsPackets && speaker.deviceID != nil)
    }
}

@Suite struct SpeakerTimingTests {
    private let now = HostInstant(nanoseconds: 10_000_000_000)
    private let leads = StartLeads(isAsking: true)

    private func timing(_ readiness: ClockReadiness, ready: Duration?, path: Duration = .zero) -> SpeakerTiming {
        SpeakerTiming(readiness: readiness, ready: ready.map { now.advanced(by: $0) }, leads: leads, path: path)
    }

    @Test func aStartWaitsForTheSessionThenForTheClockThenForNothing() throws {
        #expect(SpeakerTiming.wait(nil, of: "Kitchen", at: now)?.cause == .opening)
        let probing = try #require(SpeakerTiming.wait(timing(.probing, ready: .seconds(2)), of: "Kitchen", at: now))
        #expect(probing.cause == .clock && probing.remaining == .seconds(2) + leads.look)
        #expect(SpeakerTiming.wait(timing(.cold, ready: nil), of: "Kitchen", at: now)?.remaining == nil)
        #expect(SpeakerTiming.wait(timing(.ready, ready: .seconds(-2)), of: "Kitchen", at: now) == nil)
        #expect(timing(.ready, ready: nil).earliestStart == nil)
    }

    @Test func theLeadOfAStartCountsFromWhenTheClockIsReadyAndThePathIsCorrected() {
        let unknown = SpeakerTiming.latency(nil, at: now)
        #expect(unknown.startLead == StartLeads(isAsking: false).request && unknown.shares.count == 1)
        let later = SpeakerTiming.latency(timing(.probing, ready: .seconds(2), path: .milliseconds(3)), at: now)
        #expect(later.startLead == leads.request + .seconds(2) + leads.look)
        #expect(later.shares.count == 3 && later.delay == .zero)
        #expect(SpeakerTiming.latency(timing(.ready, ready: .seconds(-9)), at: now).startLead == leads.request)
    }

    @Test(arguments: [nil, Duration.zero, .milliseconds(85)], [nil, .zero, Duration.milliseconds(250)])
    func whatASpeakerStatesIsShownAndDelaysTheSoundOnlyWhereItIsSubtracted(_ buffer: Duration?, _ output: Duration?) {
        var timing = timing(.ready, ready: .seconds(-9))
        timing.stated = StatedLatency(arrivalToRender: buffer, output: output)
        let anchored = SpeakerTiming.latency(timing, at: now)
        #expect(anchored.delay == .zero)
        let isStated = buffer != nil || output != nil
        #expect(anchored.shares.allSatisfy { $0.source == (isStated ? .reported : .assumed) })
        for stated in [buffer, output].compactMap({ $0 }) {
            #expect(anchored.shares.contains { $0.duration == stated })
        }
        timing.stated.subtracted = output ?? .zero
        #expect(SpeakerTiming.latency(timing, at: now).delay == output ?? .zero)
    }

    @Test func aStartIsAsMuchEarlierAsTheSoundIsScheduledEarlier() {
        let (near, far) = (StartLeads(isAsking: true), StartLeads(isAsking: true, outputLatency: .milliseconds(250)))
        for lead in [\StartLeads.request, \.join, \.late] {
            #expect(far[keyPath: lead] - near[keyPath: lead] == .milliseconds(250))
        }
        let cut = StreamCut.lead(.realtimeNTP, StatedLatency(output: .milliseconds(250)).subtracted(on: .realtimeNTP))
        #expect(cut - StreamCut.lead(.realtimeNTP, StatedLatency()) == .milliseconds(250))
    }

    @Test func aStreamIsFilledAsFarAsTheSpeakersBufferReaches() {
        func depth(_ format: StreamFormat?, _ size: Int?, _ route: Route = .buffered) -> Duration {
            SpeakerTiming.depth(of: format, bufferSize: size, route: route)
        }
        #expect(depth(.aac48000, 8_000_000) == .seconds(190))
        #expect(depth(.aac48000, .max) == .seconds(240))
        #expect(depth(nil, 8_000_000) == .seconds(60) && depth(.aac48000, nil) == .seconds(60))
        #expect(depth(.lossless44100, 8_000_000, .realtime) == .seconds(3))
        // One that states next to nothing gets sound all the same; TCP holds back what it does not accept.
        #expect(depth(.aac48000, 4096) == .seconds(3))
    }
}

@Suite struct RejoinAttemptsTests {
    private let one = SpeakerAddress(host: "10.0.0.1", port: 7000)
    private let other = SpeakerAddress(host: "10.0.0.2", port: 7000)
    private let began = HostInstant(nanoseconds: 10_000_000_000)

    private func attempts(isEvicted: Bool = false, tellsGroup: Bool = false) -> RejoinAttempts {
        RejoinAttempts(isEvicted: isEvicted, from: one, tellsGroup: tellsGroup, at: began)
    }

    @Test func attemptsAreFrequentForTwoMinutesAndThenRare() {
        var attempts = attempts()
        #expect(attempts.nextAttempt(after: began) - began == .milliseconds(500))
        let late = began.advanced(by: .seconds(120))
        let pauses = (0..<6).map { _ in attempts.nextAttempt(after: late) - late }
        #expect(pauses == [5, 10, 20, 40, 40, 40].map { .seconds($0) })
    }

    @Test func aBusySpeakerThatIsOursIsTakenOverAfterASecondWhereItWasLostAndAtOnceElsewhere() {
        var attempts = attempts()
        let both = [one, other]
        #expect(attempts.next(of: both, announcesOurs: true, at: began) == (one, true))
        #expect(attempts.next(of: both, announcesOurs: true, at: began) == (other, false))
        #expect(attempts.recordBusy(announcesOurs: true, at: began) == false)
        let soon = began.advanced(by: .milliseconds(900))
        #expect(attempts.next(of: both, announcesOurs: true, at: soon) == (one, true))
        let later = began.advanced(by: .milliseconds(1100))
        #expect(attempts.next(of: [one], announcesOurs: true, at: later) == (one, false))
        #expect(attempts.next(of: [one], announcesOurs: false, at: later) == (one, true))
    }

    @Test(arguments: [(true, false, 3), (true, true, 130), (false, false, 130)])
    func aSpeakerIsLeftToAnotherSenderSoonerWhereItsAnnouncementsSayWhose(
        tellsGroup: Bool, announcesOurs: Bool, seconds: Int
    ) {
        var attempts = attempts(tellsGroup: tellsGroup)
        #expect(attempts.recordBusy(announcesOurs: announcesOurs, at: began) == false)
        let limit = began.advanced(by: .seconds(seconds))
        #expect(attempts.recordBusy(announcesOurs: announcesOurs, at: limit.advanced(by: .milliseconds(-1))) == false)
        #expect(attempts.recordBusy(announcesOurs: announcesOurs, at: limit) == true)
    }

    @Test func aSpeakerThatEndedTheSessionIsNotTakenBack() {
        var attempts = attempts(isEvicted: true)
        #expect(attempts.next(of: [one], announcesOurs: true, at: began) == (one, true))
        #expect(attempts.recordBusy(announcesOurs: true, at: began) == true)
    }

    @Test func sixShortSessionsInARowYieldTheSpeakerToAnotherSender() {
        var evictions = EvictionCounter()
        func play(_ seconds: Int) {
            evictions.begin(at: began)
            evictions.end(at: began.advanced(by: .seconds(seconds)))
        }
        for _ in 0..<5 { play(4) }
        #expect(!evictions.isUnwelcome)
        play(5)
        for _ in 0..<5 { play(4) }
        #expect(!evictions.isUnwelcome)
        play(4)
        #expect(evictions.isUnwelcome)
    }
}

@Suite struct StreamCutTests {
    private final class Stream: CuttableStream {
        var isPlaying = true
        var isLost = false
        let startLeads = StartLeads(isAsking: true)
        var answer: AirPlayError?
        /// The time until the response to a request.
        var delay = Duration.zero
        let clock: ManualClock
        private(set) var forgotten: [ClosedRange<UInt32>] = []
        private(set) var rewinds: [RTPTimestamp] = []

        init(_ clock: ManualClock) { self.clock = clock }

        func forget(from first: PacketStore.Position, until next: PacketStore.Position) throws(AirPlayError) {
            forgotten.append(first.sequence...next.sequence)
            clock.advance(by: delay)
            if let answer { throw answer }
        }

        func rewind(to timestamp: RTPTimestamp, gap: Int64) throws(AirPlayError) -> Bool {
            rewinds.append(timestamp)
            return true
        }
    }

    private let clock = ManualClock()
    private let stream: Stream
    private let timebase: Timebase
    private var input: StreamInput
    private let lead = Duration.seconds(1)

    /// Eleven seconds of audio, of which 1000 packets are sent; media time advances from zero.
    init() {
        stream = Stream(clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        timebase = Timebase(following: synchronizer.timebase)
        input = StreamInput(
            format: .lossless48000, store: PacketStore(bytes: 1 << 16, packets: 2048), first: RTPTimestamp(rawValue: 0),
            isPassThrough: false, speed: 1)
        let batch = PacketBatch(reservingBytes: 1500, packets: 1500)
        let length = MediaTime(value: 352, timescale: 48_000)
        for index in 0..<1500 {
            [UInt8(7)].withUnsafeBytes {
                batch.append($0, as: PacketBatch.Packet(presentationTime: length * Int64(index), duration: length))
            }
        }
        _ = input.accept(batch, from: 0, position: nil)
        var out: [UInt8] = []
        for _ in 0..<1000 { _ = input.store.removeNext(into: &out) }
    }

    private func cut(at packet: Int64, skips: Bool = true, route: Route = .buffered, without: Bool = false)
        -> StreamCut.Outcome
    {
        StreamCut(
            timestamp: RTPTimestamp(rawValue: UInt32(packet * 352)), input: input, timebase: timebase, host: clock,
            route: route, stated: StatedLatency(), skipsPackets: skips
        ).run(on: without ? nil : stream)
    }

    private func truncated(_ packet: UInt32) -> PacketStore.DroppedPacket {
        PacketStore.DroppedPacket(timestamp: RTPTimestamp(rawValue: packet * 352), packet: [7])
    }

    @Test func whatWasNotSentIsDroppedWithoutARequest() {
        #expect(cut(at: 1200) == .init(truncated: truncated(1200)))
        #expect(stream.forgotten.isEmpty && stream.rewinds.isEmpty)
        #expect(cut(at: 2000) == .init())
    }

    @Test func aSpeakerSkipsWhatItHasReceivedByNumber() {
        let outcome = cut(at: 600)
        #expect(outcome.truncated == truncated(600) && outcome.refusal == nil && !outcome.voidsAnchor)
        #expect(outcome.heldUntil == clock.now.advanced(by: MediaTime(value: 600 * 352, timescale: 48_000).duration))
        #expect(stream.forgotten == [600...1000])
        #expect(
            outcome.truncated?.batch(in: input)?.packets.first?.presentationTime
                == MediaTime(value: 600 * 352, timescale: 48_000))
    }

    @Test func whatIsDecodedAlreadyCannotBeTakenBack() {
        #expect(cut(at: 100) == .init(refusal: lead))
        #expect(stream.forgotten.isEmpty)
    }

    @Test func anAnswerThatIsTooLateOrMissingMeansThatEverythingIsSentAgain() {
        stream.delay = .seconds(3)
        #expect(cut(at: 500) == .init(refusal: lead + .seconds(3), voidsAnchor: true))
        stream.delay = .zero
        stream.answer = AirPlayError(.timedOut, "no answer")
        #expect(cut(at: 900) == .init(refusal: lead, voidsAnchor: true))
        #expect(input.store.waiting == 500, "nothing was dropped")
    }

    @Test func aSessionThatIsLostMeanwhileReceivesOnlyTheRest() {
        stream.answer = AirPlayError(.lost, "gone")
        stream.isLost = true
        #expect(cut(at: 500) == .init(truncated: truncated(500)))
        #expect(cut(at: 400, without: true) == .init(truncated: truncated(400)))
    }

    @Test func aModelThatIsNotKnownToSkipStartsAgain() {
        #expect(cut(at: 500, skips: false) == .init(truncated: truncated(500), voidsAnchor: true))
        #expect(stream.forgotten.isEmpty && stream.rewinds == [RTPTimestamp(rawValue: 12_000)])
    }

    @Test func aSpeakerThatDoesNotPlayReceivesTheRestAgain() {
        stream.isPlaying = false
        #expect(cut(at: 500) == .init(truncated: truncated(500)))
        #expect(stream.rewinds.count == 1)
    }

    @Test func aRealtimeStreamIsCutInItsUnsentPartOnly() {
        #expect(cut(at: 1200, route: .realtime) == .init(truncated: truncated(1200)))
        #expect(cut(at: 999, route: .realtime) == .init(refusal: StreamCut.lead(.realtime, StatedLatency())))
    }

    @Test func aSpeakerHoldsEightRequestsUntilTheyAreDue() {
        var record = StreamCutRecord()
        for second in 1...8 { record.hold(until: clock.now.advanced(by: .seconds(second))) }
        #expect(record.hasSpace(at: clock.now) == false)
        #expect(record.hasSpace(at: clock.now.advanced(by: .milliseconds(1500))) == true)
        record.begin()
        #expect(record.result == nil)
        record.decide(.overtaken)
        #expect(record.result == .overtaken && record.truncated == nil)
    }
}
