import AirPlayWire
import MediaCore
import PTP
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct RTPTimestampMapperTests {
    private func seconds(_ value: Double) -> MediaTime { MediaTime(seconds: value) }

    @Test func packetsLieWhereTheFilmSaysAndRoundedTimesFollowOn() {
        var line = RTPTimestampMapper(sampleRate: 48000, first: RTPTimestamp(rawValue: .max))
        #expect(line.map(seconds(10), frames: 1024, isContiguous: false).rawValue == .max)
        // 21.333 ms, rounded by a container with timestamps in milliseconds.
        #expect(line.map(seconds(10.021), frames: 1024, isContiguous: false).rawValue == 1023)
        #expect(line.map(nil, frames: 1024, isContiguous: false).rawValue == 2047)
        // A gap of one packet.
        #expect(line.map(seconds(10 + 4 * 1024.0 / 48000), frames: 1024, isContiguous: false).rawValue == 4095)
        #expect(line.timestamp(of: seconds(11), rate: 1)?.rawValue == 47999)
        #expect(line.timestamp(of: seconds(9), rate: 1) == RTPTimestamp(rawValue: .max).advanced(byFrames: -48000))
        #expect(line.timestamp(of: seconds(12), rate: 2)?.rawValue == 47999)
    }

    @Test func timestampsIncreaseAfterASeekBack() {
        var line = RTPTimestampMapper(sampleRate: 44100, first: RTPTimestamp(rawValue: 1000))
        _ = line.map(seconds(100), frames: 1024, isContiguous: false)
        line.jump()
        #expect(line.isEmpty)
        #expect(line.timestamp(of: seconds(100), rate: 1) == nil)
        #expect(line.map(seconds(3), frames: 1024, isContiguous: false).rawValue == 1000 + 1024 + 4410)
        #expect(line.timestamp(of: seconds(3), rate: 1)?.rawValue == 6434)
    }

    @Test func aPacketInsideTheOneBeforeFollowsOn() {
        var line = RTPTimestampMapper(sampleRate: 48000, first: RTPTimestamp(rawValue: 0))
        _ = line.map(seconds(1), frames: 1024, isContiguous: false)
        #expect(line.map(seconds(0.5), frames: 1024, isContiguous: false).rawValue == 1024)
    }
}

@Suite struct RefusedVolumeTests {
    private let configuration = AirPlaySession.Configuration(
        address: SpeakerAddress(host: "127.0.0.1", port: 7000), identity: .random(name: "x"))

    /// A lost session is reported elsewhere, and sets the volume again when it is restored. A request that timed out is
    /// still delivered.
    @Test func onlyAVolumeThatTheSpeakerRefusesIsAFailureOfIt() throws {
        var volume = SpeakerVolume()
        #expect(volume.refusal == nil)
        let refused = AirPlayError(.refused, "the speaker answers 455")
        func note(_ error: AirPlayError?, of decibels: Double = -20) -> Bool {
            volume.recordResult(error, of: decibels, speaker: "Kitchen")
        }
        #expect(note(refused))
        #expect(try #require(volume.refusal).message.contains("Kitchen refused the volume"))
        #expect(note(refused, of: -144))
        #expect(try #require(volume.refusal).message.contains("Kitchen refused muting"))
        let others = [AirPlayError.Code.lost, .timedOut, .protocolViolation].map { AirPlayError($0, "it is gone") }
        for error in [nil] + others.map(Optional.some) {
            #expect(note(refused))
            #expect(!note(error))
            #expect(volume.refusal == nil)
        }
        #expect(note(refused))
        volume.endUse()
        #expect(volume.refusal == nil)
    }

