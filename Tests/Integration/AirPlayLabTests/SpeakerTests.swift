import AirPlay
import AirPlayTransport
import AirPlayWire
import Foundation
import MediaCore
import SyncRendering
import Testing

@testable import RouteTestSupport

/// Plays audio through `AirPlaySpeaker` as the renderer does, and analyses the recording.
extension SpeakerLabTests {
    @Suite struct SpeakerTests {
        /// Replaces the renderer: feeds packets and forwards timeline changes.
        private final class Feeder: RenderSynchronizer.Follower {
            let speaker: AirPlaySpeaker
            let context: AudioOutputContext
            let units: [[UInt8]]

            init(_ speaker: AirPlaySpeaker, _ synchronizer: RenderSynchronizer, _ units: [[UInt8]]) {
                self.speaker = speaker
                self.units = units
                context = AudioOutputContext(
                    timebase: synchronizer.timebase, writable: Signal(), events: EventLog(clock: MonotonicClock()),
                    id: OutputID(0))
            }

            var startLead: Duration { speaker.latency.startLead }
            var stopLead: Duration { speaker.latency.stopLead }
            func timebaseDidChange(_ snapshot: TimebaseSnapshot) { speaker.timebaseDidChange(snapshot) }

            /// Writes all units from a film time on; FFmpeg's encoder has a delay of one unit.
            func feed(from start: MediaTime) throws {
                let batch = PacketBatch()
                for (index, unit) in units.enumerated() {
                    let time = MediaTime(value: Int64(index - 1) * 1024, timescale: 48000)
                    // Includes the unit before the one that contains the start: the decoder needs it to output a
                    // complete one.
                    guard time.advanced(by: .milliseconds(43)) > start else { continue }
                    unit.withUnsafeBytes {
                        batch.append(
                            $0, as: .init(presentationTime: time, duration: MediaTime(value: 1024, timescale: 48000)))
                    }
                }
                var offset = 0
                let deadline = HostInstant.now.advanced(by: .seconds(5))
                while offset < batch.packets.count {
                    offset += speaker.accept(batch, from: offset)
                    if offset < batch.packets.count {
                        try #require(context.writable.wait(until: deadline), "the speaker takes no more sound")
                    }
                }
                speaker.finish()
            }
        }

        private let aac = AudioFormat(
            parameters: CodecParameters(codec: "aac", configuration: [0x11, 0x90], framesPerPacket: 1024),
            sampleRate: 48000, layout: .stereo)

        /// Returns a speaker that buffers the film while the timeline is stopped.
        private func feeding(
            _ speaker: AirPlaySpeaker, _ units: [[UInt8]]
        ) throws -> (synchronizer: RenderSynchronizer, feeder: Feeder) {
            let synchronizer = RenderSynchronizer()
            let feeder = Feeder(speaker, synchronizer, units)
            try speaker.prepare(.passThrough(aac), context: feeder.context)
            synchronizer.add(feeder)
            speaker.setGain(0.99)
            try feeder.feed(from: .zero)
            return (synchronizer, feeder)
        }

        /// Starts at film time 0 after the minimum start lead.
        private func start(_ synchronizer: RenderSynchronizer) -> TimebaseSegment {
            synchronizer.setRate(1, time: .zero, atHostTime: .now.advanced(by: synchronizer.startLead)).upcoming
        }

        private func play(for duration: Duration) { HostInstant.now.advanced(by: duration).sleep() }

