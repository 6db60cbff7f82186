import AirPlay
import MediaCodecs
import MediaCore
import PTP
import SyncRendering
import Testing
import VirtualSpeaker

extension LoopTests {
    /// A buffered and a realtime speaker in one group, each with an encoding of its own.
    @Suite(.serialized, .timeLimit(.minutes(1))) struct MixedGroupTests {
        private static let ports: (event: UInt16, general: UInt16) = (34619, 34620)

        /// A second or so of a quiet tone, as the film's own packets.
        private func sound(from start: Int64) -> SampleBuffer {
            let format = AudioFormat(
                parameters: CodecParameters(codec: "pcm_s16le", bitsPerRawSample: 16), sampleRate: 48000,
                layout: .stereo)
            let batch = PacketBatch()
            for packet in 0..<Int64(10) {
                let first = start + packet * 4800
                let samples = (0..<9600).map { Int16(truncatingIfNeeded: 1000 + ($0 / 2 % 100) * 20) }
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(
                            presentationTime: MediaTime(value: first, timescale: 48000),
                            duration: MediaTime(value: 4800, timescale: 48000)))
                }
            }
            return SampleBuffer(
                payload: .encodedAudio(format, batch), presentationTime: MediaTime(value: start, timescale: 48000),
                duration: MediaTime(value: 48000, timescale: 48000), flags: .sync)
        }

        @Test func theyBeginAtOneInstantAndAPauseSilencesBoth() throws {
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(
                identity: identity.clock, eventPort: Self.ports.event, generalPort: Self.ports.general)
            let receivers = try ["127.0.0.2", "127.0.0.3"].map { address in
                try SoftwareSpeaker(
                    SpeakerConfiguration(
                        address: IPv4Address(address)!, port: 0, clock: .required, ptpPorts: Self.ports))
            }
            defer { for receiver in receivers { receiver.stop() } }
            let speakers = zip(receivers, [Route.buffered, .realtime]).map { receiver, route in
                AirPlaySpeaker(
                    name: route.rawValue,
                    configuration: .init(
                        address: SpeakerAddress(
                            host: receiver.configuration.address.description, port: receiver.port),
                        identity: identity), clocks: clocks, route: route)
            }
            let synchronizer = RenderSynchronizer()
            let renderer = AudioRenderer(
                synchronizer: synchronizer, codecs: FilmAudioCodecs(), events: EventLog(clock: MonotonicClock()))
            renderer.setOutput(SpeakerGroup(members: speakers, codecs: FilmAudioCodecs()))
            renderer.start { _ in }
            defer { renderer.invalidate() }
            for second in 0..<Int64(6) { renderer.enqueue(sound(from: second * 48000)) }
            let limit = HostInstant.now.advanced(by: .seconds(15))
            while (renderer.status.acceptedUntil?.duration ?? .zero) < .milliseconds(600), HostInstant.now < limit {
                HostInstant.now.advanced(by: .milliseconds(5)).sleep()
            }
            let start = HostInstant.now.advanced(by: synchronizer.startLead)
            synchronizer.setRate(1, time: .zero, atHostTime: start)
            for (receiver, speaker) in zip(receivers, speakers) {
                #expect(
                    receiver.record.wait(until: start.advanced(by: .seconds(4))) { record in
                        record.spans.reduce(0) { $0 + $1.frames } > 48000
                    }, "\(speaker.name): \(receiver.record.events.suffix(6))")
            }
            let first = try receivers.map { try #require($0.record.spans.first?.instant) }
            print("group: begins \(first.map { ($0 - start).inMilliseconds }) ms from the instant")
            #expect(first.allSatisfy { abs(($0 - start).inMilliseconds) < 1 })
            let asked = HostInstant.now
            synchronizer.setRate(0)
            for receiver in receivers {
                #expect(
                    receiver.record.wait(until: asked.advanced(by: .seconds(2))) {
                        ($0.spans.last?.end ?? asked) - asked < .milliseconds(150)
                    })
            }
        }
    }
}