    @Test func everyStepOfAVolumeIsAnotherLoudnessAndOneRequestSendsTheLastOne() {
        var volume = SpeakerVolume()
        func isQueued() -> Bool { volume.queue() }
        func taken() -> Double? { volume.consumeRequest() }
        #expect(!isQueued() && taken() == nil, "the owner's volume is left alone")
        let levels = (0...100).map { step in
            volume.request(gain: VolumeCurve.gain(volume: Double(step)))
            return volume.requested ?? 1
        }
        #expect(zip(levels, levels.dropFirst()).allSatisfy { $0 < $1 } && levels.first == -144 && levels.last == 0)
        #expect(isQueued())
        volume.request(gain: 0.5)
        #expect(!isQueued(), "the queued request sends the new volume")
        #expect(taken() == volume.requested)
        #expect(isQueued(), "while one is sent, a later one is queued")
    }

    /// The statuses of the answers to the first request and to its repetition.
    @Test(arguments: [([200], false), ([400, 455], true), ([455, 200], false)])
    func aRefusedVolumeIsRequestedOnceMore(statuses: [Int], isRefused: Bool) throws {
        let server = try LoopbackServer()
        let core = SessionCore(
            configuration: configuration, clocks: PTPDirectory(identity: configuration.identity.clock),
            shared: SessionShared())
        core.connection = RTSPConnection(socket: try server.connect(), identity: configuration.identity)
        for (number, status) in statuses.enumerated() {
            server.send("RTSP/1.0 \(status) Answer\r\nCSeq: \(number + 1)\r\n\r\n")
        }
        let speaker = AirPlaySpeaker(
            name: "Kitchen", configuration: configuration, clocks: PTPDirectory(identity: configuration.identity.clock))
        speaker.setGain(0.1)
        let sent = speaker.volume.sendRequested(to: speaker.name) { (decibels) throws(AirPlayError) in
            try core.setVolume(decibels: decibels)
        }
        #expect(abs((sent ?? 0) + 20) < 1e-3)
        #expect((speaker.gainFailure != nil) == isRefused)
        #expect(!core.isLost)
    }
}

@Suite struct SpeakerClosingTests {
    /// Calls a closure when it is read: between two steps of the code under test.
    private final class ObservedClock: HostClock {
        private let observer = Lock<(@Sendable () -> Void)?>(nil)
        var now: HostInstant {
            observer.withLock { $0.take() }?()
            return .now
        }
        func observe(_ body: @escaping @Sendable () -> Void) { observer.withLock { $0 = body } }
    }

    /// `close` may run when the session is no longer the current one and the thread that ends it does not run yet.
    @Test func aLostSessionAlwaysHasATaskThatCloseStops() throws {
        let configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.1", port: 1), identity: .random(name: "x"))
        let clocks = PTPDirectory(identity: configuration.identity.clock)
        let speaker = AirPlaySpeaker(name: "Kitchen", configuration: configuration, clocks: clocks)
        let session = AirPlaySession(configuration, clocks: clocks)
        let clock = ObservedClock()
        let synchronizer = RenderSynchronizer(clock: ManualClock())
        let context = AudioOutputContext(
            timebase: synchronizer.timebase, writable: Signal(), events: EventLog(clock: clock), id: OutputID(0))
        speaker.state.withLock { ($0.session, $0.context) = (session, context) }
        let seen = Lock<(isCleared: Bool, task: BackgroundTask?)?>(nil)
        clock.observe { [speaker] in
            let found = speaker.state.withLock { ($0.session == nil, $0.backgroundTask) }
            seen.withLock { $0 = found }
        }
        speaker.rejoin(after: session, because: AirPlayError(.lost, "lost"), use: 0)
        let between = try #require(seen.withLock { $0 })
        #expect(between.isCleared && between.task != nil)
        speaker.close()
    }

    @Test func aTaskThatIsStoppedBeforeItsThreadRunsStillEndsWhatItTookOver() throws {
        let task = BackgroundTask()
        let (isEnded, mayRest, isStopped) = (Signal(), Lock(true), Signal())
        let closing = try WorkerThread.start(name: "closing") {
            task.stop()
            isStopped.raise()
        }
        try task.start(name: "ending") { task in
            let rests = task.rest(until: .now.advanced(by: .seconds(60)))
            mayRest.withLock { $0 = rests }
            isEnded.raise()
        }
        #expect(isStopped.wait(until: .now.advanced(by: .seconds(60))))
        closing.join()
        // `stop` waits for a second.
        isEnded.wait()
        #expect(!mayRest.withLock { $0 })
    }
}

