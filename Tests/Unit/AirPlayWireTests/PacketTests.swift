import MediaCore
import Testing

@testable import AirPlayWire

@Suite struct BufferedPacketTests {
    @Test func packetsHaveThePublishedBytes() throws {
        let vector = try Vectors("buffered_frame_103")
        var packetizer = BufferedPacketizer(
            key: SecretBytes(vector.bytes("key")), format: .aac48000, firstSequence: 5, firstNonce: 7)
        var out: [UInt8] = []
        let timestamp = RTPTimestamp(rawValue: UInt32(vector.int("rtp_timestamp")))
        #expect(packetizer.append(vector.bytes("payload"), timestamp: timestamp, to: &out))
        #expect(out == vector.bytes("wire"))
        #expect(packetizer.nextSequence == 6)
    }

    @Test func sequenceNumbersWrapAt23BitsAndPacketsReadBack() throws {
        let key = SecretBytes.random(count: 32)
        var packetizer = BufferedPacketizer(key: key, format: .lossless48000, firstSequence: 0x7F_FFFF)
        var out: [UInt8] = []
        for index in 0..<3 {
            _ = packetizer.append([UInt8(index), 9], timestamp: RTPTimestamp(rawValue: .max), to: &out)
        }
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        for byte in out { packets += try unpacker.open([byte]) }
        #expect(packets.map(\.sequence) == [0x7F_FFFF, 0, 1])
        #expect(packets.map(\.audio) == [[0, 9], [1, 9], [2, 9]])
        #expect(packets.allSatisfy { $0.synchronizationSource == 0x1500_0000 && $0.timestamp.rawValue == .max })
    }

    @Test func soundTooLargeForAPacketIsRefusedWhole() {
        var packetizer = BufferedPacketizer(key: .random(count: 32), format: .aac44100, firstSequence: 0)
        var out: [UInt8] = []
        let limit = BufferedPacketizer.payloadLimit
        #expect(packetizer.append([UInt8](repeating: 0, count: limit), timestamp: RTPTimestamp(rawValue: 0), to: &out))
        #expect(out.count == 65535)
        #expect(
            !packetizer.append([UInt8](repeating: 0, count: limit + 1), timestamp: RTPTimestamp(rawValue: 0), to: &out))
        #expect(out.count == 65535 && packetizer.nextSequence == 1)
    }

    @Test func packetsThatAreCutOrAlteredAreRefused() throws {
        let key = SecretBytes.random(count: 32)
        var unpacker = BufferedUnpacker(key: key)
        #expect(throws: WireError.self) { try unpacker.open([0, 5, 1, 2, 3]) }
        var packetizer = BufferedPacketizer(key: key, format: .aac44100, firstSequence: 0)
        var out: [UInt8] = []
        _ = packetizer.append([1, 2, 3], timestamp: RTPTimestamp(rawValue: 0), to: &out)
        out[7] ^= 1
        var other = BufferedUnpacker(key: key)
        #expect(throws: WireError.self) { try other.open(out) }
    }
}

@Suite struct RealtimePacketTests {
    @Test func packetsHaveThePublishedBytes() throws {
        let vector = try Vectors("realtime_packet_96")
        var packetizer = RealtimePacketizer(
            key: SecretBytes(vector.bytes("key")), source: UInt32(vector.int("ssrc")),
            firstSequence: UInt16(vector.int("sequence")), firstNonce: 0x1234)
        let packet = packetizer.packet(
            vector.bytes("payload"), timestamp: RTPTimestamp(rawValue: UInt32(vector.int("rtp_timestamp"))),
            marked: true)
        #expect(packet == vector.bytes("wire"))
    }

    @Test func aResendIsTheOriginalPacketByteForByte() throws {
        let vector = try Vectors("resend")
        let request = try #require(ResendRequest(vector.bytes("request")))
        #expect((request.firstMissing, request.count) == (0x1234, 3))
        #expect(request.answer([1, 2]) == vector.bytes("reply_prefix") + [1, 2])
        #expect(ResendRequest([0x80, 0xD5, 0]) == nil)
        #expect(ResendRequest([0x80, 0xD6, 0, 1, 0, 1, 0, 1]) == nil)
    }

    @Test func onlyTheLastPacketsAreKeptForAResendAcrossTheWrap() {
        var kept = RetransmitBuffer(capacity: 8)
        #expect(kept.packet(0) == nil)
        for step in 0..<20 {
            let sequence = UInt16(65530) &+ UInt16(step)
            kept.store([UInt8(step)], sequence: sequence)
        }
        #expect(kept.packet(13) == [19])
        #expect(kept.packet(6) == [12])
        #expect(kept.packet(5) == nil)
        #expect(kept.packet(14) == nil)
    }

