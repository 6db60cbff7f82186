import AirPlay
import Glibc
import LocalOutput
import MediaCodecs
import MediaCore
import PTP
import SyncRendering
import Testing
import VirtualSpeaker

extension SoundCardTests {
    /// A film whose sound goes from a real sound card to speakers in software and back, each of which tells when it was
    /// heard.
    @Suite(
        .serialized, .timeLimit(.minutes(2)),
        .enabled(if: PulseServer.isAvailable, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct RouteChangeTests {
        private static let ports: (event: UInt16, general: UInt16) = {
            let base = UInt16(20_000 + getpid() % 3000 * 4 + 2)
            return (base, base + 1)
        }()
        private let identity = SenderIdentity.random(name: "Talkie test")

        /// A second of a loud tone, as the film's own packets.
        private func sound(from start: Int64) -> SampleBuffer {
            let format = AudioFormat(
                parameters: CodecParameters(codec: "pcm_s16le", bitsPerRawSample: 16), sampleRate: 48000,
                layout: .stereo)
            let batch = PacketBatch()
            for packet in 0..<Int64(10) {
                let first = start + packet * 4800
                let samples = (0..<9600).map { Int16(($0 / 2) % 40 < 20 ? 12000 : -12000) }
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

        private func rest(_ duration: Duration) { HostInstant.now.advanced(by: duration).sleep() }

        @Test func theOldOutputFallsSilentWhereTheNewOneIsHeard() async throws {
            let server = try PulseServer()
            defer { server.stop() }
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
            let card = SoundCard(device: "pulse")
            let synchronizer = RenderSynchronizer()
            let renderer = AudioRenderer(
                synchronizer: synchronizer, codecs: FilmAudioCodecs(), events: EventLog(clock: MonotonicClock()))
            let group = SpeakerGroup(members: [card], codecs: FilmAudioCodecs())
            renderer.setOutput(group)
            renderer.start { _ in }
            defer { renderer.invalidate() }
            for second in 0..<Int64(60) { renderer.enqueue(sound(from: second * 48000)) }
            let limit = HostInstant.now.advanced(by: .seconds(10))
            while (renderer.status.acceptedUntil?.duration ?? .zero) < .milliseconds(60) || !group.isReadyToStart {
                try #require(HostInstant.now < limit, "the card takes no sound")
                rest(.milliseconds(5))
            }
            let recorder = try server.record()
            let start = HostInstant.now.advanced(by: synchronizer.startLead)
            synchronizer.setRate(1, time: .zero, atHostTime: start)
            rest(.seconds(2))

            /// What a change came to: its instant, and how long it took since it was asked for.
            func change(to outputs: [any AudioOutput]) async throws -> (at: HostInstant, since: HostInstant) {
                let asked = HostInstant.now
                guard case .changed(let moment?, let without) = await group.change(to: outputs) else {
                    throw OutputError(.failed, "the outputs did not change")
                }
                #expect(without.isEmpty)
                let at = try #require(
                    synchronizer.timebase.snapshot.segment(at: .now).hostInstant(of: moment))
                return (at, asked)
            }

            let toBuffered = try await change(to: [speakers[0]])
            rest(.seconds(2))
            let toRealtime = try await change(to: [speakers[1]])
            rest(.seconds(2))
            let toCard = try await change(to: [card])
            rest(.seconds(1))
            synchronizer.setRate(0)
            rest(.milliseconds(500))
            let recording = try recorder.finish()

            let loud = recording.samples.indices.lazy.filter { abs(recording.samples[$0]) > 0.1 }
                .map { recording.instant(of: Double($0)) }
            let split = Double(toRealtime.at.nanoseconds)
            let cardEnd = try #require(loud.last { $0 < split })
            let cardBegin = try #require(loud.first { $0 > split })
            let buffered = receivers[0].record.spans
            let realtime = receivers[1].record.spans
            let first = (try #require(buffered.first).instant, try #require(realtime.first).instant)
            let last = (try #require(buffered.last).end, try #require(realtime.last).end)
            func gap(_ from: Double, _ to: Double) -> Double { (to - from) / 1e6 }
            func ns(_ instant: HostInstant) -> Double { Double(instant.nanoseconds) }
            let gaps = [
                gap(cardEnd, ns(first.0)), gap(ns(last.0), ns(first.1)), gap(ns(last.1), cardBegin),
            ]
            let begins = [
                (first.0 - toBuffered.at).inMilliseconds, (first.1 - toRealtime.at).inMilliseconds,
                (cardBegin - ns(toCard.at)) / 1e6,
            ]
            let waits = [toBuffered, toRealtime, toCard].map { ($0.at - $0.since).inMilliseconds }
            print("route changes: card → buffered, buffered → realtime, realtime → card")
            print("  silence between old and new (negative: both were heard) \(gaps) ms")
            print("  the new output begins after its instant by \(begins) ms")
            print("  from the wish to the change \(waits) ms")
            // A busy machine may be late with a request for silence; holes are what must not be.
            #expect(gaps.allSatisfy { $0 < 30 && $0 > -300 })
            #expect(begins.allSatisfy { abs($0) < 30 })
        }
    }
}
