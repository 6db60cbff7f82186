import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk

/// A computer whose clocks and chrony reports are controlled by a test.
final class WallRig: Sendable {
    /// The computer's clocks relative to true time.
    struct Machine: Sendable {
        /// Frequency error of both clocks relative to true time; positive is fast.
        var skew = 0.0
        /// The system clock minus true time, at the start.
        var offset = Duration.zero
        /// chrony's report; the correction is filled in.
        var answer = ChronyAnswer.report(WallRig.kept)
        /// A step of the system clock that chrony has not detected yet.
        var unnoticed = Duration.zero
    }

    static let kept: ChronyTracking = {
        var tracking = ChronyTracking()
        (tracking.isSynchronised, tracking.stratum, tracking.reference, tracking.server) = (
            true, 3, "0A000001", "10.0.0.1"
        )
        return tracking
    }()
    static let epoch = WallInstant(nanoseconds: 1_800_000_000_000_000_000)

    let clock = ManualClock()
    let machine: Lock<Machine>
    let messages = Lock<[String]>([])
    let wall: WallClock
    private let origin: HostInstant

    init(_ machine: Machine = Machine()) {
        let (clock, messages) = (clock, messages)
        let origin = clock.now
        self.origin = origin
        let state = Lock(machine)
        self.machine = state
        wall = WallClock(
            clock: clock,
            ask: { _ in
                let machine = state.withLock { $0 }
                guard case .report(var tracking) = machine.answer, tracking.isSynchronised else {
                    return machine.answer
                }
                let system = Self.system(machine, since: origin, at: clock.now)
                let truth = Self.truth(machine, since: origin, at: clock.now)
                tracking.correction = system.duration(to: truth) + machine.unnoticed
                return .report(tracking)
            },
            read: {
                let machine = state.withLock { $0 }
                return SystemClockReading(host: clock.now, system: Self.system(machine, since: origin, at: clock.now))
            },
            report: { sentence in messages.withLock { $0.append(sentence) } })
    }

    static func truth(_ machine: Machine, since origin: HostInstant, at now: HostInstant) -> WallInstant {
        epoch.advanced(by: .nanoseconds(Int64(Double((now - origin).wholeNanoseconds) / (1 + machine.skew))))
    }
    private static func system(_ machine: Machine, since origin: HostInstant, at now: HostInstant) -> WallInstant {
        epoch.advanced(by: now - origin).advanced(by: machine.offset)
    }

    var truth: WallInstant { Self.truth(machine.withLock { $0 }, since: origin, at: clock.now) }

    /// Advances time and refreshes the wall clock when due.
    func run(for duration: Duration, meanwhile: () -> Void = {}) {
        let end = clock.now.advanced(by: duration)
        var next = clock.now
        while clock.now < end {
            if clock.now >= next { next = clock.now.advanced(by: wall.refresh()) }
            meanwhile()
            clock.advance(to: min(end, clock.now.advanced(by: .milliseconds(250))))
        }
    }

    /// The estimated wall time minus true time.
    var error: Duration? { wall.mapping.map { truth.duration(to: $0.target(at: clock.now)) } }
}

@Suite struct WallClockTests {
    @Test(arguments: [50e-6, -50e-6]) func theWallsTimeIsTheTruthWhateverThisComputersClocksSay(skew: Double) throws {
        let rig = WallRig(WallRig.Machine(skew: skew, offset: .milliseconds(1234)))
        rig.run(for: .seconds(120))
        #expect(abs(try #require(rig.error).inSeconds) < 20e-6)
        let mapping = try #require(rig.wall.mapping)
        #expect(abs(mapping.rateOffset + skew) < 1e-6, "wall seconds per second of a clock that is fast are fewer")
        let later = rig.clock.now.advanced(by: .seconds(16))
        #expect(mapping.source(at: mapping.target(at: later)) - later < .nanoseconds(3))
        #expect(rig.wall.shown.standing == .synchronised)
        #expect(rig.messages.withLock { $0 } == ["The wall uses chrony's time from 10.0.0.1."])
    }

