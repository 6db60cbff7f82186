import AirPlayWire
import MediaCore
import PTP
import SyncRendering
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct LongLineTests {
    /// A 32-bit timestamp wraps after 24.8 hours at 48 kHz; distances are valid for half of that.
    @Test func aLineThatIsDaysLongKeepsItsPlaceToTheFrame() {
        var line = RTPTimestampMapper(sampleRate: 48_000, first: RTPTimestamp(rawValue: 0xFFFF_0000))
        // Three days in packets of an arbitrary size.
        let piece = 352 * 1009
        var frames: Int64 = 0
        while frames < 3 * 24 * 3600 * 48_000 {
            let time = MediaTime(value: frames, timescale: 48_000)
            let place = line.map(time, frames: piece, isContiguous: false)
            guard place == RTPTimestamp(rawValue: 0xFFFF_0000).advanced(byFrames: frames) else {
                Issue.record("at \(time) the packet lies elsewhere")
                return
            }
            frames += Int64(piece)
            guard line.end(at: 1) == MediaTime(value: frames, timescale: 48_000) else {
                Issue.record("at \(time) the line ends at \(String(describing: line.end(at: 1)))")
                return
            }
        }
        let moment = MediaTime(value: frames - 48_000, timescale: 48_000)
        let timestamp = RTPTimestamp(rawValue: 0xFFFF_0000).advanced(byFrames: frames - 48_000)
        #expect(line.timestamp(of: moment, rate: 1) == timestamp)
        #expect(line.media(of: timestamp) == moment)
    }

    /// At rate 1.5, three hours of film are two hours of audio.
    @Test func aFilmAtAnotherSpeedStaysOnItsLineForHours() {
        let first = RTPTimestamp(rawValue: 77)
        var line = RTPTimestampMapper(sampleRate: 48_000, first: first)
        for _ in 0..<(3 * 3600) { _ = line.map(.zero, frames: 48_000, isContiguous: true) }
        let film = MediaTime(value: 9000, timescale: 1)
        #expect(line.timestamp(of: film, rate: 1.5) == first.advanced(byFrames: 6000 * 48_000))
    }

    @Test func timesThatNoFilmHasAreHarmless() {
        var line = RTPTimestampMapper(sampleRate: 48_000, first: RTPTimestamp(rawValue: 0))
        _ = line.map(.zero, frames: 352, isContiguous: false)
        for value in [Int64.max, .min, 1 << 40, -(1 << 40)] {
            let time = MediaTime(value: value, timescale: 1)
            _ = line.timestamp(of: time, rate: 0.5)
            _ = line.bound(of: time, rate: 1)
            // An out-of-range time is contiguous with the audio before.
            let before = line.next
            #expect(line.map(time, frames: 352, isContiguous: false) == before)
        }
    }

    /// Three days of sync packets describe the same timeline; packets leave with a constant lead.
    @Test func aRealtimeLineThatIsDaysLongStaysTheSame() throws {
        let began = HostInstant(nanoseconds: 1_000_000_000_123)
        let first = RTPTimestamp(rawValue: 0xFFFF_0000)
        var pacing = RealtimePacing(sampleRate: 44100, depth: .milliseconds(600))
        let start = began.advanced(by: .seconds(1))
        let moment = PTPInstant(nanoseconds: start.nanoseconds)
        pacing.begin(.init(position: first, instant: moment, grandmaster: ClockIdentity(rawValue: 7)), at: began)
        for second in stride(from: 0, to: Int64(3 * 86_400), by: 61) {
            let now = began.advanced(by: .seconds(second))
            let due = pacing.sync(at: now)
            let packet = try #require(due)
            guard case .sync(let position, let said, _, _)? = RealtimeControl(packet[...]) else {
                Issue.record("no sync packet")
                return
            }
            let passed = said.nanoseconds - moment.nanoseconds
            guard position == first.advanced(byFrames: passed / 10_000_000 * 441), passed % 10_000_000 == 0,
                abs(said.nanoseconds - now.nanoseconds) < 11_000_000
            else {
                Issue.record("after \(second) s another line")
                return
            }
            // The packet due in half a second, at a whole second of the timeline.
            let frame = first.advanced(byFrames: (second + 1) * 44100)
            let heard = start.advanced(by: .seconds(second + 1))
            guard pacing.audibleInstant(of: frame) == heard,
                pacing.verdict(on: frame, at: heard.advanced(by: .milliseconds(-601)))
                    == .wait(until: heard.advanced(by: .milliseconds(-600))),
                pacing.verdict(on: frame, at: heard.advanced(by: .milliseconds(-600))) == .send
            else {
                Issue.record("after \(second) s a packet has another moment")
                return
            }
        }
    }

    @Test(arguments: [44100, 48000], [1, 1.5]) func aRenewedAnchorKeepsTheTimeline(_ rate: Int, _ speed: Double)
        throws
    {
        let first = SentAnchor(
            media: MediaTime(value: 1, timescale: 3), position: RTPTimestamp(rawValue: 0xFFFF_FFF0),
            instant: PTPInstant(nanoseconds: 5_000_000_123), speed: speed, epoch: 1, generation: 2, delay: .zero)
        let reach = SentAnchor.longestReach(sampleRate: rate)
        #expect(reach > .seconds(6 * 3600) && reach.components.seconds * Int64(rate) <= 1 << 30)
        #expect(first.renewed(at: first.instant.advanced(by: reach), sampleRate: rate, reach: reach) == nil)
        var (anchor, now) = (first, first.instant)
        for _ in 0..<20 {
            now = now.advanced(by: reach + .milliseconds(1700))
            anchor = try #require(anchor.renewed(at: now, sampleRate: rate, reach: reach))
            let passed = anchor.instant.nanoseconds - first.instant.nanoseconds
            #expect((0...1_000_000_000).contains(anchor.instant.nanoseconds - now.nanoseconds), "soon, and not before")
            #expect(passed % 1_000_000_000 == 0)
            #expect(anchor.position == first.position.advanced(byFrames: passed / 1_000_000_000 * Int64(rate)))
            let film = first.media + MediaTime(nanoseconds: Int64(Double(passed) * speed))
            #expect(abs((anchor.media - film).nanoseconds) <= 20)
        }
    }

    /// A foreign clock may state any time: 292 years after the anchor, film time stops at the end of its range.
    @Test(arguments: [1, 1.5, 4]) func aClockThatJumpsByCenturiesDoesNotTrap(_ speed: Double) throws {
        let anchor = SentAnchor(
            media: .zero, position: RTPTimestamp(rawValue: 0), instant: PTPInstant(nanoseconds: 0), speed: speed,
            epoch: 1, generation: 2, delay: .zero)
        let now = HostInstant(nanoseconds: 5_000_000_000_000)
        for far in [Int64.min, .max] {
            let timeline = PTPTimeline(
                grandmaster: nil,
                mapping: ClockMapping(sourceAnchor: now, targetAnchor: PTPInstant(nanoseconds: far)), epoch: 1)
            let segment = try #require(anchor.segment(on: timeline, at: now))
            #expect((segment.mediaAnchor < .zero) == (far < 0))
        }
        let renewed = anchor.renewed(
            at: PTPInstant(nanoseconds: .max), sampleRate: 48_000, reach: SentAnchor.longestReach(sampleRate: 48_000))
        #expect(try #require(renewed).media.seconds > 9.2e9)
    }
}