    @Test func syncPacketsHaveThePublishedBytes() throws {
        let ptp = try Vectors("sync_ptp_28", "inputs")
        #expect(
            SyncPacket.ptp(
                position: RTPTimestamp(rawValue: UInt32(ptp.int("play_position_rtp"))),
                instant: PTPInstant(nanoseconds: Int64(ptp.int("wall_ns"))), clock: 0xA1B2_C3D4_E5F6_0718, isFirst: true
            )
                == (try Vectors("sync_ptp_28").bytes("wire")))
        #expect(
            SyncPacket.ntp(
                next: RTPTimestamp(rawValue: 1_000_000), latency: 88200, time: 0xE8D4_A510_4000_0000, isFirst: true)
                == (try Vectors("sync_ntp_20").bytes("wire")))
    }

    @Test func timingAnswersEchoTheQuestion() throws {
        let vector = try Vectors("timing_ntp_32")
        let request = try #require(TimingRequest(vector.bytes("request")))
        #expect(request.answer(received: 0xE8D4_A510_4000_0000, sent: 0xE8D4_A510_4000_1000) == vector.bytes("reply"))
        #expect(TimingRequest([0x80, 0xD2]) == nil)
    }

    @Test func uncompressedLosslessFramesHaveThePublishedBytes() throws {
        let vector = try Vectors("alac_uncompressed_352")
        let samples = (0..<352).flatMap { (i: Int) -> [Int16] in [Int16(3 * i - 100), Int16(200 - 5 * i)] }
        let frame = LosslessEscape.frame(samples)
        #expect(frame.count == vector.int("length"))
        #expect(Array(frame.prefix(16)) == vector.bytes("first_16_bytes"))
        #expect(Array(frame.suffix(8)) == vector.bytes("last_8_bytes"))
        #expect(LosslessEscape.configuration() == (try Vectors("alac_cookie_36").bytes("specific_config_24_bytes")))
    }
}

@Suite struct SessionMessageTests {
    @Test func networkTimesMatchThePublishedFractions() throws {
        for item in try Vectors("network_time").cases("cases") {
            let nanoseconds = try #require(item["ns"] as? Int)
            let instant = PTPInstant(nanoseconds: Int64(nanoseconds))
            let time = NetworkTime(instant)
            #expect(time.seconds == (item["networkTimeSecs"] as? Int).map { Int64($0) })
            let fraction = try #require(item["networkTimeFrac_hex"] as? String)
            #expect(time.fraction == UInt64(fraction, radix: 16))
            #expect(time.instant == instant)
        }
        #expect(NetworkTime(seconds: .max, fraction: 0).instant == nil)
    }

    @Test func theAnchorCarriesItsLargeNumbersAsSignedOnes() throws {
        let anchor = SessionRequests.play(
            position: RTPTimestamp(rawValue: 11_259_375), at: PTPInstant(nanoseconds: 123_456_789_012_345),
            clock: 0xA1B2_C3D4_E5F6_0718)
        let read = try PropertyList(binary: anchor.binary())
        #expect(read["networkTimeFrac"] == .integer(Int64(bitPattern: 14_554_708_795_281_375_232)))
        #expect(read["networkTimeTimelineID"] == .integer(-6_795_153_568_590_067_944))
        #expect(read["networkTimeSecs"] == 123456)
        #expect(read["rtpTime"] == 11_259_375)
    }

    @Test func volumeBodiesMatchThePublishedOnes() throws {
        for item in try Vectors("volume").cases("cases") {
            let percent = Double(try #require(item["percent"] as? Int))
            let body = TextParameters.volume(decibels: percent == 0 ? -144 : -30 + 30 * percent / 100)
            #expect(String(decoding: body, as: UTF8.self) == item["body"] as? String)
        }
    }

    @Test func metadataHasThePublishedBytes() throws {
        let vector = try Vectors("dmap_mlit")
        #expect(
            TrackMetadata(title: vector.text("title"), artist: vector.text("artist"), album: vector.text("album")).body
                == vector.bytes("wire"))
    }