        @Test(.timeLimit(.minutes(2))) func aForeignSpeakerReceivesWhatPlaysItsImageAndItsProgress() throws {
            let peer = try Peer(.foreign)
            let metadata = try Lab.Metadata()
            let image = Data([0xFF, 0xD8, 0xFF, 0xE0] + (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            let speaker = peer.output()
            defer { speaker.close() }
            func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }
            // The film's beginning is ten seconds before the timeline's.
            speaker.setNowPlaying(
                NowPlaying(
                    title: "Сталкер", artist: "Studio", album: "Album", artwork: .init(Array(image)),
                    duration: seconds(100), start: seconds(-10)))
            let (synchronizer, feeder) = try feeding(speaker, try peer.lab.aacBeeps(seconds: 30, rate: 48000))
            _ = feeder
            let line = start(synchronizer)
            #expect(metadata.wait { $0.items.contains { $0.code == "PICT" && $0.data == image } })
            #expect(metadata.text("minm") == "Сталкер" && metadata.text("asar") == "Studio")
            #expect(metadata.text("asal") == "Album")
            /// Elapsed time and duration of the last progress, in seconds.
            func progress() -> (elapsed: Double, duration: Double)? {
                let numbers = (metadata.text("prgr") ?? "").split(separator: "/").compactMap {
                    UInt32($0.filter(\.isNumber))
                }
                guard numbers.count == 3 else { return nil }
                return (Double(numbers[1] &- numbers[0]) / 48000, Double(numbers[2] &- numbers[0]) / 48000)
            }
            let started = try #require(progress(), "\(metadata.items.map(\.code))")
            #expect(abs(started.elapsed - 10) < 1 && abs(started.duration - 100) < 0.01, "\(started)")
            // The metadata precedes the start that it describes.
            line.hostInstant(of: seconds(2))?.sleep()
            synchronizer.setRate(0)
            let paused = synchronizer.currentTime().seconds + 10
            #expect(
                metadata.wait { _ in progress().map { abs($0.elapsed - paused) < 0.5 && $0.elapsed > 10 } ?? false },
                "\(paused) \(metadata.text("prgr") ?? "")")
            // It states that it reads property lists, and passes them on.
            func lists() -> [PropertyList] {
                // ignored: a list that is not complete yet is none.
                metadata.items.filter { $0.code == "copl" }.compactMap { try? PropertyList(binary: Array($0.data)) }
            }
            #expect(
                metadata.wait { _ in
                    lists().last { $0["type"] == "updateMRPlaybackState" }?["params"]?["mrPlaybackState"] == 2
                }, "\(lists().map { $0["type"] })")
            let rates = lists().compactMap { $0["params"]?["params"]?["kMRMediaRemoteNowPlayingInfoPlaybackRate"] }
            #expect(rates.contains(.real(1)) && rates.last == .real(0), "\(rates)")
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.defaultReceivers)
        func startPauseResumeAndJumpAreHeardWhereTheTimebaseSaysThem(receiver: Receiver) throws {
            let peer = try Peer(receiver)
            let units = try peer.lab.aacBeeps(seconds: 30, rate: 48000)
            let speaker = peer.output()
            let synchronizer = RenderSynchronizer()
            let feeder = Feeder(speaker, synchronizer, units)
            try peer.record(seconds: 18)

            let delivery = speaker.delivery(for: aac, mustDecode: false)
            #expect(delivery == .passThrough(aac))
            try speaker.prepare(delivery, context: feeder.context)
            defer { speaker.close() }
            synchronizer.add(feeder)
            speaker.setGain(0.99)
            try feeder.feed(from: .zero)

            /// The due instants of the beeps of all timeline segments; beeps are at whole seconds of film.
            var expected: [HostInstant] = []
            func record(_ segment: TimebaseSegment, until end: HostInstant) {
                for second in 0..<30 {
                    guard let instant = segment.hostInstant(of: MediaTime(value: Int64(second), timescale: 1)) else {
                        continue
                    }
                    // A beep at the very end of a segment may be cut.
                    if instant >= segment.hostAnchor, instant.advanced(by: .milliseconds(200)) < end {
                        expected.append(instant)
                    }
                }
            }

            var line = synchronizer.setRate(
                1, time: .zero, atHostTime: .now.advanced(by: synchronizer.startLead)
            ).upcoming
            play(for: line.hostAnchor - .now + .milliseconds(3300))
            var pausedAt = HostInstant.now
            synchronizer.setRate(0)
            record(line, until: pausedAt)

            play(for: .milliseconds(1000))
            line = synchronizer.setRate(1, atHostTime: .now.advanced(by: synchronizer.startLead)).upcoming
            let resumedAt = line.hostAnchor
            play(for: line.hostAnchor - .now + .milliseconds(2500))
            synchronizer.setRate(0)
            record(line, until: .now)

            speaker.flush()
            let target = MediaTime(value: 20, timescale: 1)
            try feeder.feed(from: target)
            line = synchronizer.setRate(1, time: target, atHostTime: .now.advanced(by: synchronizer.startLead)).upcoming
            play(for: line.hostAnchor - .now + .milliseconds(3500))
            record(line, until: .now)
            speaker.close()

            let heard = try peer.heard()
            var errors: [Double] = []
            for instant in expected {
                let error = heard.map { Double($0 - instant.nanoseconds) / 1e6 }.min { abs($0) < abs($1) }
                errors.append(error ?? .infinity)
            }
            print("\(receiver): expected \(expected.count), heard \(heard.count); errors in ms: \(errors)")
            #expect(expected.count == 4 + 2 + 4)
            #expect(Bounds.areTogether(errors, claim: 5), "\(errors)")
            pausedAt = pausedAt.advanced(by: .milliseconds(150))
            let stray = heard.filter { $0 > pausedAt.nanoseconds && $0 < resumedAt.nanoseconds - 5_000_000 }
            #expect(stray.isEmpty, "heard while paused")
            var notes: [RenderEvent] = []
            while let entry = feeder.context.events.removeFirst() { notes.append(entry.event) }
            let starts = notes.filter { if case .speakerAnchored = $0 { true } else { false } }
            #expect(starts.count == 3, "one line for each start: \(notes)")
        }

