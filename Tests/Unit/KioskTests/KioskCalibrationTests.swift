import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback
@testable import SyncRendering

/// Calibrations by a command to a running kiosk.
@Suite(.timeLimit(.minutes(10))) struct KioskCalibrationTests {
    private typealias Reply = Result<JSONValue, ControlError>

    /// What replies say, in order.
    private final class Replies: Sendable {
        private let all = Lock<[Reply]>([])
        var count: Int { all.withLock { $0.count } }
        /// The last reply: its member `name`, or the failure.
        func last(_ name: String) -> String? {
            switch all.withLock({ $0.last }) {
            case .success(let value): value[name]?.text
            case .failure(let error): error.message
            case nil: nil
            }
        }
        var add: ControlReply { { [all] reply in all.withLock { $0.append(reply) } } }
    }

    private static func tasks(
        _ calibrate: @escaping @Sendable (Interruption, (String) -> Void) throws(TalkieError) -> String
    ) -> KioskTasks {
        KioskTasks(
            calibrate: { (_, _, interruption, progress) throws(TalkieError) in try calibrate(interruption, progress) },
            editProfiles: { (request) throws(TalkieError) in "edited \(request)" })
    }

    @Test(arguments: [true, false])
    func theFilmIsPausedAndItsOutputsAreClosedMeanwhile(isPausedBefore: Bool) {
        let isClosed = Lock<[Bool]>([])
        let player = Lock<Player?>(nil)
        let card = Lock<RecordingOutput?>(nil)
        let tasks = Self.tasks { (_, progress) throws(TalkieError) in
            let isSilent = card.withLock { $0 }?.state.withLock { $0.isClosed } ?? false
            isClosed.withLock { $0.append(isSilent && player.withLock { $0 }?.synchronizer.effectiveRate == 0) }
            progress("event 1")
            return "+200 ms"
        }
        let rig = KioskRig(films: ["long.mp4"], tasks: tasks)
        player.withLock { $0 = rig.player }
        card.withLock { $0 = rig.card }
        rig.start()
        #expect(rig.wait { rig.player.state.phase == .playing && rig.hasSaid("the sound goes to card") })
        let before = rig.card.state.withLock { state in
            state.isClosed = false
            return state.preparations
        }
        if isPausedBefore {
            rig.perform("set", "pause", "yes")
            #expect(rig.wait { rig.player.state.phase == .paused })
        }
        let replies = Replies()
        rig.perform("calibrate-outputs", "{}", reply: replies.add)
        #expect(rig.wait { replies.count == 1 })
        while replies.last("result") == nil {
            let count = replies.count
            rig.perform("calibration-progress", reply: replies.add)
            guard rig.wait(atMost: .seconds(20), until: { replies.count > count }) else { break }
        }
        #expect(replies.last("result") == "+200 ms")
        #expect(isClosed.withLock { $0 } == [true])
        let opened = { rig.card.state.withLock { $0.preparations > before } }
        #expect(rig.wait { opened() && rig.hasSaid("the calibration has ended") })
        #expect(rig.wait { rig.player.state.phase == (isPausedBefore ? .paused : .playing) })
        let health = rig.health.withLock { $0.shown }
        #expect(rig.wait { rig.health.withLock { $0.shown == (isPausedBefore ? .paused : .playing) } }, "\(health)")
        rig.perform("calibration-progress", reply: replies.add)
        #expect(rig.wait { replies.last("")?.contains("no calibration is in progress") == true })
        rig.perform("profiles", "list", reply: replies.add)
        #expect(rig.wait { replies.count >= 3 })
        _ = rig.end()
    }

    @Test func nothingIsCalibratedInQuietHoursOrWithoutSound() throws {
        for isSilent in [true, false] {
            let rig = KioskRig(films: ["long.mp4"]) {
                if isSilent {
                    $0.settings.speakers = []
                } else {
                    $0.quietHours = [try! DaySpan(parsing: "22:10-22:30")]
                }
            }
            rig.start()
            let replies = Replies()
            rig.perform("calibrate-outputs", "{}", reply: replies.add)
            #expect(rig.wait { replies.count == 1 })
            #expect(
                replies.last("") == (isSilent ? "this kiosk plays without sound" : "nothing is scheduled at this time"))
            _ = rig.end()
        }
    }

    /// A calibration whose thread is driven by the test.
    private final class Driven {
        let events = Lock<[KioskCalibration.Event]>([])
        private let body = Lock<(@Sendable () -> Void)?>(nil)
        let calibration: KioskCalibration

        init(_ tasks: KioskTasks) {
            calibration = KioskCalibration(
                tasks, screen: nil, start: { [body] (_, _, work) in body.withLock { $0 = work } },
                post: { [events] event in events.withLock { $0.append(event) } })
        }

        /// Runs the thread to its end and handles its events. Returns whether the outputs are free.
        func run(at now: HostInstant) -> Bool {
            body.withLock { $0.take() }?()
            return events.withLock { $0 }.reduce(false) { calibration.handle($1, at: now) || $0 }
        }
    }

    @Test func aControllerThatEndsCancelsTheCalibration() throws {
        let driven = Driven(
            Self.tasks { (interruption, _) throws(TalkieError) in
                guard let status = interruption.status else { return "calibrated" }
                throw TalkieError(.failed, "cancelled with \(status)")
            })
        let (calibration, replies, start) = (driven.calibration, Replies(), HostInstant.now)
        try calibration.begin("", at: start, replies.add)
        #expect(throws: ControlError.self) { try calibration.begin("", at: start, replies.add) }
        #expect(!calibration.handle(.released, at: start))
        // Its first request has a reply after a second; no other one follows.
        calibration.performDueWork(at: start.advanced(by: .seconds(1)))
        #expect(replies.count == 1 && replies.last("progress") == "")
        calibration.performDueWork(at: start.advanced(by: .milliseconds(5900)))
        #expect(calibration.isActive)
        calibration.performDueWork(at: start.advanced(by: .seconds(6)))
        #expect(driven.run(at: start.advanced(by: .seconds(6))))
        calibration.report(at: start.advanced(by: .seconds(7)), replies.add)
        #expect(replies.last("") == "cancelled with 130" && !calibration.isActive)
    }

    @Test func aControllerThatAsksIsToldTheProgressAndTheResult() throws {
        let driven = Driven(
            Self.tasks { (interruption, progress) throws(TalkieError) in
                progress("event 1")
                return interruption.status == nil ? "calibrated" : "cancelled"
            })
        let (calibration, replies, start) = (driven.calibration, Replies(), HostInstant.now)
        try calibration.begin("", at: start, replies.add)
        _ = calibration.handle(.released, at: start)
        for second in 1...60 {
            let now = start.advanced(by: .seconds(second))
            calibration.performDueWork(at: now)
            #expect(replies.count == second)
            calibration.report(at: now, replies.add)
        }
        _ = calibration.handle(.progress("event 1"), at: start.advanced(by: .seconds(60)))
        #expect(replies.last("progress") == "event 1")
        #expect(driven.run(at: start.advanced(by: .seconds(61))))
        calibration.report(at: start.advanced(by: .seconds(61)), replies.add)
        #expect(replies.last("result") == "calibrated")
    }
}