    @Test func metadataIsReadBackAndBounded() throws {
        let track = TrackMetadata(
            title: "千と千尋", artist: "Studio", album: "", genre: "Anime", number: 312, duration: .milliseconds(7_505_250))
        #expect(TrackMetadata(body: track.body) == track)
        #expect(TrackMetadata(body: TrackMetadata(title: "Live").body)?.duration == nil)
        // A cut does not split a character.
        let long = TrackMetadata(
            title: String(repeating: "é", count: 100_000), artist: "x" + String(repeating: "é", count: 600))
        let read = try #require(TrackMetadata(body: long.body))
        #expect(read.title == String(repeating: "é", count: 512))
        #expect(read.artist == "x" + String(repeating: "é", count: 511))
        for count in 0..<track.body.count { #expect(TrackMetadata(body: Array(track.body.prefix(count))) == nil) }
        #expect(TrackMetadata(body: Array("mlit".utf8) + [0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    }

    @Test func listsOfMediaRemoteHaveTheirForm() throws {
        let position = MediaRemoteRequests.Position(elapsed: .seconds(15), rate: 0, date: 800_000_000)
        let item = MediaRemoteRequests.item(
            TrackMetadata(title: "Film", artist: "Studio", genre: "Drama", number: 3, duration: .seconds(60)),
            identifier: 7,
            artwork: ([1, 2], "image/jpeg"), at: position)
        #expect(try PropertyList(binary: item.binary()) == item)
        #expect(item["type"] == "updateMRNowPlayingInfo")
        let params = try #require(item["params"])
        #expect(params["type"] == "npi-text" && params["mergePolicy"] == "replace")
        let prefix = "kMRMediaRemoteNowPlayingInfo"
        func value(_ key: String) -> PropertyList? { params["params"]?[prefix + key] }
        #expect(value("Title") == "Film" && value("Artist") == "Studio" && value("Album") == nil)
        #expect(value("Genre") == "Drama" && value("TrackNumber") == 3)
        #expect(
            value("Duration") == .real(60) && value("ElapsedTime") == .real(15) && value("PlaybackRate") == .real(0))
        #expect(value("ArtworkData") == .data([1, 2]) && value("ArtworkMIMEType") == "image/jpeg")
        let update = try #require(MediaRemoteRequests.position(position)["params"])
        #expect(update["mergePolicy"] == "update" && update["params"]?.dictionary?.count == 4)
        #expect(MediaRemoteRequests.state(isPlaying: false)["params"]?["mrPlaybackState"] == 2)
        let commands = MediaRemoteRequests.commands()["params"]?["mrSupportedCommandsFromSender"]?.array ?? []
        #expect(commands.count == 6)
        let first = try PropertyList(binary: try #require(commands.first?.data))
        #expect(first["kCommandInfoCommandKey"] == 0 && first["kCommandInfoEnabledKey"] == true)
    }

    @Test func commandsOfTheEventChannelAreRead() {
        func command(_ value: PropertyList, type: String = "sendMediaRemoteCommand") -> RemoteCommand? {
            RemoteCommand(event: ["type": .string(type), "value": value])
        }
        #expect(command("paus") == .pause && command("play") == .play && command("plps") == .togglePause)
        #expect(command("nitm") == .next && command("pitm") == .previous && command("stop") == .stop)
        #expect(command("dele") == nil && command(1) == nil && command([:]) == nil)
        #expect(command("paus", type: "updateInfo") == nil)
        #expect(RemoteCommand(event: ["paus"]) == nil)
    }

    @Test func targetsOfDACPAreRead() {
        func command(_ text: String) -> RemoteCommand? { RemoteCommand(target: "/ctrl-int/1/" + text) }
        #expect(command("play") == .play && command("playresume") == .play && command("playpause") == .togglePause)
        #expect(command("pause") == .pause && command("discrete-pause") == .pause && command("stop") == .stop)
        #expect(command("nextitem") == .next && command("previtem") == .previous)
        #expect(command("beginff") == .fastForward && command("beginrew") == .rewind)
        #expect(command("volumeup") == .volumeUp && command("volumedown") == .volumeDown)
        #expect(command("mutetoggle") == .toggleMute)
        #expect(command("setproperty?dmcp.device-volume=-12.5") == .volume(decibels: -12.5))
        #expect(command("setproperty?a=1&dmcp.device-volume=-1000") == .volume(decibels: -144))
        #expect(command("setproperty?dmcp.device-volume=9") == .volume(decibels: 0))
        for text in [
            "", "play/", "Play", "setproperty", "setproperty?dmcp.device-volume=nan", "setproperty?dmcp.device-volume=",
            "getproperty?properties=dmcp.volume", "play" + String(repeating: "?", count: 300),
        ] {
            #expect(command(text) == nil, "\(text)")
        }
        #expect(RemoteCommand(target: "/ctrl-int/2/play") == nil)
    }

    @Test func progressIsReadBackAndNonsenseIsNot() {
        func timestamp(_ value: UInt32) -> RTPTimestamp { RTPTimestamp(rawValue: value) }
        let body = TextParameters.progress(start: timestamp(4_294_967_000), now: timestamp(5), end: timestamp(900))
        #expect(String(decoding: body, as: UTF8.self) == "progress: 4294967000/5/900\r\n")
        let read = TextParameters.progress(in: "4294967000/5/900")
        #expect(read?.start == timestamp(4_294_967_000) && read?.now == timestamp(5) && read?.end == timestamp(900))
        for text in ["", "1/2", "1/2/3/4", "1/2/x", "1/2/4294967296", "-1/2/3"] {
            #expect(TextParameters.progress(in: text) == nil)
        }
    }

    @Test func featureBitsMatchThePublishedOnes() throws {
        for item in try Vectors("features").cases("cases") {
            let text = try #require(item["txt"] as? String)
            let features = try #require(FeatureBits(text: text))
            #expect(features.rawValue == (item["u64"] as? String).flatMap { UInt64($0, radix: 16) })
            let wanted = try #require(item["bits_set_of_interest"] as? [Int])
            #expect(Set(wanted).isSubset(of: features.bits))
        }
        for text in ["", "0x", "0x1,0x2,0x3", "0x1,", "hello", "0x1FFFFFFFF"] {
            #expect(FeatureBits(text: text) == nil)
        }
    }

    @Test func serviceDescriptionsKeepBinaryValuesAndIgnoreNonsense() throws {
        func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
        let wire =
            string("features=0x445F8A00,0x1C340") + string("Flags=0x20004") + string("=nokey") + string("flag")
            + [4] + Array("b=".utf8) + [0, 0xFF] + string("flags=0x0") + [200, 1]
        let record = try TXTRecord(wire: wire)
        #expect(record.features?.contains([.bufferedAudio, .ptp, .transientPairing]) == true)
        #expect(record.statusFlags?.contains(.busy) == true)
        #expect(record.bytes("B") == [0, 0xFF])
        #expect(record["flag"] == "")
        #expect(record["absent"] == nil)
        #expect(throws: WireError.self) { try TXTRecord(wire: [UInt8](repeating: 0, count: 65_537)) }
    }

    /// The entry for media counts, else the one for all kinds of audio, else the first.
    @Test(
        arguments: [
            ([("telephony", 1000), ("default", 2000), ("media", 85_000)], 85),
            ([("telephony", 1000), ("default", 2000)], 2),
            ([("telephony", 1000)], 1), ([], nil), ([("media", 0)], 0), ([("media", 2_000_001)], nil),
            ([("media", -1)], nil),
        ] as [([(String, Int64)], Int?)])
    func theOutputLatencyOfAReceiverIsThatOfMedia(_ stated: [(String, Int64)], _ milliseconds: Int?) {
        let entries = stated.map { kind, micros -> PropertyList in
            ["type": 96, "audioType": .string(kind), "inputLatencyMicros": 0, "outputLatencyMicros": .integer(micros)]
        }
        let info = ReceiverInfo(["audioLatencies": .array(entries)])
        #expect(info.outputLatency == milliseconds.map { .milliseconds($0) })
        #expect(ReceiverInfo(["audioLatencies": 5]).outputLatency == nil)
        #expect(ReceiverInfo(["audioLatencies": [5, [:]]]).outputLatency == nil)
    }

    /// They are stored, and stored files have a maximum size.
    @Test func longTextsOfAReceiverAreCut() {
        let info = ReceiverInfo(["name": .string(String(repeating: "ü", count: 1 << 20)), "sourceVersion": "366.0"])
        #expect((120..<130).contains(info.name?.count ?? 0) && info.sourceVersion == "366.0")
    }

    @Test func streamRepliesAreReadInOldAndNewShape() throws {
        let old = try StreamSetup(
            [
                "streams": [
                    ["type": 103, "dataPort": 5000, "controlPort": 5001, "audioBufferSize": 8_388_608, "streamID": 1]
                ]
            ])
        #expect((old.dataPort, old.controlPort, old.bufferSize, old.streamID) == (5000, 5001, 8_388_608, 1))
        let new = try StreamSetup([
            "streams": [
                [
                    "type": 96, "arrivalToRenderLatencyMs": 85,
                    "streamConnections": [
                        "streamConnectionTypeRTP": ["streamConnectionKeyPort": 6000],
                        "streamConnectionTypeRTCP": ["streamConnectionKeyPort": 6001],
                    ],
                ]
            ]
        ])
        #expect((new.dataPort, new.controlPort, new.bufferSize) == (6000, 6001, nil))
        #expect(new.arrivalToRender == .milliseconds(85))
        for bad: PropertyList in [
            [:], ["streams": []], ["streams": [["dataPort": 70000]]], ["streams": [["dataPort": 0]]],
        ] {
            #expect(throws: WireError.self) { try StreamSetup(bad) }
        }
        #expect(throws: WireError.self) { try SessionSetup(["eventPort": -1]) }
        let session = try SessionSetup(["eventPort": 7001, "timingPeerInfo": ["Addresses": ["10.0.0.9", 5]]])
        #expect(session.peerAddresses == ["10.0.0.9"])
    }
}
