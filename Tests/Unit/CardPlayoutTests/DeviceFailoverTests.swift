import Glibc
import MediaCore
import Testing

@testable import CardPlayout
@testable import SyncRendering
@testable import TalkieTestKit

/// Devices that are lost, return and are replaced during playback, in virtual time.
@Suite struct DeviceFailoverTests {
    /// Returns a rig that has played for two seconds, and its timeline segment.
    private func playing() throws -> (rig: CardRig, line: TimebaseSegment) {
        let rig = try CardRig()
        rig.card.run(for: .milliseconds(200))
        let line = rig.setRate(1, time: .zero, at: rig.clock.now.advanced(by: .milliseconds(100))).upcoming
        rig.card.run(for: .seconds(2))
        return (rig, line)
    }

    /// Returns another device of the rig's format, which records what it plays.
    private func device(
        _ rig: CardRig, latency: Duration, into frames: Lock<[CardRig.Frame]>
    ) -> VirtualPlayoutDevice {
        let device = VirtualPlayoutDevice(clock: rig.clock, format: rig.format, latency: latency)
        device.listener = { frame, at in
            let (sine, cosine) = (Double(frame[0]), Double(frame[1]))
            let phase = abs(sine) + abs(cosine) < 1e-3 ? nil : atan2(sine, cosine) / (2 * .pi) * CardRig.turn
            frames.withLock { $0.append(CardRig.Frame(at: at, phase: phase)) }
        }
        return device
    }

    /// Returns when a device becomes audible, and its maximum lateness afterwards.
    private func check(
        _ frames: Lock<[CardRig.Frame]>, _ rig: CardRig, _ line: TimebaseSegment
    ) throws -> (first: HostInstant, worst: Double) {
        let heard = frames.withLock { $0 }.filter { $0.phase != nil }
        let first = try #require(heard.first)
        let settled = heard.filter { $0.at - first.at > .milliseconds(300) }
        try #require(settled.count > 1000)
        return (first.at, try #require(settled.compactMap { rig.lateness($0, line) }.map(abs).max()))
    }

    private func routes(_ rig: CardRig) -> [String] {
        rig.taken().compactMap { event in
            switch event {
            case .outputLost: "lost"
            case .outputRestored: "restored"
            case .outputMoved: "moved"
            default: nil
            }
        }
    }

    @Test func whenACardIsPulledOutAnotherPlaysOnInPlaceAndNothingIsLostButAMoment() throws {
        let (rig, line) = try playing()
        let heard = Lock<[CardRig.Frame]>([])
        // The other device has another latency.
        let other = device(rig, latency: .milliseconds(60), into: heard)
        let devices = Lock(["headphones": other])
        rig.card.supply = DeviceFailover.Supply {
            ["nothing", "headphones"]
        } open: { name in
            devices.withLock { $0[name] }
        }
        let pulled = rig.clock.now
        rig.device.isGone = true
        rig.card.run(for: .seconds(2))
        let (first, worst) = try check(heard, rig, line)
        #expect(first - pulled < .milliseconds(150))
        #expect(worst < 0.001)
        #expect(routes(rig) == ["moved"])
        #expect(rig.card.failover?.deviceName == "headphones")
    }

    @Test func withoutASubstitutePlaybackContinuesAndTheReturnedCardJoins() throws {
        let (rig, line) = try playing()
        let heard = Lock<[CardRig.Frame]>([])
        let returned = device(rig, latency: .milliseconds(5), into: heard)
        let back = rig.clock.now.advanced(by: .milliseconds(2200))
        let devices = Lock(["virtual card": returned])
        rig.card.supply = DeviceFailover.Supply { [clock = rig.clock] name in
            clock.now >= back ? devices.withLock { $0[name] } : nil
        }
        rig.device.isGone = true
        rig.card.run(for: .milliseconds(2000))
        #expect(routes(rig) == ["lost"])
        #expect(rig.card.failover?.deviceName == nil)
        rig.card.run(for: .seconds(4))
        let (first, worst) = try check(heard, rig, line)
        // Retries follow 0.5, 1, 2 and 4 s after the loss and the retries before.
        #expect(first - back < .milliseconds(1500))
        #expect(worst < 0.001)
        #expect(routes(rig) == ["restored"])
    }

    @Test func theOwnCardTakesOverFromItsSubstituteWhenItIsBack() throws {
        let (rig, line) = try playing()
        let (there, here) = (Lock<[CardRig.Frame]>([]), Lock<[CardRig.Frame]>([]))
        let other = device(rig, latency: .milliseconds(60), into: there)
        let devices = Lock(["headphones": other])
        rig.card.supply = DeviceFailover.Supply {
            ["headphones"]
        } open: { name in
            devices.withLock { $0[name] }
        }
        rig.device.isGone = true
        rig.card.run(for: .seconds(1))
        let failover = try #require(rig.card.failover)
        failover.offer(device(rig, latency: .milliseconds(5), into: here), name: failover.own)
        let offered = rig.clock.now
        rig.card.run(for: .seconds(2))
        let (first, worst) = try check(here, rig, line)
        #expect(first - offered < .milliseconds(150))
        #expect(worst < 0.001)
        #expect(try #require(there.withLock { $0.last?.at }) - offered < .milliseconds(100))
        #expect(routes(rig) == ["moved", "moved"])
        #expect(failover.deviceName == failover.own)
    }

    @Test func aCardThatComesAndGoesIsNotOpenedInCircles() throws {
        let (rig, _) = try playing()
        let opened = Lock(0)
        rig.card.supply = DeviceFailover.Supply { [clock = rig.clock, format = rig.format] _ in
            opened.withLock { $0 += 1 }
            let device = VirtualPlayoutDevice(clock: clock, format: format)
            device.isGone = true
            return device
        }
        rig.device.isGone = true
        rig.card.run(for: .seconds(20))
        #expect((3...8).contains(opened.withLock { $0 }))
    }
}
