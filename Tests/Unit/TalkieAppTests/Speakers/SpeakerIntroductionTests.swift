import AirPlayWire
import CardOutput
import MediaCore
import Routing
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Storage
@testable import TalkieApp

@Suite struct SpeakerIntroductionTests {
    private let folder = TemporaryFolder()
    private var state: StateFolder { StateFolder(path: folder.path) }

    private func outcome(
        _ name: String, _ wish: PairingAction, on network: ScriptedNetwork,
        ask: PairingQuestion? = nil
    ) throws -> PairingOutcome {
        let knowledge = SpeakerKnowledge(folder: state)
        let selection = SpeakerSelection(
            knowledge: knowledge, clock: network.clock, browse: { network },
            inquire: { (address, _) throws(AirPlayError) in throw AirPlayError(.unreachable, "nobody at \(address).") },
            clockPorts: { _ in .unavailable("of no matter here.") })
        do throws(TalkieError) {
            return try AirPlayProvider(knowledge: knowledge, saying: .pairing).pair(name, wish, selection, ask: ask)
        } catch {
            throw SpeakerIntroduction.addingRemedy(to: error)
        }
    }

    private func network(_ announced: String...) -> ScriptedNetwork {
        ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box", announced.first ?? "flags=0x4"))))
    }

    private func failure(
        _ name: String, _ wish: PairingAction, on network: ScriptedNetwork
    ) throws -> TalkieError {
        try #require(throws: TalkieError.self) { try outcome(name, wish, on: network) }
    }

    @Test func anOpenSpeakerNeedsNoPairing() throws {
        #expect(try outcome("box", .pin(nil), on: network()).message.contains("needs no pairing"))
    }

    @Test func aPINNeedsATerminal() throws {
        let failure = try failure("Box", .pin(nil), on: network("flags=0x204"))
        #expect(failure.exitStatus == 2)
        #expect(
            failure.message
                == "'Box' will show a PIN, but there is no terminal to type it in; "
                + "run this in a terminal, or give the PIN with --pin")
    }

    @Test func aSpeakerWithAPasswordSaysHowToGiveIt() throws {
        let failure = try failure("Box", .pin(nil), on: network("flags=0x84"))
        #expect(failure.exitStatus == 77)
        #expect(
            failure.message
                == "'Box' requires its password; type it here, or give it with `talkie pair 'Box' --password-file FILE`"
        )
    }

    @Test func whatCannotBePairedIsSaidWithItsStatus() throws {
        #expect(try failure("Nobody", .pin("1"), on: network()).exitStatus == 69)
        #expect(try failure("Box", .pin("1"), on: network("features=0x405C4A00")).exitStatus == 69)
        #expect(try failure("Box", .pin("1"), on: network("acl=1")).exitStatus == 77)
        #expect(try failure("airplay://[", .pin(nil), on: network()).exitStatus == 2)
    }

    @Test func thisComputersOwnCardIsNoSpeaker() throws {
        let error = try #require(throws: TalkieError.self) {
            try SpeakerIntroduction(OutputRegistry([])).run("local", .pin(nil), ask: nil)
        }
        #expect(error.exitStatus == 2)
        #expect(error.message == "local is this computer's sound card; choose a speaker")
    }

    @Test func aNewKindOfSpeakerIsPairedByItsProvider() throws {
        let toys = ToyProvider(["attic": RecordingOutput()])
        let pairing = SpeakerIntroduction(OutputRegistry([toys]))
        #expect(try pairing.run("toy:attic", .password("x"), ask: nil).message == "attic is paired")
        #expect(toys.requests.withLock { $0 } == [.password("x")])
        let strange = try #require(throws: TalkieError.self) { try pairing.run("Kitchen", .forget, ask: nil) }
        #expect(strange.exitStatus == 2)
    }

    @Test func aKindOfSpeakerWithoutPairingReportsThat() throws {
        let registry = OutputRegistry([SoundCardProvider()])
        let error = try #require(throws: TalkieError.self) { try registry.pair("local", .pin(nil), ask: nil) }
        #expect(error.code == .invalidArgument)
    }

    @Test func onlyPairingOnPurposeLowersWhatASpeakerHasToProve() throws {
        let knowledge = SpeakerKnowledge(folder: state)
        let id = try #require(SpeakerID("020000000001"))
        let box = { ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box")))) }
        func play(_ name: String) throws -> [ChosenSpeaker] {
            try SpeakerSelection(
                knowledge: knowledge, clock: ManualClock(), browse: box,
                inquire: { (_, _) throws(AirPlayError) in throw AirPlayError(.unreachable, "nobody.") },
                clockPorts: { _ in .available }
            ).choose([name]).flatMap { $0 }
        }
        try knowledge.pairings.store(SpeakerCredentials(password: "sesame"), for: id, name: "Box")
        #expect(try play("Box").first?.configuration(knowledge, sender: knowledge.sender).password == "sesame")
        #expect(try outcome("Box", .pin(nil), on: box()).message.contains("credentials were removed"))
        #expect(try play("Box").first?.configuration(knowledge, sender: knowledge.sender).password == nil)
        // Another speaker has the name now.
        let sold = try #require(SpeakerID("020000000009"))
        try knowledge.pairings.forget(id)
        try knowledge.pairings.store(SpeakerCredentials(password: "sesame"), for: sold, name: "Box")
        #expect(throws: TalkieError.self) { try play("Box") }
        #expect(try outcome("Box", .pin(nil), on: box()).message.contains("needs no pairing"))
        #expect(try play("Box").count == 1)
        #expect(knowledge.pairings.credentials(for: sold).credentials.password == "sesame")
    }

    @Test func aSpeakerThatWasSoldIsForgottenWithoutLookingForIt() throws {
        let knowledge = SpeakerKnowledge(folder: state)
        let id = try #require(SpeakerID("020000000009"))
        for name in ["Sold", "02:00:00:00:00:09"] {
            try knowledge.pairings.store(SpeakerCredentials(password: "x"), for: id, name: "Sold")
            let empty = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
            #expect(try outcome(name, .forget, on: empty).message.contains("Sold was removed"))
            #expect(empty.elapsed == .zero)
            #expect(knowledge.pairings.credentials(for: id).credentials == SpeakerCredentials())
        }
        #expect(try outcome("Box", .forget, on: network()).message.contains("was not paired"))
        #expect(try failure("Sold", .forget, on: network()).exitStatus == 69)
    }
}