    @Test func aStepByChronyMovesNothing() throws {
        let rig = WallRig(WallRig.Machine(offset: .milliseconds(800)))
        rig.run(for: .seconds(60))
        rig.machine.withLock { $0.offset = .zero }
        rig.run(for: .seconds(60))
        #expect(abs(try #require(rig.error).inSeconds) < 1e-6)
        #expect(rig.messages.withLock { $0.count } == 1)
    }

    @Test func anAdministratorsStepIsDoubtedUntilChronyHasMeasured() throws {
        let rig = WallRig()
        rig.run(for: .seconds(60))
        // The clock is set by two seconds, which chrony detects after half a minute.
        rig.machine.withLock { ($0.offset, $0.unnoticed) = (.seconds(2), .seconds(2)) }
        rig.run(for: .seconds(30))
        #expect(abs(try #require(rig.error).inSeconds) < 1e-6, "the line goes on")
        #expect(
            rig.messages.withLock { $0.last }
                == "The clock of this computer was set 2.000 s later; the wall keeps its previous time until the new time is confirmed."
        )
        rig.machine.withLock {
            $0.unnoticed = .zero
            if case .report(var tracking) = $0.answer {
                tracking.measured += 64_000_000_000
                $0.answer = .report(tracking)
            }
        }
        rig.run(for: .seconds(60))
        #expect(abs(try #require(rig.error).inSeconds) < 1e-6)
        #expect(rig.messages.withLock { $0.count } == 2, "one sentence, not one for each reading")
    }

    @Test func aStepThatChronyConfirmsIsAcceptedAndReported() throws {
        let rig = WallRig()
        rig.run(for: .seconds(60))
        // The reference was wrong: from here on chrony reports another time.
        rig.machine.withLock { $0.unnoticed = .milliseconds(300) }
        rig.run(for: .seconds(17))
        #expect(abs(try #require(rig.error).inSeconds) < 1e-6)
        rig.machine.withLock {
            if case .report(var tracking) = $0.answer {
                tracking.measured += 64_000_000_000
                $0.answer = .report(tracking)
            }
        }
        rig.run(for: .seconds(34))
        #expect(abs(try #require(rig.error).inSeconds - 0.3) < 1e-6)
        #expect(rig.messages.withLock { $0.last } == "The wall's time is 0.300 s later from now on.")
    }

    @Test func whenChronyIsSilentTheTimelineKeepsItsRate() throws {
        let rig = WallRig(WallRig.Machine(skew: 40e-6, offset: .seconds(-3)))
        rig.run(for: .seconds(120))
        rig.machine.withLock { $0.answer = .absent("chronyc does not respond; check that chronyd runs") }
        rig.run(for: .seconds(600))
        #expect(rig.wall.shown.standing == .remembered)
        #expect(abs(try #require(rig.error).inSeconds) < 1e-3)
        rig.machine.withLock { $0.answer = .report(WallRig.kept) }
        rig.run(for: .seconds(60))
        #expect(rig.wall.shown.standing == .synchronised)
        #expect(
            rig.messages.withLock { $0 } == [
                "The wall uses chrony's time from 10.0.0.1.",
                "Chronyc does not respond; check that chronyd runs. The wall continues with its last known time.",
                "The wall uses chrony's time from 10.0.0.1.",
            ])
    }

    @Test func withoutChronyTheSystemClockIsUsedAndReportedOnce() throws {
        let rig = WallRig(WallRig.Machine(answer: .absent("chronyc is not installed; install chrony")))
        rig.run(for: .seconds(60))
        #expect(rig.wall.shown.standing == .system)
        #expect(rig.error == .zero)
        #expect(
            rig.messages.withLock { $0 } == [
                "Chronyc is not installed; install chrony. The wall uses this computer's time."
            ])
    }

    @Test func aReferenceThatIsStillSoughtIsWaitedForAMinute() {
        let rig = WallRig(WallRig.Machine(answer: .report(ChronyTracking())))
        rig.run(for: .seconds(50))
        #expect(rig.wall.mapping == nil && rig.wall.shown.standing == .unknown)
        rig.run(for: .seconds(30))
        #expect(rig.wall.shown.standing == .system)
        #expect(
            rig.messages.withLock { $0 } == [
                "Chrony has found no reference. The wall uses this computer's time."
            ])
    }
}