@Suite struct PeerGroupTests {
    private func session(in group: PTPPeerGroup) -> AirPlaySession {
        var configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.1", port: 7000), identity: .random(name: "x"))
        configuration.peers = group
        return AirPlaySession(configuration, clocks: PTPDirectory(identity: configuration.identity.clock))
    }

    @Test func aSessionThatIsReleasedWithoutAnEndLeavesTheListOfPeers() throws {
        let group = PTPPeerGroup()
        let (first, second) = (try #require(NetworkAddress("10.0.0.1")), try #require(NetworkAddress("10.0.0.2")))
        let kept = session(in: group)
        func playBeside() {
            let released = session(in: group)
            group.add(released, at: first)
            group.add(kept, at: second)
            #expect(group.addresses == [first, second])
            withExtendedLifetime(released) {}
        }
        playBeside()
        #expect(group.addresses == [second])
        kept.end()
        #expect(group.addresses.isEmpty)
    }
}

@Suite struct DeliveryTests {
    private func aac(_ configuration: [UInt8], rate: Int = 48000, layout: ChannelLayout = .stereo) -> AudioFormat {
        AudioFormat(
            parameters: CodecParameters(codec: "aac", configuration: configuration), sampleRate: rate, layout: layout)
    }

    @Test func stereoLowComplexityGoesThroughUntouched() {
        #expect(DeliveryChoice.untouched(aac([0x11, 0x90])) == .aac48000)
        #expect(DeliveryChoice.untouched(aac([0x12, 0x10], rate: 44100)) == .aac44100)
        // FFmpeg's encoder adds an extension that states that SBR is absent.
        #expect(DeliveryChoice.untouched(aac([0x11, 0x90, 0x56, 0xE5, 0x00])) == .aac48000)
    }

    /// Matroska does not.
    @Test func whatPassesThroughStatesItsFramesPerPacket() {
        let format = aac([0x11, 0x90])
        #expect(format.parameters.framesPerPacket == 0)
        let choice = DeliveryChoice(for: format, mustDecode: false, reencoding: .aacLC)
        guard case .passThrough(let passed) = choice.delivery(of: format) else {
            Issue.record("re-encoded")
            return
        }
        #expect(passed.parameters.framesPerPacket == 1024)
    }

    @Test func otherFormatsAreReencoded() {
        for format in [
            aac([0x11, 0x90, 0x56, 0xE5, 0x80]),  // SBR in use
            aac([0x11, 0xB0], layout: .surround51), aac([0x11, 0x94]),  // 960 frames
            aac([0x2B, 0x11, 0x88, 0x00]),  // explicitly signalled HE-AAC
            aac([]), aac([0x11]), aac([0x11, 0x90], rate: 44100), aac([0xFF, 0xFF]),
            AudioFormat(parameters: CodecParameters(codec: "ac3"), sampleRate: 48000, layout: .stereo),
        ] {
            #expect(DeliveryChoice.untouched(format) == nil, "\(format.parameters.configuration)")
        }
        let changed = DeliveryChoice(for: aac([0x11, 0x90]), mustDecode: true, reencoding: .appleLossless)
        #expect(!changed.isPassThrough)
        #expect(changed.stream == .lossless44100)
        #expect(changed.encodedFormat.parameters.codec == "alac")
        let music = DeliveryChoice(for: aac([], rate: 44100), mustDecode: false, reencoding: .aacLC)
        #expect(music.stream == .aac44100)
    }

