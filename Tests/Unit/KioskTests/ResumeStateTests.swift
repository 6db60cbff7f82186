import Foundation
import MediaCore
import Storage
import TalkieTestKit
import Testing

@testable import Kiosk

/// What a kiosk keeps for its next run.
@Suite struct ResumeStateTests {
    private let folder = NSTemporaryDirectory() + "talkie-resume-\(UUID().uuidString)"
    private let logged = Lock<[String]>([])
    private let place = KioskResumePositions.Position(address: "/a.mp4", position: MediaTime(value: 7, timescale: 1))

    /// A run of a kiosk: its state, and the store that writes it when the test calls `writePending`.
    private func run() -> (state: ResumeState, store: KioskResumePositions) {
        let store = KioskResumePositions(StateFolder(path: folder), configuration: "wall.toml", report: { _ in })
        let log = KioskLog(maxLevel: .info, journal: nil) { [logged] _, text in logged.withLock { $0.append(text) } }
        return (ResumeState(store, messages: KioskMessages(log, clock: ManualClock(.now))), store)
    }

    /// What a run restores.
    private struct Start: Equatable {
        var restarts: Int
        var place: KioskResumePositions.Position?
    }

    /// Runs a kiosk up to an end; nil: it is killed.
    private func run(until end: KioskEnd?) -> Start {
        let (state, store) = run()
        state.restore()
        let resumed = state.consumePosition()
        state.write(place, at: .now)
        state.recordEnd(end)
        state.write(nil, at: .now)
        store.writePending()
        return Start(restarts: state.restarts, place: resumed)
    }

    @Test func aRunResumesWhereTheLastOneWasInterrupted() {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(run(until: nil) == Start(restarts: 0))
        #expect(logged.withLock { $0.isEmpty })
        #expect(run(until: .asked(status: 143)) == Start(restarts: 1, place: place))
        #expect(logged.withLock { $0 } == ["the kiosk was interrupted; it resumes at its last position"])
        #expect(run(until: .done) == Start(restarts: 2, place: place))
        // The playlist has ended: it starts from its beginning.
        #expect(run(until: .needsRestart("test")) == Start(restarts: 3))
        #expect(logged.withLock { $0.count } == 1)
        #expect(run(until: .done) == Start(restarts: 4, place: place))
        #expect(logged.withLock { $0.count } == 2)
    }

    @Test func thePositionIsTakenOnceAndWrittenAtIntervals() {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = run(until: nil)
        let (state, store) = run()
        state.restore()
        #expect(state.consumePosition() == place && state.consumePosition() == nil)
        let start = HostInstant(nanoseconds: 1_000_000_000)
        #expect(state.isDue(at: start))
        state.write(nil, at: start)
        store.writePending()
        #expect(store.read().kept.position == place, "nothing has played yet")
        #expect(!state.isDue(at: start.advanced(by: .seconds(14))))
        #expect(state.isDue(at: start.advanced(by: ResumeState.interval)))
    }

    @Test func aFailureToWriteIsLoggedOnceUntilItIsOver() {
        let state = run().state
        for failure in ["the disk is full", "the disk is full", nil, "the disk is full"] {
            state.recordWriting(failure: failure)
        }
        let text = "the kiosk's position can be stored again"
        #expect(logged.withLock { $0 } == ["the disk is full", text, "the disk is full"])
    }
}