        @Test(.timeLimit(.minutes(3))) func aNetworkAwayForSixSecondsIsNotHeardAndControlsWorkAgain() throws {
            let (lab, host, port) = try Lab.freshSpeaker()
            let units = try lab.aacBeeps(seconds: 40, rate: 48000)
            let speaker = Lab.outputs([SpeakerAddress(host: host, port: port)])[0]
            let (synchronizer, feeder) = try feeding(speaker, units)
            defer { speaker.close() }
            let recording = try Lab.Recording(lab, seconds: 60)
            let line = start(synchronizer)
            play(for: line.hostAnchor - .now + .milliseconds(3500))
            _ = try lab.run("impair", ["1", "cut", "6"])
            // The connection has recovered by then; Tools/experiments/bad-days tests a longer outage.
            play(for: .seconds(8))
            let stopped = HostInstant.now
            synchronizer.setRate(0)
            // A beep that follows the pause would be due by then.
            play(for: .milliseconds(1500))
            try recording.stop()
            speaker.close()
            let heard = try lab.beeps(in: recording.file)
            let errors = Lab.errors(heard, from: line.hostAnchor)
            print("errors in ms: \(errors)")
            let seconds = Int((stopped - line.hostAnchor).inSeconds)
            #expect((seconds...seconds + 1).contains(heard.count), "\(heard.count) beeps in \(seconds) s")
            #expect(Bounds.areTogether(errors, claim: 5), "\(errors)")
            let last = try #require(heard.last)
            #expect(last < stopped.nanoseconds + 200_000_000, "sound continued after the pause")
            var notes: [RenderEvent] = []
            while let entry = feeder.context.events.removeFirst() { notes.append(entry.event) }
            #expect(!notes.contains { if case .outputLost = $0 { true } else { false } }, "\(notes)")
        }

        @Test(.timeLimit(.minutes(2))) func aSpeakerThatRestartsIsRejoinedInSyncWithoutHelp() throws {
            let (lab, host, port) = try Lab.freshSpeaker()
            let units = try lab.aacBeeps(seconds: 30, rate: 48000)
            let speaker = Lab.outputs([SpeakerAddress(host: host, port: port)])[0]
            let (synchronizer, feeder) = try feeding(speaker, units)
            defer { speaker.close() }
            let line = start(synchronizer)
            play(for: line.hostAnchor - .now + .milliseconds(2500))
            _ = try lab.run("restart", ["1"])
            let back = HostInstant.now
            let recording = try Lab.Recording(lab, seconds: 10)
            try recording.wait()
            speaker.close()
            let heard = try lab.beeps(in: recording.file)
            let first = try #require(heard.first, "nothing is heard after the restart")
            print("first beep \(Double(first - back.nanoseconds) / 1e6) ms after the speaker came back")
            let errors = Lab.errors(heard, from: line.hostAnchor)
            print("errors in ms: \(errors)")
            #expect(errors.count >= 6)
            // A receiver that joins a running timeline needs a few seconds to synchronize.
            #expect(Bounds.areTogether(errors.suffix(3), claim: 5), "\(errors)")
            var notes: [RenderEvent] = []
            while let entry = feeder.context.events.removeFirst() { notes.append(entry.event) }
            #expect(notes.contains { if case .outputLost = $0 { true } else { false } })
            #expect(notes.contains { if case .outputRestored = $0 { true } else { false } })
        }
    }
}