    @Test(arguments: [
        (Int?.none, StreamFormat.lossless44100), (16, .lossless44100), (24, .lossless48000),
    ])
    func losslessStreamsHaveTheRequestedBits(_ bits: Int?, _ expected: StreamFormat) {
        func stream(_ rate: Int, _ route: Route = .buffered) -> StreamFormat {
            DeliveryChoice(
                for: aac([], rate: rate), mustDecode: true, reencoding: .appleLossless, bits: bits, route: route
            ).stream
        }
        #expect(stream(44100) == expected && stream(48000) == expected)
        #expect(stream(48000, .realtime) == .lossless44100 && stream(48000, .realtimeNTP) == .lossless44100)
    }

    /// The encoding that was requested comes first, then the other one.
    @Test(
        arguments: [
            ([.lossless44100], .lossless44100, .lossless44100), ([.aac44100], .aac44100, .aac44100),
            ([.lossless48000, .aac48000], .aac48000, .lossless48000),
            ([.lossless44100, .lossless48000, .aac48000, .aacSurround51], .aacSurround51, .aacSurround51),
        ] as [(Set<StreamFormat>, StreamFormat, StreamFormat)])
    func aBufferedStreamHasAFormatThatTheSpeakerOffers(
        _ offered: Set<StreamFormat>, _ compressed: StreamFormat, _ lossless: StreamFormat
    ) {
        let format = AudioFormat(
            parameters: CodecParameters(codec: "ac3"), sampleRate: 48000, layout: .surround51)
        for (coding, expected) in [(StreamFormat.Coding.aacLC, compressed), (.appleLossless, lossless)] {
            let choice = DeliveryChoice(
                for: format, mustDecode: false, reencoding: coding, channels: 8, offered: offered)
            #expect(choice.stream == expected, "\(coding)")
        }
        let film = aac([0x11, 0x90])
        let choice = DeliveryChoice(for: film, mustDecode: false, reencoding: .aacLC, offered: offered)
        #expect(choice.isPassThrough == offered.contains(.aac48000))
    }

    @Test(
        arguments: [
            ([18], "AudioAccessory5,1", [StreamFormat.lossless44100]),
            ([21, 23, 39, 40], "Era", [.lossless48000, .aac48000, .aacSurround51]),
            ([23, 39, 40], "Shairport Sync", [.aac48000, .aacSurround51, .aacSurround71]),
            // It lists nothing that can be sent.
            ([61], "Era", [.lossless44100, .aac44100, .aac48000]),
            (nil, "Era", [.lossless44100, .aac44100, .aac48000]),
        ] as [([Int]?, String, Set<StreamFormat>)])
    func theFormatsToChooseFromAreThoseListed(_ listed: [Int]?, _ model: String, _ expected: Set<StreamFormat>) {
        var reported = ReportedSpeaker()
        #expect(reported.offered == nil)
        var info: [String: PropertyList] = ["model": .string(model)]
        if let listed {
            info["supportedAudioFormatsExtended"] = ["bufferStream": .array(listed.map { .integer(Int64($0)) })]
        }
        reported.record(
            ReceiverInfo(.dictionary(info)), at: SpeakerAddress(host: "127.0.0.1", port: 7000), isFirst: true)
        #expect(reported.offered == expected)
    }

    @Test(arguments: [
        (0x3, 2, 8, StreamFormat.aac48000), (0x607, 5, 6, .aacSurround51), (0x107, 4, 6, .aacSurround51),
        (0x607, 5, 2, .aac48000), (0x70F, 7, 8, .aacSurround71), (0x70F, 7, 6, .aacSurround51),
        (0x63F, 8, 6, .aacSurround51),
    ])
    func aFilmIsSentInTheFewestChannelsThatHoldIts(
        mask: UInt64, count: Int, requested: Int, expected: StreamFormat
    ) {
        let format = AudioFormat(
            parameters: CodecParameters(codec: "ac3"), sampleRate: 48000,
            layout: ChannelLayout(mask: mask, count: count))
        let choice = DeliveryChoice(for: format, mustDecode: false, reencoding: .aacLC, channels: requested)
        #expect(choice.stream == expected)
    }

