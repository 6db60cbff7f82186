import Foundation
import TalkieTestKit
import Testing

@testable import MediaCore
@testable import Telemetry

@Suite struct SpeakerRecordReportTests {
    /// Ten seconds from 1 s on with frames 2 ms late, and an output that reports no deviation.
    private func timeline() -> SyntheticTimeline {
        var timeline = SyntheticTimeline()
        timeline.head()
        timeline.start(at: 1, film: 5, announced: 0.5)
        timeline.add("anchor", at: 0.6, "\"film\":5,\"anchor_ns\":\(timeline.instant(1)),\"route\":0")
        for index in 0..<250 { timeline.frame(due: 1 + Double(index) / 25, lateMs: 2) }
        timeline.start(at: 11, rate: 0)
        return timeline
    }

    private func report(_ timeline: SyntheticTimeline, _ record: String) throws -> TimelineReport {
        let folder = TemporaryFolder()
        return try TimelineReport(
            reading: folder.write(timeline.text, to: "t.jsonl"), speakerRecord: folder.write(record, to: "s.jsonl"))
    }

    @Test func theSpeakersRecordSpeaksForTheSoundAndNotThePlayersClaim() throws {
        let timeline = timeline()
        // The stream's timestamps wrap within it; the second span is 1 ms late after a gap.
        let record = """
            {"event": "anchor", "host_ns": \(timeline.instant(0.7)), "rtp": 4294967000, "ptp_ns": \(timeline.instant(1))}
            {"event": "underrun", "host_ns": \(timeline.instant(5.1))}
            {"event": "underrun", "host_ns": \(timeline.instant(8.1))}
            {"event": "heard", "host_ns": \(timeline.instant(6.006)), "rtp": 239704, "frames": 96000, "rate": 48000}
            {"event": "heard", "host_ns": \(timeline.instant(1.005)), "rtp": 4294967000, "frames": 192000, "rate": 48000}
            """
        let report = try report(timeline, record)
        let route = try #require(report.routes.first)
        #expect(route.error.count == 60)
        let errors = try #require(route.error.quantiles([0.1, 0.5, 0.9]))
        #expect(zip(errors, [5, 5, 6]).allSatisfy { abs($0 - $1) < 0.01 }, "\(errors)")
        // Audio 5 ms late and video 2 ms late.
        let median = try #require(route.offset.quantities.quantiles([0.3])?.first)
        #expect(abs(median - 3) < 0.01)
        // The second underrun is the end of the stream.
        #expect(route.underruns == 1)
        #expect(report.text.contains("sound as recorded by the software speaker"))
    }

    /// The anchor was sent once, and timestamps have wrapped since.
    @Test(arguments: [1, 12, 13, 30, 72] as [Int64]) func aLineIsReadHoweverOldItIs(hours: Int64) throws {
        let start: Int64 = 1_000_000_000
        let position = UInt32(truncatingIfNeeded: 4_294_967_000 + hours * 3600 * 48000)
        let record = """
            {"event": "anchor", "host_ns": \(start), "rtp": 4294967000, "ptp_ns": 77}
            {"event": "heard", "host_ns": \(start + hours * 3_600_000_000_000), "rtp": \(position), "frames": 48000, "rate": 48000}
            """
        let folder = TemporaryFolder()
        var heard = try withExtendedLifetime(folder) { try HeardRecord(reading: folder.write(record, to: "s.jsonl")) }
        #expect(heard.next(until: .max)?.seconds == Double(hours * 3600))
    }

    @Test func aRecordOfAnotherEveningIsNamedAsThat() throws {
        let record = """
            {"event": "anchor", "host_ns": 1, "rtp": 0, "ptp_ns": 77}
            {"event": "heard", "host_ns": 2, "rtp": 0, "frames": 48000, "rate": 48000}
            """
        let report = try report(timeline(), record)
        #expect(report.routes.first?.error.count == 0)
        #expect(report.text.contains("does not belong to this timeline"))
    }

    @Test(arguments: [
        "", "garbage",
        "{\"event\": \"heard\", \"host_ns\": 1, \"rtp\": 5, \"frames\": 9223372036854775807, \"rate\": 48000}",
        "{\"event\": \"heard\", \"host_ns\": 1, \"rtp\": -1, \"frames\": 5, \"rate\": 48000}",
        "{\"event\": \"heard\", \"host_ns\": 9223372036854775807, \"rtp\": 1, \"frames\": 5, \"rate\": 0}",
    ])
    func aRecordWithoutAudioIsRefused(record: String) {
        #expect(throws: TalkieError.self) { try report(timeline(), record) }
    }

    @Test func extremeNumbersInARecordAreHarmless() throws {
        let record = """
            {"event": "anchor", "host_ns": 0, "rtp": 4294967295, "ptp_ns": -9223372036854775808}
            {"event": "heard", "host_ns": 9223372036854775000, "rtp": 0, "frames": 4800000, "rate": 48000}
            {"event": "heard", "host_ns": 5, "rtp": 0, "frames": 480000, "rate": 384000}
            """
        #expect(try report(timeline(), record).routes.first?.error.count == 0)
    }

    @Test func aSampleAndAnUnderrunBelongToTheNewestClaim() throws {
        let folder = TemporaryFolder()
        let record = """
            {"event": "anchor", "host_ns": 1, "rtp": 0, "ptp_ns": 5000}
            {"event": "underrun", "host_ns": 2}
            {"event": "underrun", "host_ns": 4}
            {"event": "heard", "host_ns": 6, "rtp": 0, "frames": 48000, "rate": 48000}
            """
        var heard = try withExtendedLifetime(folder) { try HeardRecord(reading: folder.write(record, to: "s.jsonl")) }
        let early = heard.nextUnderrun(until: 3)
        heard.add(.init(film: 1, anchor: 4001, route: 1))
        heard.add(.init(film: 2, anchor: 6000, route: 2))
        heard.add(.init(film: 3, anchor: 6001, route: 3))
        let underruns = (0..<2).map { _ in heard.nextUnderrun(until: 4) }
        #expect(early == nil && underruns == [3, nil])
        let point = heard.next(until: .max)
        #expect(point.flatMap { heard.claim(for: $0) }?.film == 2)
    }
}
