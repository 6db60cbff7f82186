import AirPlay
import AirPlayTransport
import Dispatch
import MediaCodecs
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

extension LoopTests {
    /// The renderers' contract on a speaker: synchronizer calls of an application, verified in the speaker's record.
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

            /// Enqueues pieces one after the other on request.
            func feed(_ pieces: [SinePieces.Piece]) throws {
                _ = try RequestedPieces(pieces, for: renderer, on: queue)
            }

            /// Waits until a number of seconds of film was audible.
            func wait(until seconds: Double, within limit: Duration) -> Bool {
                receiver.record.wait(until: .now.advanced(by: limit)) { record in
                    guard let first = record.spans.first, let last = record.spans.last else { return false }
                    return (last.end - first.instant).inSeconds >= seconds
                }
            }

            /// Returns the gaps within 0.2 s of a film time, in milliseconds; a busy machine may cause gaps elsewhere.
            func holes(at moment: Double) -> [Double] {
                let spans = receiver.record.spans
                guard let start = starts().first?.host else { return [.infinity] }
                return zip(spans, spans.dropFirst()).compactMap { one, next in
                    let place = (one.end - start).inSeconds
                    return abs(place - moment) < 0.2 ? (next.instant - one.end).inMilliseconds : nil
                }
            }

            /// State of sender and speaker for failure messages.
            var account: Comment {
                let spans = receiver.record.spans.suffix(4).map { "\($0.frames) frames" }
                return Comment(
                    rawValue:
                        "heard \(spans); waiting for \(synchronizer.pendingStart?.rate ?? 0), rate \(synchronizer.effectiveRate), "
                        + "\(renderer.progress); speaker: \(receiver.record.events.suffix(6))")
            }

            /// Returns the starts that were sent to the speaker, as film time and host instant.
            func starts() -> [(media: MediaTime, host: HostInstant)] {
                while let entry = events.removeFirst() {
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
                // The audio continues from there without a gap.
                let settled = start.host.advanced(by: .seconds(2))
                #expect(
                    stage.receiver.record.wait(until: settled.advanced(by: .seconds(2))) { record in
                        record.spans.last.map { $0.end >= settled } ?? false
                    })
                // Up to six packets may precede: they start earlier than the requested time, and one may be silent
                // where the packets of the two speeds meet. On a busy machine the speaker may miss the first few.
                let begins = stage.receiver.record.spans.map { ($0.instant - start.host).inMilliseconds }
                print("speaker: pieces of sound begin \(begins.suffix(3)) ms from that")
                #expect(begins.contains { $0 > -140 && $0 < 700 })
            }
        }

        /// Passed-through packets cannot be cut: the next piece starts within a packet of its position and not later.
        @Test func afterPacketsThatPassedTheNextPieceIsInItsPlace() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.feed([.aac(44100, 132_301), .mp3(48000, 144_001)])
            stage.synchronizer.setRate(1, time: .zero)
            try #require(stage.wait(until: 5.93, within: .seconds(30)), stage.account)
            let holes = stage.holes(at: 132_301.0 / 44_100)
            print("speaker: holes of \(holes) ms at a joint in a stream of packets")
            #expect(holes.allSatisfy { $0 < 50 })
            // The next piece is neither early nor late: it ends at the end of the film.
            let end = try #require(stage.receiver.record.spans.last).end
            let start = try #require(stage.starts().first).host
            #expect(abs((end - start).inSeconds - (132_301.0 / 44_100 + 144_001.0 / 48_000)) < 0.15)
        }
    }
}
