import AirPlayWire
import MediaCore
import PTP
import Sockets
import SyncRendering
import TalkieApp
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Storage

@Suite struct SpeakerSelectionTests {
    private let folder = TemporaryFolder()

    private func selection(
        _ network: ScriptedNetwork, ports: RouteConditions.ClockPorts = .available,
        inquire: @escaping (SpeakerAddress, HostInstant) throws(AirPlayError) -> DiscoveredSpeaker = {
            (address, _) throws(AirPlayError) in throw AirPlayError(.unreachable, "nobody at \(address).")
        }
    ) -> SpeakerSelection {
        SpeakerSelection(
            knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path)), clock: network.clock,
            browse: { network }, inquire: inquire, clockPorts: { _ in ports })
    }

    private func chosen(_ selection: SpeakerSelection, _ names: String...) throws -> [ChosenSpeaker] {
        try selection.choose(names).flatMap { $0 }
    }

    private func failure(_ selection: SpeakerSelection, _ name: String) throws -> TalkieError {
        try #require(throws: TalkieError.self) { try chosen(selection, name) }
            .saying(RemedyPhrases.commands.inErrors)
    }

    @Test func aSpeakerThatIsBeingSwitchedOnIsWaitedFor() throws {
        let network = ScriptedNetwork(
            (.milliseconds(20), ScriptedNetwork.listing()),
            (.seconds(7), ScriptedNetwork.listing(.announced("Kitchen"))))
        var selection = selection(network)
        var notices: [String] = []
        selection.notice = { notices.append($0) }
        let kitchen = try #require(try chosen(selection, "kitchen").first)
        #expect(network.elapsed == .seconds(7))
        #expect(notices == ["waiting for 'kitchen'"])
        #expect(kitchen.address == SpeakerAddress(host: "10.0.0.5", port: 7000))
        #expect(kitchen.route == .buffered && kitchen.role == .grandmaster)
    }

    @Test func afterEightSecondsTheSentenceNamesWhatIsThere() throws {
        let network = ScriptedNetwork(
            (.zero, ScriptedNetwork.listing(.announced("Kitchen"), .announced("Office", id: "02:00:00:00:00:02"))))
        let failure = try failure(selection(network), "Bath")
        #expect(failure.exitStatus == 69)
        #expect(failure.message.contains("'Bath'") && failure.message.contains("'Kitchen', 'Office'"))
        #expect(network.elapsed == .seconds(8))
        let empty = try self.failure(selection(ScriptedNetwork((.zero, ScriptedNetwork.listing()))), "Bath")
        #expect(empty.exitStatus == 69 && empty.message.contains("no other speaker was found"))
    }

    @Test func withoutADaemonTheRemedyComesAfterTwoSeconds() throws {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
        let failure = try failure(selection(network), "Kitchen")
        #expect(failure.exitStatus == 69 && failure.message == "start avahi-daemon.")
        #expect(network.elapsed == .seconds(2))
        let late = ScriptedNetwork(
            (.zero, ScriptedNetwork.without("start avahi-daemon.")),
            (.seconds(1), ScriptedNetwork.listing(.announced("Kitchen"))))
        #expect(try chosen(selection(late), "Kitchen").count == 1)
    }

    @Test func anAddressNeedsNoDaemonAndNoName() throws {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
        let selection = selection(network) { (address, deadline) throws(AirPlayError) in
            #expect(deadline - network.clock.now == .seconds(8))
            return .announced("Den", address: address.host)
        }
        let den = try #require(try chosen(selection, "airplay://10.0.0.9").first)
        #expect(den.name == "Den" && den.address.host == "10.0.0.9")
        #expect(network.elapsed == .zero)
        #expect(try failure(self.selection(network), "airplay://10.0.0.9").exitStatus == 69)
    }

    @Test func oneNameThatTwoHaveIsAnsweredWithTheirIds() throws {
        let network = ScriptedNetwork(
            (
                .zero,
                ScriptedNetwork.listing(
                    .announced("Kitchen", id: "02:00:00:00:00:01"), .announced("Kitchen", id: "02:00:00:00:00:02"))
            ))
        let failure = try failure(selection(network), "Kitchen")
        #expect(failure.exitStatus == 2 && failure.message.contains("02:00:00:00:00:02"))
        #expect(try chosen(selection(network), "02:00:00:00:00:02").count == 1)
    }

    @Test func severalAreFoundTogetherAndEachOnce() throws {
        let network = ScriptedNetwork(
            (.seconds(1), ScriptedNetwork.listing(.announced("Kitchen"))),
            (.seconds(3), ScriptedNetwork.listing(.announced("Kitchen"), .announced("Office", id: "02:00:00:00:00:02")))
        )
        let chosen = try selection(network).choose(["Office", "local", "Kitchen", "020000000001", "local"])
        #expect(chosen.map { $0.map(\.name) } == [["Office"], [], ["Kitchen"], [], []])
        #expect(network.elapsed == .seconds(3))
    }

    @Test func bothHalvesOfAStereoPairPlay() throws {
        let network = ScriptedNetwork(
            (
                .zero,
                ScriptedNetwork.listing(
                    .announced("Left", id: "02:00:00:00:00:01", "tsid=T", "gpn=Sofa"),
                    .announced("Right", id: "02:00:00:00:00:02", "tsid=T", "gpn=Sofa", address: "10.0.0.6"))
            ))
        #expect(try chosen(selection(network), "Sofa").map(\.name) == ["Left", "Right"])
    }

    @Test(arguments: [
        ("flags=0x204", 77, "talkie pair 'Box'"), ("flags=0x84", 77, "talkie pair 'Box'"),
        ("features=0x405C4A00", 69, "it does not support AirPlay 2"), ("acl=1", 77, "home"),
        ("features=0x405C4800,0x5A340", 69, "support audio"),
    ])
    func anObstacleIsReportedWithItsStatus(announced: String, status: Int, words: String) throws {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box", announced))))
        let failure = try failure(selection(network), "Box")
        #expect(failure.exitStatus == Int32(status))
        #expect(failure.message.contains(words), "\(failure.message)")
    }

    @Test func aSpeakerThatOnlyKnowsClassicAirPlayIsLeftToIt() throws {
        let old = DiscoveredSpeaker(
            id: SpeakerID("020000000001"), name: "Old", traits: SpeakerTraits(), endpoints: [],
            raopEndpoints: [NetworkEndpoint(NetworkAddress("10.0.0.5")!, port: 5000)])
        let failure = try failure(selection(ScriptedNetwork((.zero, ScriptedNetwork.listing(old)))), "Old")
        #expect(failure.exitStatus == 69)
        #expect(failure.message.contains("it does not support AirPlay 2"))
    }

    @Test func portsThatMayNotBeBoundAreAQuestionOfRightsAndBusyOnesAreNot() throws {
        let speaker = DiscoveredSpeaker.announced("Box", "model=ShairportSync")
        for (ports, status) in [
            (RouteConditions.ClockPorts.forbidden("run sysctl."), 77 as Int32), (.unavailable("ptpd has them."), 69),
        ] {
            let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(speaker)))
            let failure = try failure(selection(network, ports: ports), "Box")
            #expect(failure.exitStatus == status)
            #expect(failure.message.contains(ports.objection ?? "?"))
        }
    }

    /// Another program that starts at the same moment would find them busy and choose a worse route.
    @Test func aSpeakerWithoutPTPTakesNoPortsFromOtherPrograms() throws {
        let (event, general): (UInt16, UInt16) = (32343, 32344)
        let clocks = PTPDirectory(identity: ClockIdentity(rawValue: 7), eventPort: event, generalPort: general)
        let local = NetworkAddress.loopback
        func check(_ features: String) -> RouteConditions.ClockPorts {
            let speaker = DiscoveredSpeaker.announced("Bath", "features=\(features)", address: "127.0.0.9")
            return .check(toward: speaker, reservedIn: clocks)
        }
        #expect(check("0x405C4A00,0x5A140") == .available)
        try PTPPorts.check(on: local, eventPort: event, generalPort: general)
        #expect(check("0x405C4A00,0x5A340") == .available)
        #expect(throws: PTPError.self) { try PTPPorts.check(on: local, eventPort: event, generalPort: general) }
        clocks.releaseReservations()
    }

    @Test func keysAndPasswordsThatAreKeptAreUsed() throws {
        let knowledge = SpeakerKnowledge(folder: StateFolder(path: folder.path))
        let accessory = PairedAccessory(identifier: [1, 2], publicKey: [UInt8](repeating: 7, count: 32))
        try knowledge.pairings.store(
            SpeakerCredentials(accessory: accessory, password: "sesame"), for: SpeakerID("020000000001")!, name: "Box")
        try knowledge.routes.remember(
            RouteMemory(route: .realtime, hasProbed: true, sourceVersion: "366.0"), of: SpeakerID("020000000001")!)
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box", "flags=0x204"))))
        let box = try #require(try chosen(selection(network), "Box").first)
        #expect(box.route == .realtime, "what was heard before")
        let sender = knowledge.sender
        let configuration = box.configuration(knowledge, sender: sender)
        #expect(configuration.pairing?.accessory == accessory)
        #expect(configuration.pairing?.identity.identifier == knowledge.identity.pairing.identifier)
        #expect(configuration.password == "sesame")
        #expect(configuration.readiness.isKnownToProbe)
        #expect(configuration.identity.clock.rawValue == knowledge.identity.number)
    }

    /// A wanted route overrides what worked before, and is kept until `auto` is given.
    @Test func aWantedRouteIsUsedAndRemembered() throws {
        let knowledge = SpeakerKnowledge(folder: StateFolder(path: folder.path))
        let id = try #require(SpeakerID("020000000001"))
        func route(_ preferences: SpeakerPreferences, for name: String = "Box") throws -> Route {
            var selection = selection(ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box")))))
            selection.preferences = SpeakerPreferenceTable(named: [(name, preferences)])
            let box = try #require(try chosen(selection, "Box").first)
            let memory = RouteMemory.after(
                .played, on: box.route, sourceVersion: box.speaker.traits.sourceVersion,
                wanted: box.wanted, before: box.memory)
            if let memory { try knowledge.routes.remember(memory, of: id) }
            return box.route
        }
        #expect(try route(SpeakerPreferences()) == .buffered)
        #expect(try route(SpeakerPreferences(route: .only(.realtime)), for: "Other") == .buffered)
        #expect(try route(SpeakerPreferences(route: .only(.realtime))) == .realtime)
        #expect(try route(SpeakerPreferences()) == .realtime)
        // Classic AirPlay belongs to another provider, which stores the request once it has played.
        func refusal(_ preferences: SpeakerPreferences) throws -> TalkieError {
            try #require(throws: TalkieError.self) { try route(preferences) }
        }
        let requested = try refusal(SpeakerPreferences(route: .only(.classic)))
        #expect(requested.code == .unsupported && requested.message.contains("classic AirPlay"))
        #expect(requested.remedy?.outputName == "Box;route=auto")
        #expect(try route(SpeakerPreferences()) == .realtime, "nothing has played")
        try knowledge.routes.remember(RouteMemory(wanted: .classic), of: id)
        #expect(try refusal(SpeakerPreferences()).code == .unsupported)
        #expect(try route(SpeakerPreferences(route: .best)) == .buffered)
        #expect(knowledge.memory(of: id)?.wanted == nil)
    }

    private func pair(_ id: String, _ name: String, _ query: String, at address: String = "10.0.0.5") throws {
        let accessory = PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 7, count: 32))
        let contact = SpeakerContact(
            name: name, address: SpeakerAddress(host: address), query: try SpeakerQuery(query))
        try SpeakerKnowledge(folder: StateFolder(path: folder.path)).pairings
            .store(SpeakerCredentials(accessory: accessory), for: try #require(SpeakerID(id)), contact)
    }

    @Test func anotherSpeakerUnderTheNameOfAPairedOneIsNotPlayedTo() throws {
        try pair("020000000001", "Kitchen", "cook")
        for name in ["Kitchen", "kitchen", "COOK"] {
            let stranger = DiscoveredSpeaker.announced(name, id: "02:00:00:00:00:02")
            let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(stranger)))
            let failure = try failure(selection(network), name)
            #expect(failure.exitStatus == 77 && failure.remedy?.action == .pairAgain)
            #expect(failure.message.contains("talkie pair '\(name)'"), "\(failure.message)")
            #expect(failure.message.contains("its id is 02:00:00:00:00:02, not 02:00:00:00:00:01"))
            #expect(network.elapsed == .seconds(8), "the paired one is waited for")
            // A selection from the list behaves likewise.
            let provider = AirPlayProvider(knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path)))
            let place = try #require(provider.offer(ScriptedNetwork.listing(stranger)).destinations.first)
            let refused = try #require(throws: TalkieError.self) { try provider.outputs(at: place) }
            #expect(refused.code == .notPermitted && refused.remedy?.action == .pairAgain)
            // A selection by the speaker's own ID is accepted.
            #expect(try chosen(selection(network), "020000000002").map(\.speaker) == [stranger])
        }
    }

    @Test func theSpeakerThatWasPairedIsMeantWhenTwoHaveItsName() throws {
        try pair("020000000001", "Kitchen", "Kitchen")
        let stranger = DiscoveredSpeaker.announced("Kitchen", id: "02:00:00:00:00:02", address: "10.0.0.6")
        let network = ScriptedNetwork(
            (.zero, ScriptedNetwork.listing(stranger)),
            (.seconds(5), ScriptedNetwork.listing(stranger, .announced("Kitchen"))))
        let kitchen = try #require(try chosen(selection(network), "Kitchen").first)
        #expect(kitchen.speaker.id == SpeakerID("020000000001") && network.elapsed == .seconds(5))
        let configuration = kitchen.configuration(knowledge, sender: knowledge.sender)
        #expect(configuration.expected == kitchen.speaker.id, "nobody else is taken at its address")
    }

    /// Returns a provider's output of the speaker 'Box', which must be found.
    private func box(of provider: AirPlayProvider, _ selection: SpeakerSelection) throws -> AirPlaySpeaker {
        let place = try #require(provider.find(["Box"], selection).first)
        return try #require(provider.outputs(at: place).first as? AirPlaySpeaker)
    }

    @Test func aSpeakerIsIdentifiedByTheRouteInUse() throws {
        let provider = AirPlayProvider(knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path)))
        let changes = Lock(0)
        provider.onIdentityChange { changes.withLock { $0 += 1 } }
        let selection = selection(ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box")))))
        let box = try box(of: provider, selection)
        #expect(provider.identity(of: box)?.route == "buffered")
        box.changeRoutes { _ = $0.details.routes.removeFirst() }
        #expect(provider.identity(of: box)?.route == "realtime" && changes.withLock { $0 } == 1)
        box.close()
        #expect(provider.identity(of: box)?.route == "buffered" && changes.withLock { $0 } == 2)
    }

    @Test func afterARejectedPasswordASpeakerIsUsedAgainOnlyWithThatOfANewPairing() throws {
        let knowledge = knowledge
        let id = try #require(SpeakerID("020000000001"))
        func store(_ password: String) throws {
            // The file system's times have the resolution of a timer tick, at most 10 ms.
            HostInstant.now.advanced(by: .milliseconds(20)).sleep()
            try knowledge.pairings.store(SpeakerCredentials(password: password), for: id, name: "Box")
        }
        // A speaker without PTP, which requires no ports.
        let listing = ScriptedNetwork.listing(.announced("Box", "flags=0x84", "features=0x405C4A00,0x5A140"))
        let selection = selection(ScriptedNetwork((.zero, listing)))
        let provider = AirPlayProvider(knowledge: knowledge)
        let rejection = AirPlayError(.notAuthentic, "The speaker rejects the password.")
        try store("old")
        let old = try box(of: provider, selection)
        #expect(try box(of: provider, selection) === old)
        old.configuration.observations.recordFailure(rejection, yieldingTo: [])
        let refused = try #require(throws: TalkieError.self) { try box(of: provider, selection) }
        #expect(refused.code == .notPermitted && refused.message == "'Box' rejects the password.")
        try store("new")
        let new = try box(of: provider, selection)
        #expect(new !== old && new.configuration.password == "new")
        // A selection from the list behaves likewise.
        let list = AirPlayProvider(knowledge: knowledge)
        let place = try #require(list.offer(listing).destinations.first)
        let listed = try #require(list.outputs(at: place).first as? AirPlaySpeaker)
        listed.configuration.observations.recordFailure(rejection, yieldingTo: [])
        #expect(try list.outputs(at: place).first === listed)
        try store("newest")
        let last = try #require(list.outputs(at: place).first as? AirPlaySpeaker)
        #expect(last !== listed && last.configuration.password == "newest")
    }

    @Test func aSpeakerThatWasLostToAnotherSenderIsLeftToItUntilItIsFree() throws {
        let status = Lock("flags=0x20004")
        let selection = selection(ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box"))))) {
            (_, _) throws(AirPlayError) in .announced("Box", status.withLock { $0 })
        }
        let provider = AirPlayProvider(knowledge: knowledge)
        let old = try box(of: provider, selection)
        #expect(try box(of: provider, selection) === old, "not asked before")
        old.configuration.observations.recordFailure(AirPlayError(.busy, "Taken."), yieldingTo: .busy)
        let refused = try #require(throws: TalkieError.self) { try box(of: provider, selection) }
        #expect(refused.code == .unavailable && refused.message == "another sender plays on 'Box'")
        status.withLock { $0 = "flags=0x4" }
        let new = try box(of: provider, selection)
        #expect(new !== old, "a group opens another output")
        #expect(try box(of: provider, selection) === new)
    }

    private var knowledge: SpeakerKnowledge { SpeakerKnowledge(folder: StateFolder(path: folder.path)) }

    @Test func anotherSpeakerAtTheAddressOfAPairedOneIsNotPlayedTo() throws {
        try pair("020000000001", "Kitchen", "airplay://kitchen.local")
        for address in ["airplay://10.0.0.5", "airplay://kitchen.local"] {
            for id in ["02:00:00:00:00:02", "-"] {
                let selection = selection(ScriptedNetwork()) { (address, _) throws(AirPlayError) in
                    .announced("Box", id: id, address: "10.0.0.5")
                }
                let failure = try failure(selection, address)
                #expect(failure.exitStatus == 77 && failure.remedy?.action == .pairAgain)
            }
        }
    }

    @Test func anIPv4AddressThatIsResolvedSecondIsUsed() throws {
        let settled = ScriptedNetwork.listing(.announced("Kitchen", address: "fd00::5"))
        var first = settled
        first.isSettled = false
        let network = ScriptedNetwork(
            (.milliseconds(20), first), (.milliseconds(300), ScriptedNetwork.listing(.announced("Kitchen"))))
        #expect(try chosen(selection(network), "Kitchen").map(\.address.host) == ["10.0.0.5"])
        for (state, time) in [(first, Duration.milliseconds(1020)), (settled, .milliseconds(20))] {
            let alone = ScriptedNetwork((.milliseconds(20), state))
            #expect(try chosen(selection(alone), "Kitchen").map(\.address.host) == ["fd00::5"])
            #expect(alone.elapsed == time)
        }
    }

    @Test func aSpeakerWithoutIPv4IsReachedByIPv6() throws {
        func address(_ addresses: String...) throws -> String? {
            let known = DiscoveredSpeaker.announced("Six")
            let speaker = DiscoveredSpeaker(
                id: known.id, name: known.name, traits: known.traits,
                endpoints: addresses.map { NetworkEndpoint(NetworkAddress($0)!, port: 7000) })
            let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(speaker)))
            return try chosen(selection(network), "Six").first?.address.description
        }
        #expect(try address("fd00::5", "fe80::5%1") == "airplay://[fd00::5]")
        #expect(try address("fe80::5%1") == "airplay://[fe80::5%lo]")
        #expect(try address("10.0.0.5", "fd00::5") == "airplay://10.0.0.5")
    }

    @Test func aNameMadeToRunCommandsIsOneWordOfTheRemedy() throws {
        let name = "Box'; rm -rf ~; '"
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced(name, "flags=0x204"))))
        let failure = try failure(selection(network), name)
        #expect(failure.message.contains(#"talkie pair 'Box'\''; rm -rf ~; '\'''"#), "\(failure.message)")
    }

    @Test func anAddressThatCannotBeReadIsRefusedBeforeAnythingIsLookedFor() {
        #expect(throws: ValueError.self) { try SpeakerChoice(parsing: "airplay://") }
        #expect(throws: ValueError.self) { try SpeakerChoice(parsing: "airplay://host:99999") }
    }
}
