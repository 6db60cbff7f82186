import AirPlay
import AirPlayTransport
import AirPlayWire
import Testing

@Suite struct RouteDecisionTests {
    private func decide(
        _ strings: [String], _ extra: [String] = [], under conditions: RouteConditions = RouteConditions()
    ) throws -> RouteDecision {
        // The first of several strings with one key counts, so the extra ones are inserted at the front.
        .decide(for: try KnownSpeakers.traits(extra + strings), under: conditions)
    }

    private let noPorts = RouteConditions(clockPorts: .unavailable("the ports are busy."))

    @Test func eachKindOfSpeakerIsDrivenAsItsKindWantsIt() throws {
        let expected: [([String], Route?, [Route], RouteDecision.Access)] = [
            (KnownSpeakers.homePodMini, .realtime, [], .transient),
            (KnownSpeakers.appleTV, .realtime, [.realtimeNTP], .pin),
            (KnownSpeakers.sonosEra, .buffered, [.realtime], .transient),
            (KnownSpeakers.shairportSync, .buffered, [.realtime], .transient),
            (KnownSpeakers.samsungSoundbar, .realtime, [.realtimeNTP], .transient),
            (KnownSpeakers.airPortExpress, .realtime, [.realtimeNTP], .transient),
            (KnownSpeakers.marantzNR1607, nil, [], .transient),
            (KnownSpeakers.televisionWithPassword, .buffered, [.realtime, .realtimeNTP], .password),
        ]
        for (strings, route, alternatives, access) in expected {
            let decision = try decide(strings)
            #expect(decision.route == route, "\(strings[2]): \(decision.reason)")
            #expect(decision.alternatives == alternatives, "\(strings[2])")
            #expect(decision.access == access, "\(strings[2])")
        }
    }

    @Test func theReasonIsASentenceAPersonUnderstands() throws {
        #expect(try decide(KnownSpeakers.shairportSync).reason == "advertises bit 40, PTP ports available")
        #expect(try decide(KnownSpeakers.samsungSoundbar).reason == "does not advertise bit 40 (buffered audio)")
        let old = try decide(KnownSpeakers.marantzNR1607)
        #expect(old.verdict == .impossible(.needsAirPlay1))
        #expect(old.reason == "it does not support AirPlay 2 (it advertises neither bit 38 nor bit 48)")
    }

    @Test func withoutAnAirPlayServiceOnlyAirPlay1IsLeft() throws {
        let traits = try KnownSpeakers.traits(KnownSpeakers.shairportSync)
        let decision = RouteDecision.decide(
            for: traits, hasAirPlay: false, under: RouteConditions(requested: .buffered))
        #expect(decision.verdict == .impossible(.needsAirPlay1))
    }

    @Test func aSpeakerThatIsRestrictedToTheHomeSaysHowToOpenIt() throws {
        for restriction in ["acl=1", "act=2"] {
            let decision = try decide(KnownSpeakers.sonosEra, [restriction])
            #expect(decision.verdict == .impossible(.restricted))
            #expect(decision.reason.contains("settings"))
        }
    }

    @Test func withoutThePortsNTPServesThoseThatTakeItAndOthersSayWhatIsMissing() throws {
        let samsung = try decide(KnownSpeakers.samsungSoundbar, under: noPorts)
        #expect(samsung.route == .realtimeNTP)
        #expect(samsung.reason.contains("319"))
        for strings in [KnownSpeakers.shairportSync, KnownSpeakers.homePodMini, KnownSpeakers.sonosEra] {
            let decision = try decide(strings, under: noPorts)
            #expect(decision.verdict == .impossible(.clockPorts))
            #expect(decision.reason.contains("the ports are busy"))
        }
    }

    @Test func anOldAirPlayVersionHasNoPTPAndNoBufferedSound() throws {
        let old = try decide(KnownSpeakers.samsungSoundbar, ["srcvers=220.68"])
        #expect(old.route == .realtimeNTP)
        // A receiver without PTP and NTP supports only AirPlay 1.
        let sonos = try decide(KnownSpeakers.sonosEra, ["srcvers=365.9"])
        #expect(sonos.verdict == .impossible(.needsAirPlay1))
    }

    @Test func whatAPersonAsksForComesFirstAndNeedsItsPorts() throws {
        let forced = try decide(KnownSpeakers.homePodMini, under: RouteConditions(requested: .buffered))
        #expect(forced.route == .buffered)
        #expect(forced.reason == "requested")
        var impossible = noPorts
        impossible.requested = .realtime
        #expect(try decide(KnownSpeakers.samsungSoundbar, under: impossible).verdict == .impossible(.clockPorts))
    }

    @Test func whatWasHeardBeforeIsTakenAgainUntilTheSpeakerIsUpdated() throws {
        let memory = RouteMemory(
            route: .realtime, role: .follower, isRoleOfGroup: false, sourceVersion: "366.0")
        let again = try decide(KnownSpeakers.sonosEra, under: RouteConditions(memory: memory))
        #expect(again.route == .realtime)
        #expect(again.role == .follower)
        #expect(again.alternatives == [.buffered])
        let updated = try decide(
            KnownSpeakers.sonosEra, ["srcvers=377.1"], under: RouteConditions(memory: memory))
        #expect(updated.route == .buffered)
        #expect(updated.role == .grandmaster)
        // The remembered route is not possible without the PTP ports.
        var ports = noPorts
        ports.memory = RouteMemory(route: .realtime, sourceVersion: "377.17.24.6")
        #expect(try decide(KnownSpeakers.samsungSoundbar, under: ports).route == .realtimeNTP)
    }

    @Test func onlyALoneHomePodOfARecentSystemIsFollowed() throws {
        #expect(try decide(KnownSpeakers.homePodMini).role == .grandmaster)
        #expect(try decide(KnownSpeakers.homePodMini, ["osvers=27.0"]).role == .follower)
        #expect(try decide(KnownSpeakers.homePodMini, ["osvers=27.0", "tsid=T"]).role == .grandmaster)
        #expect(try decide(KnownSpeakers.homePodMini, ["osvers=27.0", "pgid=P"]).role == .grandmaster)
        #expect(try decide(KnownSpeakers.appleTV, ["osvers=27.0"]).role == .grandmaster)
        let unnamed = KnownSpeakers.homePodMini.filter { !$0.hasPrefix("osvers") }
        #expect(try decide(unnamed, ["srcvers=980.1"]).role == .follower)
        #expect(try decide(unnamed, ["srcvers=979.9"]).role == .grandmaster)
    }

    /// It was served in a pair, where it follows; alone again it is silent unless it is followed.
    @Test(arguments: [(Bool?.none, ClockRole.follower), (true, .follower), (false, .grandmaster)])
    func aRoleThatWasRequiredInAnotherGroupDoesNotCount(_ isRoleOfGroup: Bool?, _ expected: ClockRole) throws {
        let memory = RouteMemory(
            route: .realtime, role: .grandmaster, isRoleOfGroup: isRoleOfGroup,
            sourceVersion: try KnownSpeakers.traits(KnownSpeakers.homePodMini).sourceVersion)
        let conditions = RouteConditions(memory: memory)
        #expect(try decide(KnownSpeakers.homePodMini, ["osvers=27.0"], under: conditions).role == expected)
        #expect(
            try decide(KnownSpeakers.homePodMini, ["osvers=27.0", "tsid=T"], under: conditions).role == .grandmaster)
    }

    @Test func keysThatAreKeptReplaceEveryQuestion() throws {
        #expect(try decide(KnownSpeakers.appleTV, under: RouteConditions(isPaired: true)).access == .verify)
    }
}
