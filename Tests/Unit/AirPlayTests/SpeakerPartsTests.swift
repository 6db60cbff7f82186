import AirPlayWire
import MediaCore
import PTP
import SyncRendering
import Testing

@testable import AirPlay

@Suite struct SoundLineTests {
    private func seconds(_ value: Double) -> MediaTime { MediaTime(seconds: value) }

    @Test func packetsLieWhereTheFilmSaysAndRoundedTimesFollowOn() {
        var line = SoundLine(sampleRate: 48000, first: RTPTimestamp(rawValue: .max))
        #expect(line.place(seconds(10), frames: 1024, isContiguous: false).rawValue == .max)
        // 21.333 ms, as a container that counts milliseconds writes it.
        #expect(line.place(seconds(10.021), frames: 1024, isContiguous: false).rawValue == 1023)
        #expect(line.place(nil, frames: 1024, isContiguous: false).rawValue == 2047)
        // A hole of one packet.
        #expect(line.place(seconds(10 + 4 * 1024.0 / 48000), frames: 1024, isContiguous: false).rawValue == 4095)
        #expect(line.timestamp(of: seconds(11), rate: 1)?.rawValue == 47999)
        #expect(line.timestamp(of: seconds(9), rate: 1) == RTPTimestamp(rawValue: .max).advanced(byFrames: -48000))
        #expect(line.timestamp(of: seconds(12), rate: 2)?.rawValue == 47999)
    }

    @Test func timestampsGoOnUpwardAfterAJumpBack() {
        var line = SoundLine(sampleRate: 44100, first: RTPTimestamp(rawValue: 1000))
        _ = line.place(seconds(100), frames: 1024, isContiguous: false)
        line.jump()
        #expect(line.isEmpty)
        #expect(line.timestamp(of: seconds(100), rate: 1) == nil)
        #expect(line.place(seconds(3), frames: 1024, isContiguous: false).rawValue == 1000 + 1024 + 4410)
        #expect(line.timestamp(of: seconds(3), rate: 1)?.rawValue == 6434)
    }

    @Test func aPacketInsideTheOneBeforeFollowsOn() {
        var line = SoundLine(sampleRate: 48000, first: RTPTimestamp(rawValue: 0))
        _ = line.place(seconds(1), frames: 1024, isContiguous: false)
        #expect(line.place(seconds(0.5), frames: 1024, isContiguous: false).rawValue == 1024)
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
        // FFmpeg's encoder adds a mark that says "no band replication".
        #expect(DeliveryChoice.untouched(aac([0x11, 0x90, 0x56, 0xE5, 0x00])) == .aac48000)
    }

    @Test func everythingElseIsEncodedAnew() {
        for format in [
            aac([0x11, 0x90, 0x56, 0xE5, 0x80]),  // band replication in use
            aac([0x11, 0xB0], layout: .surround51), aac([0x11, 0x94]),  // 960 frames
            aac([0x2B, 0x11, 0x88, 0x00]),  // HE-AAC named outright
            aac([]), aac([0x11]), aac([0x11, 0x90], rate: 44100), aac([0xFF, 0xFF]),
            AudioFormat(parameters: CodecParameters(codec: "ac3"), sampleRate: 48000, layout: .stereo),
        ] {
            #expect(DeliveryChoice.untouched(format) == nil, "\(format.parameters.configuration)")
        }
        let changed = DeliveryChoice(for: aac([0x11, 0x90]), mustDecode: true, reencoding: .appleLossless)
        #expect(!changed.isPassThrough)
        #expect(changed.stream == .lossless48000)
        #expect(changed.encodedFormat.parameters.codec == "alac")
        let music = DeliveryChoice(for: aac([], rate: 44100), mustDecode: false, reencoding: .aacLC)
        #expect(music.stream == .aac44100)
    }
}

@Suite struct PacketQueueTests {
    @Test func packetsComeOutAsTheyWentInAcrossTheWrap() {
        var queue = PacketQueue(bytes: 100, packets: 4)
        var out: [UInt8] = []
        for round in 0..<50 {
            let packet = (0..<(30 + round % 7)).map { UInt8($0 + round) }
            #expect(packet.withUnsafeBytes { queue.append($0, timestamp: RTPTimestamp(rawValue: UInt32(round))) })
            #expect(packet.withUnsafeBytes { queue.append($0, timestamp: RTPTimestamp(rawValue: 1000)) })
            #expect(queue.take(into: &out)?.rawValue == UInt32(round))
            #expect(out == packet)
            #expect(queue.take(into: &out)?.rawValue == 1000)
            #expect(out == packet)
        }
        #expect(queue.take(into: &out) == nil)
        #expect(queue.byteCount == 0)
    }

    @Test func aFullQueueTakesNothing() {
        var queue = PacketQueue(bytes: 100, packets: 2)
        func add(_ count: Int) -> Bool {
            [UInt8](repeating: 0, count: count).withUnsafeBytes {
                queue.append($0, timestamp: RTPTimestamp(rawValue: 0))
            }
        }
        #expect(!add(101))
        #expect(add(60))
        #expect(!add(41))
        #expect(add(40))
        #expect(!add(0))
    }
}

@Suite struct SpeakerAddressTests {
    @Test func addressesAreReadWithAndWithoutAPort() {
        #expect(SpeakerAddress(url: "airplay://10.77.0.11:7001") == SpeakerAddress(host: "10.77.0.11", port: 7001))
        #expect(SpeakerAddress(url: "airplay://kitchen.local/") == SpeakerAddress(host: "kitchen.local", port: 7000))
        for text in [
            "", "http://a", "airplay://", "airplay://a:0", "airplay://a:70000", "airplay://a:b", "airplay://a b",
            "airplay://a/b", "airplay://u@a",
        ] {
            #expect(SpeakerAddress(url: text) == nil, "\(text)")
        }
    }

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
}
