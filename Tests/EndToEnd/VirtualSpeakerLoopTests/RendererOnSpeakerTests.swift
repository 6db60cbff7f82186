import AirPlay
import Dispatch
import MediaCodecs
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

extension LoopTests {
    /// The renderers' contract on a speaker: what an application asks of a synchronizer, heard at the other end.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct RendererOnSpeakerTests {
        private final class Stage {
            let speakers: SoftwareSpeakers
            var receiver: SoftwareSpeaker { speakers.receivers[0] }
            let events = EventLog(clock: MonotonicClock())
            let synchronizer: RenderSynchronizer
            let renderer: AudioRenderer
            let queue = DispatchQueue(label: "test feeding")
            private var anchors: [(media: MediaTime, host: HostInstant)] = []

            init() throws {
                speakers = try SoftwareSpeakers([.buffered], ports: ClockPorts.pair(4))
                synchronizer = RenderSynchronizer(events: events)
                renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
                synchronizer.addRenderer(renderer)
                renderer.setOutput(speakers.outputs[0])
            }

            func end() {
                renderer.invalidate()
                speakers.stop()
            }

            /// Plays pieces one after the other, as a queue would.
            func feed(_ pieces: [SinePieces.Piece]) throws {
                _ = try RequestedPieces(pieces, for: renderer, on: queue)
            }

            /// Waits until the film has been heard up to so many seconds.
            func wait(until seconds: Double, within limit: Duration) -> Bool {
                receiver.record.wait(until: .now.advanced(by: limit)) { record in
                    guard let first = record.spans.first, let last = record.spans.last else { return false }
                    return (last.end - first.instant).inSeconds >= seconds
                }
            }

            /// Silence within a fifth of a second of a film moment, in milliseconds: a busy machine may leave holes
            /// elsewhere.
            func holes(at moment: Double) -> [Double] {
                let spans = receiver.record.spans
                guard let start = starts().first?.host else { return [.infinity] }
                return zip(spans, spans.dropFirst()).compactMap { one, next in
                    let place = (one.end - start).inSeconds
                    return abs(place - moment) < 0.2 ? (next.instant - one.end).inMilliseconds : nil
                }
            }

            /// Where everything stands, for a test that fails.
            var account: Comment {
                let spans = receiver.record.spans.suffix(4).map { "\($0.frames) frames" }
                return Comment(
                    rawValue:
                        "heard \(spans); waiting for \(synchronizer.pendingStart?.rate ?? 0), rate \(synchronizer.effectiveRate), "
                        + "\(renderer.progress); speaker: \(receiver.record.events.suffix(6))")
            }

            /// The starts that the speaker was told: which film moment is heard at which instant.
            func starts() -> [(media: MediaTime, host: HostInstant)] {
                while let entry = events.take() {
                    if case .speakerAnchored(let media, let host, _, _) = entry.event { anchors.append((media, host)) }
                }
                return anchors
            }
        }

        @Test func aChangeOfSpeedIsHeardWithinSixTenthsOfASecondAndKeepsTheStream() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.feed([.aac(44100, 44_100 * 30)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(until: 2, within: .seconds(20)), stage.account)
            for speed in [1.5, 1] {
                let before = stage.starts().count
                let asked = HostInstant.now
                stage.synchronizer.setRate(Float(speed))
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
                // A packet or three may be heard before: they begin earlier than the moment that was asked for. A busy machine's
                // speaker may miss the first few.
                let begins = stage.receiver.record.spans.map { ($0.instant - start.host).inMilliseconds }
                print("speaker: pieces of sound begin \(begins.suffix(3)) ms from that")
                #expect(begins.contains { $0 > -80 && $0 < 700 })
            }
        }

        /// Packets that pass untouched cannot be cut: the next piece begins within a packet of its place and not later.
        @Test func afterPacketsThatPassedTheNextPieceIsInItsPlace() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.feed([.aac(44100, 132_301), .mp3(48000, 144_001)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(until: 5.93, within: .seconds(30)), stage.account)
            let holes = stage.holes(at: 132_301.0 / 44_100)
            print("speaker: holes of \(holes) ms at a joint in a stream of packets")
            #expect(holes.allSatisfy { $0 < 50 })
            // What follows is neither early nor late: it ends where the film does.
            let end = try #require(stage.receiver.record.spans.last).end
            let start = try #require(stage.starts().first).host
            #expect(abs((end - start).inSeconds - (132_301.0 / 44_100 + 144_001.0 / 48_000)) < 0.15)
        }
    }
}
