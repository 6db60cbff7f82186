import AirPlayWire
import MediaCore
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import Storage
@testable import TalkieApp

@Suite struct SpeakerIntroductionTests {
    private let folder = TemporaryFolder()
    private var state: StateFolder { StateFolder(path: folder.path) }

    private func outcome(
        _ name: String, _ wish: SpeakerIntroduction.Wish, on network: ScriptedNetwork,
        ask: SpeakerIntroduction.Question? = nil
    ) throws -> SpeakerIntroduction.Outcome {
        let selection = SpeakerSelection(
            knowledge: SpeakerKnowledge(folder: state), clock: network.clock, browse: { network },
            inquire: { (address, _) throws(AirPlayError) in throw AirPlayError(.unreachable, "nobody at \(address).") },
            clockPorts: { _ in .unavailable("of no matter here.") })
        return try SpeakerIntroduction(folder: state).run(name, wish, selection: selection, ask: ask)
    }

    private func network(_ announced: String...) -> ScriptedNetwork {
        ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Box", announced.first ?? "flags=0x4"))))
    }

    private func failure(
        _ name: String, _ wish: SpeakerIntroduction.Wish, on network: ScriptedNetwork
    ) throws -> TalkieError {
        try #require(throws: TalkieError.self) { try outcome(name, wish, on: network) }
    }

    @Test func aSpeakerThatPlaysForEverybodyNeedsNoPairing() throws {
        #expect(try outcome("box", .pin(nil), on: network()).message.contains("needs no pairing"))
    }

    @Test func aPINNeedsSomebodyToTypeIt() throws {
        let failure = try failure("Box", .pin(nil), on: network("flags=0x204"))
        #expect(failure.exitStatus == 2 && failure.message.contains("--pin"))
    }

    @Test func aSpeakerWithAPasswordSaysHowToGiveIt() throws {
        let failure = try failure("Box", .pin(nil), on: network("flags=0x84"))
        #expect(failure.exitStatus == 77 && failure.message.contains("talkie pair 'Box' --password PW"))
    }

    @Test func whatCannotBePairedIsSaidWithItsStatus() throws {
        #expect(try failure("Nobody", .pin("1"), on: network()).exitStatus == 69)
        #expect(try failure("Box", .pin("1"), on: network("features=0x405C4A00")).exitStatus == 69)
        #expect(try failure("Box", .pin("1"), on: network("acl=1")).exitStatus == 77)
        #expect(try failure("local", .pin(nil), on: network()).exitStatus == 2)
        #expect(try failure("airplay://[", .pin(nil), on: network()).exitStatus == 2)
    }

    @Test func aSpeakerThatWasSoldIsForgottenWithoutLookingForIt() throws {
        let knowledge = SpeakerKnowledge(folder: state)
        let id = try #require(SpeakerID("020000000009"))
        for name in ["Sold", "02:00:00:00:00:09"] {
            try knowledge.pairings.keep(SpeakerCredentials(password: "x"), for: id, name: "Sold")
            let empty = ScriptedNetwork((.zero, ScriptedNetwork.without("start avahi-daemon.")))
            #expect(try outcome(name, .forget, on: empty).message.contains("Sold is forgotten"))
            #expect(empty.elapsed == .zero)
            #expect(knowledge.pairings.credentials(for: id).credentials == SpeakerCredentials())
        }
        #expect(try outcome("Box", .forget, on: network()).message.contains("was not paired"))
        #expect(try failure("Sold", .forget, on: network()).exitStatus == 69)
    }
}
