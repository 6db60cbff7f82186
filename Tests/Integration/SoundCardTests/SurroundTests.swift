import CardOutput
import Foundation
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import RouteTestSupport

extension SoundCardTests {
    /// Six channels into a null sink with another channel order, each with a different tone.
    @Suite(
        .serialized, .timeLimit(.minutes(1)),
        .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct SurroundTests {
        /// The order of WAVE and SMPTE, which is that of our channels.
        private static let places = "front-left,front-right,front-center,lfe,rear-left,rear-right"

        private func tone(_ channel: Int) -> Double { 400 * Double(channel + 1) }

        private func film(_ layout: ChannelLayout) -> AudioFormat {
            AudioFormat(parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: 48_000, layout: layout)
        }

        /// Plays two seconds of a 5.1 film; returns the recording of each channel of the sink.
        private func heard(_ card: SoundCard, _ server: PulseServer) throws -> (format: PCMFormat, channels: [[Float]])
        {
            let file = server.folder.appendingPathComponent("surround.raw").path
            let recorder = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    "exec parec -s '\(server.address)' -d out.monitor --raw --format=s16le --rate=48000 --channels=6"
                        + " --channel-map=\(Self.places) > '\(file)'",
                ])
            let synchronizer = RenderSynchronizer()
            let delivery = card.delivery(for: film(.surround51), mustDecode: false)
            guard case .pcm(let format) = delivery else { preconditionFailure("a sound card accepts decoded audio") }
            let room = Signal()
            try card.prepare(
                delivery,
                context: AudioOutputContext(
                    timebase: synchronizer.timebase, writable: room, events: EventLog(clock: MonotonicClock()),
                    id: OutputID(0)))
            defer { card.close() }
            let settled = HostInstant.now.advanced(by: .seconds(2))
            while !card.isReadyToStart, HostInstant.now < settled {
                HostInstant.now.advanced(by: .milliseconds(5)).sleep()
            }
            let start = HostInstant.now.advanced(by: card.latency.startLead + .milliseconds(50))
            card.timebaseDidChange(synchronizer.setRate(1, time: .zero, atHostTime: start))
            let block = PCMBlock(format: format, capacity: 1024)
            var frame: Int64 = 0
            while HostInstant.now < start.advanced(by: .seconds(2)) {
                for index in 0..<block.capacity {
                    let time = Double(frame + Int64(index)) / 48_000
                    for channel in 0..<format.channels {
                        block.samples[index * format.channels + channel] = Float(
                            0.3 * sin(2 * .pi * tone(channel) * time))
                    }
                }
                (block.frames, block.start) = (block.capacity, MediaTime(value: frame, timescale: 48_000))
                var offset = 0
                while offset < block.frames, HostInstant.now < start.advanced(by: .seconds(2)) {
                    offset += card.accept(block, from: offset)
                    if offset < block.frames {
                        room.wait(until: .now.advanced(by: .milliseconds(20)))
                        room.clear()
                    }
                }
                frame += Int64(block.frames)
            }
            recorder.end()
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
            var channels = [[Float]](repeating: [], count: 6)
            for index in 0..<(bytes.count / 12) {
                for channel in 0..<6 {
                    let place = index * 12 + channel * 2
                    let value = Int16(bitPattern: UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8)
                    channels[channel].append(Float(value) / 32_768)
                }
            }
            return (format, channels.map { Array($0.suffix(72_000).prefix(48_000)) })
        }

        /// Returns the level of a tone.
        private func level(_ frequency: Double, in samples: [Float]) -> Double {
            var (real, imaginary) = (0.0, 0.0)
            for (index, sample) in samples.enumerated() {
                let turn = 2 * .pi * frequency * Double(index) / 48_000
                real += Double(sample) * cos(turn)
                imaginary += Double(sample) * sin(turn)
            }
            return 2 * (real * real + imaginary * imaginary).squareRoot() / Double(max(1, samples.count))
        }

        @Test func eachChannelOfAFilmComesOutOfItsOwnLoudspeaker() throws {
            let server = try PulseServer(sink: "rate=48000 channels=6 channel_map=\(Self.places) norewinds=1")
            defer { server.stop() }
            let (format, channels) = try heard(SoundCard(device: "pulse"), server)
            #expect(format.channels == 6 && format.layout.mask == 0x3F)
            for loudspeaker in 0..<6 {
                let levels = (0..<6).map { level(tone($0), in: channels[loudspeaker]) }
                print("loudspeaker \(loudspeaker): \(levels.map { String(format: "%.3f", $0) }.joined(separator: " "))")
                for channel in 0..<6 {
                    #expect(abs(levels[channel] - (channel == loudspeaker ? 0.3 : 0)) < 0.02)
                }
            }
        }

        @Test func aSinkWithTwoLoudspeakersIsGivenStereo() throws {
            let server = try PulseServer()
            defer { server.stop() }
            let card = SoundCard(device: "pulse")
            defer { card.close() }
            #expect(
                card.delivery(for: film(.surround51), mustDecode: false)
                    == .pcm(PCMFormat(sampleRate: 48_000, layout: .stereo)))
            // A user-provided channel count overrides the detection.
            let forced = SoundCard(device: "pulse", channels: .layout(.surround51))
            defer { forced.close() }
            // ALSA's six channels have rear surrounds.
            #expect(
                forced.delivery(for: film(.stereo), mustDecode: false)
                    == .pcm(PCMFormat(sampleRate: 48_000, layout: ChannelLayout(mask: 0x3F, count: 6))))
        }
    }
}
