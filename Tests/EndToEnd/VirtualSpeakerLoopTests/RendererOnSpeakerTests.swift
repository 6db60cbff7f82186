import AirPlay
import Dispatch
import MediaCodecs
import MediaCore
import MediaFiles
import PTP
import SyncRendering
import TalkieTestKit
import Testing
import VirtualSpeaker

extension LoopTests {
    /// The renderers' contract on a speaker: what an application asks of a synchronizer, heard at the other end.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct RendererOnSpeakerTests {
        private static let ports: (event: UInt16, general: UInt16) = (34_639, 34_640)

        private final class Stage {
            let receiver: SoftwareSpeaker
            let events = EventLog(clock: MonotonicClock())
            let synchronizer: RenderSynchronizer
            let renderer: AudioRenderer
            let queue = DispatchQueue(label: "test feeding")
            private var anchors: [(media: MediaTime, host: HostInstant)] = []

            init() throws {
                let identity = SenderIdentity.random(name: "Talkie test")
                receiver = try SoftwareSpeaker(
                    SpeakerConfiguration(port: 0, clock: .required, ptpPorts: RendererOnSpeakerTests.ports))
                let speaker = AirPlaySpeaker(
                    name: "speaker",
                    configuration: .init(
                        address: SpeakerAddress(host: "127.0.0.2", port: receiver.port), identity: identity),
                    clocks: PTPDirectory(
                        identity: identity.clock, eventPort: RendererOnSpeakerTests.ports.event,
                        generalPort: RendererOnSpeakerTests.ports.general))
                synchronizer = RenderSynchronizer(events: events)
                renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
                try synchronizer.addRenderer(renderer)
                renderer.setOutput(speaker)
            }

            func end() {
                renderer.invalidate()
                receiver.stop()
            }

            /// Plays pieces one after the other, as a queue would.
            func feed(_ pieces: [SinePieces.Piece]) throws {
                var sources: [(source: any SampleSource, offset: MediaTime)] = []
                var offset = MediaTime.zero
                for piece in pieces {
                    let file = try MediaFile.open(try SinePieces.file(piece, from: offset))
                    sources.append((try file.reader(for: try #require(file.summary.track(.audio))), offset))
                    offset += MediaTime(value: Int64(piece.frames), timescale: Int32(piece.rate))
                }
                let renderer = renderer
                let list = sources
                let next = Lock(0)
                renderer.requestMediaDataWhenReady(on: queue) {
                    while renderer.isReadyForMoreMediaData {
                        let index = next.withLock { $0 }
                        guard index < list.count else { return renderer.stopRequestingMediaData() }
                        if let buffer = try? list[index].source.read() {
                            renderer.enqueue(SinePieces.moved(buffer, by: list[index].offset))
                        } else {
                            next.withLock { $0 += 1 }
                        }
                    }
                }
            }

            /// Waits until so many seconds have been heard in all.
            func wait(heard seconds: Double, within limit: Duration) -> Bool {
                receiver.record.wait(until: .now.advanced(by: limit)) { record in
                    record.spans.reduce(0.0) { $0 + Double($1.frames) / Double($1.sampleRate) } >= seconds
                }
            }

            /// The starts that the speaker was told: which film moment is heard at which instant.
            func starts() -> [(media: MediaTime, host: HostInstant)] {
                while let entry = events.take() {
                    if case .audioHeard(let media, let host, _) = entry.event { anchors.append((media, host)) }
                }
                return anchors
            }
        }

        @Test func aChangeOfSpeedIsHeardWithinSixTenthsOfASecondAndKeepsTheStream() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.feed([.aac(44100, 44_100 * 30)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(heard: 2, within: .seconds(20)), "\(stage.receiver.record.events.suffix(6))")
            for speed in [1.5, 1] {
                let before = stage.starts().count
                let asked = HostInstant.now
                stage.synchronizer.setRate(speed)
                let limit = asked.advanced(by: .seconds(5))
                while stage.starts().count == before, HostInstant.now < limit {
                    HostInstant.now.advanced(by: .milliseconds(5)).sleep()
                }
                let start = try #require(stage.starts().last)
                let due = try #require(stage.synchronizer.timebase.snapshot.upcoming.hostInstant(of: start.media))
                print(
                    "speaker: at speed \(speed) heard \((start.host - asked).inMilliseconds) ms after it was asked for")
                #expect(start.host - asked <= .milliseconds(600))
                #expect(abs((start.host - due).inMilliseconds) < 1)
                // And heard it is, from there on without a hole.
                let settled = start.host.advanced(by: .seconds(2))
                #expect(
                    stage.receiver.record.wait(until: settled.advanced(by: .seconds(2))) { record in
                        record.spans.last.map { $0.end >= settled } ?? false
                    })
                let span = try #require(stage.receiver.record.spans.last)
                #expect(abs((span.instant - start.host).inMilliseconds) < 50)
            }
        }

        @Test func aQueueOfMixedFormatsIsHeardWithoutAHole() throws {
            let stage = try Stage()
            defer { stage.end() }
            stage.renderer.allowsPassThrough = false
            try stage.feed([.aac(44100, 132_301), .mp3(48000, 144_001), .alac(48000, 96_007)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(heard: 7.9, within: .seconds(30)), "\(stage.receiver.record.events.suffix(6))")
            let spans = stage.receiver.record.spans
            #expect(spans.count == 1, "\(spans.count) pieces: a hole or a seam")
            let start = try #require(stage.starts().first)
            #expect(abs((try #require(spans.first).instant - start.host).inMilliseconds) < 1)
        }

        /// Packets that pass untouched cannot be cut: the next piece begins within a packet of its place and not later.
        @Test func afterPacketsThatPassedTheNextPieceIsInItsPlace() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.feed([.aac(44100, 132_301), .mp3(48000, 144_001)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(heard: 5.93, within: .seconds(30)), "\(stage.receiver.record.events.suffix(6))")
            let spans = stage.receiver.record.spans
            let holes = zip(spans, spans.dropFirst()).map { ($1.instant - $0.end).inMilliseconds }
            print("speaker: holes of \(holes) ms at a joint in a stream of packets")
            #expect(holes.allSatisfy { $0 < 50 })
            let end = try #require(spans.last).end
            let start = try #require(stage.starts().first).host
            #expect(abs((end - start).inSeconds - (132_301 / 44_100 + 3)) < 0.1)
        }
    }
}
