import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import CardPlayout

/// A device behind a sound server that measures latencies.
@Suite struct ServerLatencyTests {
    /// The delays that ALSA reports are 15 ms too long for six seconds.
    private func rig(_ server: ServerLatency, measures: Bool) throws -> CardRig {
        let rig = try CardRig {
            $0.serverLatency = server
            $0.delayErrorAtStart = (.milliseconds(15), .seconds(6))
        }
        let feed = rig.card.feeder
        rig.card.feeder = { [unowned rig] card in
            feed?(card)
            if measures { rig.device.measure(roundTrip: .microseconds(200)) }
        }
        return rig
    }

    /// Runs until a start can be scheduled; returns how long that took.
    private func settle(_ rig: CardRig) -> Duration {
        let begin = rig.clock.now
        while !rig.card.isReadyToStart, rig.clock.now - begin < .seconds(2) { rig.card.run(for: .milliseconds(1)) }
        return rig.clock.now - begin
    }

    @Test func soundIsInSyncFromItsFirstFrameOnWhateverDelayIsReported() throws {
        let rig = try rig(ServerLatency(), measures: true)
        #expect(settle(rig) < .milliseconds(120))
        for jump in [Int64(0), 40_000] {
            rig.setRate(0)
            rig.seek(to: jump)
            rig.frames = []
            let start = rig.clock.now.advanced(by: .milliseconds(100))
            let line = rig.setRate(1, time: MediaTime(value: jump, timescale: 8000), at: start).upcoming
            rig.card.run(for: .seconds(8))
            let errors = rig.frames.filter { $0.at >= start }.compactMap { rig.lateness($0, line) }
            #expect(errors.count > 60_000)
            #expect(errors.allSatisfy { abs($0) < 0.4e-3 }, "\(errors.min()!)…\(errors.max()!)")
        }
    }

    /// The server inserts 20 ms of silence, which the reported delay shows two seconds later.
    @Test func aHoleIsFollowedOnceWhateverDelayIsReported() throws {
        let rig = try CardRig { $0.serverLatency = ServerLatency() }
        let feed = rig.card.feeder
        var next = rig.clock.now
        rig.card.feeder = { [unowned rig] card in
            feed?(card)
            let age = rig.clock.now - card.device.startedAt
            guard rig.clock.now >= next else { return }
            next = rig.clock.now.advanced(by: age < .milliseconds(400) ? .milliseconds(7) : .milliseconds(200))
            card.device.measure(roundTrip: .microseconds(200))
        }
        _ = settle(rig)
        let start = rig.clock.now.advanced(by: .milliseconds(100))
        let line = rig.setRate(1, time: .zero, at: start).upcoming
        rig.card.run(for: .seconds(4))
        rig.device.latency += .milliseconds(20)
        rig.device.delayErrorAtStart = (.milliseconds(-20), rig.clock.now - rig.device.startedAt + .seconds(2))
        rig.card.run(for: .seconds(1))
        rig.frames = []
        rig.card.run(for: .seconds(4))
        let errors = rig.frames.compactMap { rig.lateness($0, line) }
        #expect(errors.count > 30_000)
        #expect(errors.allSatisfy { abs($0) < 0.5e-3 }, "\(errors.min()!)…\(errors.max()!)")
    }

    @Test func withoutMeasurementsAStartWaitsForAQuarterOfASecondAndWithoutAServerNotAtAll() throws {
        let answered = ServerLatency()
        answered.recordAnswer()
        let wait = settle(try rig(answered, measures: false))
        #expect(wait > .milliseconds(240) && wait < .milliseconds(300), "\(wait)")
        let none = ServerLatency()
        none.setUnavailable()
        none.recordAnswer()
        #expect(settle(try rig(none, measures: false)) < .milliseconds(120))
    }

    /// The calibration of the sink is applied when the server has named it.
    @Test func aStartWaitsForTheServersAnswerButNotForASilentServer() throws {
        let server = ServerLatency()
        server.setUnavailable()
        let rig = try rig(server, measures: false)
        rig.card.run(for: .milliseconds(200))
        #expect(!rig.card.isReadyToStart)
        server.recordAnswer()
        #expect(settle(rig) < .milliseconds(80))
        let silent = try self.rig(ServerLatency(), measures: false)
        let wait = settle(silent)
        #expect(wait > .milliseconds(280) && wait < .milliseconds(450), "\(wait)")
        // A seek does not wait for it again.
        silent.setRate(1, time: .zero, at: silent.clock.now.advanced(by: .milliseconds(100)))
        silent.card.run(for: .milliseconds(500))
        silent.setRate(0)
        silent.seek(to: 8000)
        silent.card.run(for: .milliseconds(20))
        #expect(settle(silent) < .milliseconds(280))
    }

    /// Writes end 1.1 and 20.1 ms after the start of the stream. The server measures 50 ms then and one millisecond
    /// less each millisecond.
    ///
    /// - Returns: The frame that is audible then, by milliseconds of question and answer.
    private func audibleFrame(_ asked: Double, _ answered: Double, error: Duration = .zero) -> Int64? {
        func at(_ milliseconds: Double) -> HostInstant {
            HostInstant(nanoseconds: 1_000_000_000 + Int64(milliseconds * 1e6))
        }
        var positions = MeasuredPositions(sampleRate: 48000, at: at(0))
        positions.record(written: 4800, from: at(1), until: at(1.1))
        positions.record(written: 9600, from: at(20), until: at(20.1))
        func measurement(_ asked: Double, _ answered: Double, error: Duration) -> ServerLatency.Measurement {
            let latency = asked < 20 ? 60 - (asked + answered) / 2 : 160 - (asked + answered) / 2
            return ServerLatency.Measurement(
                asked: at(asked), answered: at(answered), latency: .microseconds(Int64(latency * 1000)) + error)
        }
        _ = positions.position(by: measurement(5, 5.1, error: error))
        return positions.position(by: measurement(asked, answered, error: .zero))?.frame.index
    }

    @Test func aMeasurementCountsOnlyIfNoFrameWasUnderWayAndTheAnswerWasPrompt() {
        #expect(audibleFrame(10, 10.2) == 2405)
        #expect(audibleFrame(19.5, 19.9) == 2866)
        #expect(audibleFrame(30, 30.2) == 3365)
        #expect(audibleFrame(19.9, 20.3) == nil)
        #expect(audibleFrame(22, 22.2) == nil)
        #expect(audibleFrame(10, 12.2) == nil)
        #expect(audibleFrame(10, 10.2, error: .milliseconds(-10)) == nil)
        #expect(audibleFrame(0.5, 0.6) == nil)
        #expect(audibleFrame(-1, -0.8) == nil)
    }
}
