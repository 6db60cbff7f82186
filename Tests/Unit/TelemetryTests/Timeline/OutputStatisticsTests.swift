import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Telemetry

@Suite struct OutputStatisticsTests {
    private let clock = ManualClock()

    private func outputs(_ events: [RenderEvent]) -> OutputsStatistics {
        let log = EventLog(clock: clock)
        for event in events { log.append(event) }
        var outputs = OutputsStatistics()
        while let entry = log.removeFirst() { outputs.add(entry) }
        return outputs
    }

    private let hall = OutputID(0)
    private let foyer = OutputID(1)

    @Test func everyOutputIsCountedForItself() throws {
        let outputs = outputs([
            .audioAccepted(until: .zero, ahead: .seconds(2), output: hall),
            .audioDrift(error: .milliseconds(1), correctionPPM: 0, output: hall),
            .audioDrift(error: .milliseconds(-2), correctionPPM: 0, output: foyer),
            .underrun(missing: .zero, output: foyer), .underrun(missing: .zero, output: foyer),
            .clock(state: .probing, output: foyer), .clock(state: .ready, output: foyer),
        ])
        #expect(outputs.all.map(\.output) == [hall, foyer])
        #expect(outputs.all[0].buffered == .seconds(2) && outputs.all[0].accepted == clock.now)
        #expect(outputs.all[0].clock == nil && outputs.all[1].clock == .ready)
        #expect(outputs.all.map(\.underruns) == [0, 2])
        #expect(outputs.skew == .milliseconds(3))
    }

    @Test func lostOutputsAreExcludedFromTheSkew() {
        let heard: [RenderEvent] = [
            .audioDrift(error: .milliseconds(1), correctionPPM: 0, output: hall),
            .audioDrift(error: .milliseconds(-2), correctionPPM: 0, output: foyer),
        ]
        #expect(outputs(heard + [.outputLost(output: foyer)]).skew == nil)
        #expect(outputs(heard + [.outputLost(output: foyer)]).all[1].isLost)
        #expect(outputs(heard + [.outputLost(output: foyer), .outputRestored(output: foyer)]).skew == nil)
        #expect(outputs(heard + [.outputLeft(output: foyer, media: .zero, host: clock.now)]).all.count == 1)
        #expect(outputs(heard + [.anchor(media: .zero, host: clock.now, rate: 1, generation: 2)]).skew == nil)
    }

    @Test func excessOutputsAreNotCounted() {
        let events = (0..<100).map { RenderEvent.underrun(missing: .zero, output: OutputID($0)) }
        #expect(outputs(events).all.count == 16)
    }
}