    /// The reason names what was requested of the audio that is sent.
    @Test(
        arguments: [
            (8, StreamFormat.aac48000, 5, "offers no 5.1 stream on the route buffered; it gets stereo"),
            (8, .aacSurround51, 8, "offers no 7.1 stream on the route buffered; it gets 5.1"),
            (6, .aacSurround51, 8, nil), (6, .aacSurround51, 5, nil), (2, .aac48000, 6, nil), (6, .aac48000, 2, nil),
            (6, .aac48000, 1, nil),
        ] as [(Int, StreamFormat, Int, String?)])
    func fewerChannelsThanRequestedAreReported(
        requested: Int, sent: StreamFormat, film: Int, expected: String?
    ) {
        let configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.1", port: 1), identity: .random(name: "x"))
        let speaker = AirPlaySpeaker(
            name: "Kitchen", configuration: configuration, clocks: PTPDirectory(identity: configuration.identity.clock),
            channels: requested)
        let format = AudioFormat(
            parameters: CodecParameters(codec: "ac3"), sampleRate: 48000, layout: ChannelLayout(mask: 0, count: film))
        _ = speaker.delivery(for: format, mustDecode: false)
        #expect(speaker.formatReduction == nil)
        speaker.state.withLock {
            $0.input = StreamInput(
                format: sent, store: PacketStore(bytes: 100, packets: 2), first: RTPTimestamp(rawValue: 0),
                isPassThrough: false, speed: 1)
        }
        #expect(speaker.formatReduction?.message == expected.map { "Kitchen \($0)" })
    }

    @Test func anOpenStreamIsKeptForAudioOfItsCodingAndChannels() {
        func kept(_ open: StreamFormat?, for format: AudioFormat, _ reencoding: StreamFormat.Coding = .aacLC)
            -> DeliveryChoice
        {
            DeliveryChoice(for: format, mustDecode: false, reencoding: reencoding, channels: 6)
                .keeping(open, for: format)
        }
        func ac3(_ layout: ChannelLayout) -> AudioFormat {
            AudioFormat(parameters: CodecParameters(codec: "ac3"), sampleRate: 48000, layout: layout)
        }
        let music = aac([0x12, 0x10], rate: 44100)
        #expect(kept(nil, for: music).isPassThrough && kept(.aac44100, for: music).isPassThrough)
        let other = kept(.aac48000, for: music)
        #expect(other.stream == .aac48000 && !other.isPassThrough, "packets of another rate are encoded")
        #expect(kept(.aac44100, for: ac3(.stereo)).stream == .aac44100)
        #expect(kept(.lossless48000, for: music).stream == .lossless48000)
        // Without a new stream these would lose their channels, or their quality.
        #expect(kept(.lossless44100, for: ac3(.surround51)).stream == .aacSurround51)
        #expect(kept(.aac48000, for: ac3(.surround51)).stream == .aacSurround51)
        #expect(kept(.aacSurround51, for: ac3(.stereo)).stream == .aac48000)
        #expect(kept(.aac48000, for: ac3(.stereo), .appleLossless).stream == .lossless44100)
    }
}

@Suite struct PacketStoreTests {
    private func add(_ store: PacketStore, _ packet: [UInt8], at timestamp: UInt32) -> Bool {
        packet.withUnsafeBytes { store.append($0, timestamp: RTPTimestamp(rawValue: timestamp)) }
    }

    @Test func packetsComeOutAsTheyWentInAcrossTheWrap() {
        let store = PacketStore(bytes: 100, packets: 4)
        var out: [UInt8] = []
        for round in 0..<50 {
            let packet = (0..<(30 + round % 7)).map { UInt8($0 + round) }
            #expect(add(store, packet, at: UInt32(round)))
            #expect(add(store, packet, at: UInt32(round)))
            for _ in 0..<2 {
                #expect(store.removeNext(into: &out)?.rawValue == UInt32(round))
                #expect(out == packet)
            }
        }
        #expect(store.removeNext(into: &out) == nil)
        #expect(store.waiting == 0)
    }

