import MediaCore
import Profiles
import TalkieTestKit
import Testing

@testable import Playback
@testable import SyncRendering

/// Outputs are moved by what was calibrated for them.
@Suite struct OutputCalibrationTests {
    private func profile(_ room: String, screen: String, late: Double) -> LatencyProfile {
        var profile = LatencyProfile(
            key: LatencyProfile.Key(speaker: "toy-\(room)", screen: screen, mode: "60-Hz window", route: "toy"),
            speakerName: room)
        profile.offset = late
        profile.audioRest = late
        return profile
    }

    @Test func anOutputIsHeardAsMuchEarlierAsItWasFoundLateAndTheScreenDecidesWhichFindingHolds() throws {
        let profiles = [
            profile("kitchen", screen: "A", late: 40), profile("kitchen", screen: "B", late: 100),
        ]
        let house = VirtualHouse(
            "kitchen", "attic",
            calibrate: { group in
                RouteCalibration(
                    group,
                    identify: { OutputIdentity(key: "toy-\($0.name)", name: $0.name, query: $0.name, route: "toy") },
                    profiles: { profiles })
            })
        house.core.audioControl.setScreen("A", refreshRate: 60, isFullScreen: false)
        house.run(for: .seconds(4))
        let before = house.clock.now
        house.core.audioControl.setScreen("B", refreshRate: 60, isFullScreen: false)
        house.run(for: .seconds(4))
        func late(_ name: String, _ from: HostInstant, _ until: HostInstant) throws -> Double {
            let heard = house.heard(name).filter { $0.at > from && $0.at < until }
            return try #require(heard.last).late.inMilliseconds
        }
        #expect(abs(try late("kitchen", .init(nanoseconds: 0), before) + 40) < 1)
        #expect(abs(try late("kitchen", before, house.clock.now) + 100) < 1)
        #expect(abs(try late("attic", before, house.clock.now)) < 1)
    }

    @Test func anApplicationsCalibrationIsAddedToTheAudioDelay() throws {
        var options = PlayerOptions()
        options.audioDelay = .milliseconds(120)
        options.calibration = .milliseconds(-20)
        let house = VirtualHouse("kitchen", options: options)
        house.run(for: .seconds(3))
        #expect(abs(try #require(house.heard("kitchen").last).late.inMilliseconds - 100) < 1)
        house.core.audioControl.setDelay(.milliseconds(50))
        house.run(for: .seconds(3))
        #expect(abs(try #require(house.heard("kitchen").last).late.inMilliseconds - 30) < 1)
    }

    /// A change of outputs takes seconds.
    @Test func anOutputThatIsCalibratedBeforeItHasJoinedIsMovedToo() {
        let edition = Lock(Int64(1))
        let (kitchen, attic) = (RecordingOutput(name: "kitchen"), RecordingOutput(name: "attic"))
        let group = OutputGroup(members: [kitchen], codecs: SyntheticCodecs())
        let calibration = RouteCalibration(
            group, identify: { OutputIdentity(key: "toy-\($0.name)", name: $0.name, query: $0.name, route: "toy") },
            edition: { edition.withLock { $0 } },
            profiles: { [self] in edition.withLock { $0 } == 1 ? [] : [profile("attic", screen: "A", late: 100)] })
        calibration.setScreen("A", mode: "60-Hz window")
        calibration.apply()
        calibration.apply(to: [attic])
        edition.withLock { $0 = 2 }
        calibration.refresh()
        #expect(group.state.withLock { $0.members.delay(of: attic) } == .milliseconds(-100))
    }

    /// A sound server names the sink after the stream has been opened, and before the output has joined.
    @Test func anOutputThatIsIdentifiedBeforeItHasJoinedIsMovedToo() {
        let isKnown = Lock(false)
        let (kitchen, attic) = (RecordingOutput(name: "kitchen"), RecordingOutput(name: "attic"))
        let group = OutputGroup(members: [kitchen], codecs: SyntheticCodecs())
        let calibration = RouteCalibration(
            group,
            identify: { output in
                let key = isKnown.withLock { $0 } ? "toy-\(output.name)" : ""
                return OutputIdentity(key: key, name: output.name, query: output.name, route: "toy")
            },
            profiles: { [self] in [profile("attic", screen: "A", late: 100)] })
        calibration.setScreen("A", mode: "60-Hz window")
        calibration.apply(to: [attic])
        #expect(group.state.withLock { $0.members.delay(of: attic) } == .zero)
        isKnown.withLock { $0 = true }
        calibration.reapply()
        #expect(group.state.withLock { $0.members.delay(of: attic) } == .milliseconds(-100))
    }

    @Test func outputsOfAllGroupsWhoseCompensatedDelayIsAssumedAreUncertain() {
        func output(_ name: String, _ source: LatencySource, _ delays: Int...) -> RecordingOutput {
            RecordingOutput(
                name: name,
                shares: delays.map { LatencyShare(name: "share", duration: .milliseconds($0), source: source) })
        }
        let first = [output("headset", .assumed, 150), output("card", .reported, 20)]
        let second = [
            output("box", .assumed, 2000, -2000), output("band", .assumed, 150), output("kitchen", .assumed, 150),
        ]
        let groups = [first, second].map { OutputGroup(members: $0, codecs: SyntheticCodecs()) }
        let calibration = RouteCalibration(
            groups[0], identify: { OutputIdentity(key: "toy-\($0.name)", name: $0.name, query: $0.name, route: "toy") },
            profiles: { [self] in [profile("kitchen", screen: "A", late: 100)] })
        calibration.setScreen("A", mode: "60-Hz window")
        calibration.include(groups[1])
        let outputs = calibration.apply()
        #expect(outputs.map(\.number) == [0, 1, nil, nil, nil])
        #expect(RouteCalibration.uncertain(outputs) == ["headset", "band"])
    }

    @Test func anOutputThatIsCalibratedDuringPlaybackIsMovedThen() throws {
        let stored = Lock((edition: Int64(1), late: 40.0))
        let made = Lock<RouteCalibration?>(nil)
        let house = VirtualHouse(
            "kitchen",
            calibrate: { [self] group in
                let calibration = RouteCalibration(
                    group,
                    identify: { OutputIdentity(key: "toy-\($0.name)", name: $0.name, query: $0.name, route: "toy") },
                    edition: { stored.withLock { $0.edition } },
                    profiles: { [profile("kitchen", screen: "A", late: stored.withLock { $0.late })] })
                made.withLock { $0 = calibration }
                return calibration
            })
        house.core.audioControl.setScreen("A", refreshRate: 60, isFullScreen: false)
        house.run(for: .seconds(4))
        #expect(abs(try #require(house.heard("kitchen").last).late.inMilliseconds + 40) < 1)
        let calibration = try #require(made.withLock { $0 })
        stored.withLock { $0.late = 100 }
        calibration.refresh()
        house.run(for: .seconds(4))
        #expect(abs(try #require(house.heard("kitchen").last).late.inMilliseconds + 40) < 1, "the same edition")
        stored.withLock { $0.edition = 2 }
        calibration.refresh()
        house.run(for: .seconds(4))
        #expect(abs(try #require(house.heard("kitchen").last).late.inMilliseconds + 100) < 1)
    }
}