    @Test func aFullStoreTakesNothingAndSaysOnceThatThereIsRoom() {
        let store = PacketStore(bytes: 100, packets: 2)
        var out: [UInt8] = []
        func add(_ count: Int) -> Bool { self.add(store, [UInt8](repeating: 0, count: count), at: 0) }
        #expect(!add(101))
        #expect(add(60))
        #expect(!add(41))
        #expect(add(40))
        #expect(!add(0))
        #expect(!store.shouldSignalWritable())
        while store.removeNext(into: &out) != nil {}
        #expect(store.shouldSignalWritable())
        #expect(!store.shouldSignalWritable())
    }

    @Test func packetsThatMayBeWantedAgainAreKeptAndSentAgainUpward() {
        let store = PacketStore(bytes: 1000, packets: 10)
        store.beginNumbering(at: (1 << 23) - 5)
        store.setFloor(RTPTimestamp(rawValue: 2048))
        var out: [UInt8] = []
        for index in 0..<10 { #expect(add(store, [UInt8(index)], at: UInt32(index) * 1024)) }
        while store.removeNext(into: &out) != nil {}
        // Two packets were played and are discarded; the others are kept.
        #expect(add(store, [10], at: 10 * 1024))
        #expect(add(store, [11], at: 11 * 1024))
        #expect(!add(store, [12], at: 12 * 1024))
        // Frame 5000 is in packet 4; the packet before it is sent too.
        let position = store.rewind(to: RTPTimestamp(rawValue: 5000), gap: 100)
        #expect(position == .init(sequence: 5, timestamp: RTPTimestamp(rawValue: 9 * 1024 + 100)))
        #expect(store.removeNext(into: &out) == position?.timestamp)
        #expect(out == [3])
        #expect(store.removeNext(into: &out) == RTPTimestamp(rawValue: 10 * 1024 + 100))
        #expect(out == [4])
        #expect(store.onWire(RTPTimestamp(rawValue: 4 * 1024)).rawValue == 10 * 1024 + 100)
        // A second rewind before anything was sent keeps the positions.
        let again = store.rewind(to: RTPTimestamp(rawValue: 20_000), gap: 100)
        #expect(again?.timestamp == store.onWire(RTPTimestamp(rawValue: 10 * 1024)))
        #expect(again?.timestamp == RTPTimestamp(rawValue: 16 * 1024 + 100))
    }

    @Test func anEmptyStoreHasNothingToSendAgain() {
        let store = PacketStore(bytes: 10, packets: 2)
        #expect(store.rewind(to: RTPTimestamp(rawValue: 0), gap: 1) == nil)
        #expect(add(store, [1], at: 7))
        #expect(store.removeAll(next: RTPTimestamp(rawValue: 9)).timestamp.rawValue == 9)
        #expect(store.rewind(to: RTPTimestamp(rawValue: 0), gap: 1) == nil)
    }
}

@Suite struct SpeakerAddressTests {
    @Test func oneIdentityGivesEveryNameOnTheWire() {
        let identity = SenderIdentity(rawValue: 0xA1B2_C3D4_E5F6_0718, name: "x")
        #expect(identity.deviceID == "A1:B2:C3:D4:E5:F6:07:18")
        #expect(identity.macAddress == "A1:B2:C3:D4:E5:F6")
        #expect(identity.remoteControlID == "A1B2C3D4E5F60718")
        #expect(identity.clock.rawValue == 0xA1B2_C3D4_E5F6_0718)
        let uuid = UniqueName.uuid()
        #expect(uuid.count == 36)
        #expect(uuid.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(Array(uuid)[14] == "4")
    }

    @Test func aFailureNamesTheSpeaker() {
        let message = "The speaker refused a request to accept this stream (status 500)."
        func named(_ message: String) -> String {
            OutputError(AirPlayError(.refused, message), of: "Kitchen").message
        }
        #expect(named(message) == "'Kitchen' refused a request to accept this stream (status 500).")
        let address = "The speaker at 10.0.0.7:7000 refuses a connection."
        #expect(named(address) == address)
    }
}
