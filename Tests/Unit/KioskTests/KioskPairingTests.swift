import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback
@testable import Routing
@testable import SyncRendering

/// Pairing by a command to a running kiosk.
@Suite(.timeLimit(.minutes(10))) struct KioskPairingTests {
    private let replies = Lock<[Result<JSONValue, ControlError>]>([])
    private let replied = Signal()

    /// Two receivers, each of which displays its PIN: 1111, then 2222.
    private final class StereoPair: PairingProvider {
        let (name, notes) = ("stereo", [String]())

        func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {}
        func match(_ name: String) -> NameMatch { .possible }
        func find(_: [String], until _: Interruption, notice _: @escaping (String) -> Void) -> [OutputDestination] {
            []
        }
        func outputs(at place: OutputDestination) -> [any AudioOutput] { [] }
        func identity(of output: any AudioOutput) -> OutputIdentity? { nil }

        func pair(
            _ name: String, _ wish: PairingAction, until interruption: Interruption, ask: PairingQuestion?
        ) throws(TalkieError) -> PairingOutcome {
            for pin in ["1111", "2222"] {
                let typed = ask?("PIN: ")
                guard typed == pin else { throw TalkieError(.notPermitted, "\(typed ?? "no PIN") was rejected") }
            }
            return PairingOutcome(message: "both are paired")
        }
    }

    /// A speaker that displays its PIN, and reports when it is no longer awaited.
    private final class ImpatientSpeaker: PairingProvider {
        let (name, notes) = ("impatient", [String]())
        let ended = Signal()
        let attempts = Lock(0)

        func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {}
        func match(_ name: String) -> NameMatch { .possible }
        func find(_: [String], until _: Interruption, notice _: @escaping (String) -> Void) -> [OutputDestination] {
            []
        }
        func outputs(at place: OutputDestination) -> [any AudioOutput] { [] }
        func identity(of output: any AudioOutput) -> OutputIdentity? { nil }

        func pair(
            _ name: String, _ wish: PairingAction, until interruption: Interruption, ask: PairingQuestion?
        ) throws(TalkieError) -> PairingOutcome {
            attempts.withLock { $0 += 1 }
            guard case .pin(nil) = wish else { return PairingOutcome(message: "\(wish)") }
            _ = ask?("PIN: ")
            ended.raise()
            throw TalkieError(.notPermitted, "no PIN was entered")
        }
    }

    private func pairing(_ kind: OutputDestination.Pairing, _ code: String) -> KioskPairing {
        let hall = RecordingOutput(name: "hall", capacity: 1)
        return pairing(ToyProvider(["hall": hall], pairing: (kind, code)))
    }

    private func pairing(_ provider: any PairingProvider) -> KioskPairing {
        KioskPairing(OutputRegistry([provider])) { (name, priority, body) throws(ExhaustionError) in
            _ = try WorkerThread.start(name: name, priority: priority, body)
        }
    }

    /// Returns the reply to a command: the text, the code that is wanted, or the failure.
    private func reply(
        _ pairing: KioskPairing, _ code: String?, from name: String = "toy:hall",
        _ method: KioskPairing.Method = .password
    ) -> String {
        let before = replies.withLock { $0.count }
        pairing.pair(name, code: code, method) { [replies, replied] result in
            replies.withLock { $0.append(result) }
            replied.raise()
        }
        while replies.withLock({ $0.count }) == before { replied.wait() }
        switch replies.withLock({ $0[before] }) {
        case .success(let value): return value.text ?? value["wants"]?.text ?? ""
        case .failure(let error): return error.message
        }
    }

    @Test func aSpeakerDisplaysItsPINWithWhichTheCommandIsRepeated() {
        let pairing = pairing(.pin, "3939")
        #expect(reply(pairing, nil) == "pin")
        #expect(reply(pairing, "1111").contains("rejected"))
        #expect(reply(pairing, nil) == "pin")
        #expect(reply(pairing, "3939") == "hall is paired")
    }

    @Test func eachReceiverOfAStereoPairGetsItsOwnPIN() {
        let pairing = pairing(StereoPair())
        #expect(reply(pairing, nil) == "pin")
        #expect(reply(pairing, "1111") == "pin")
        #expect(reply(pairing, "2222") == "both are paired")
    }

    @Test func aPairingWhoseControllerEndedIsContinuedByTheSameCommand() {
        let pairing = pairing(.pin, "3939")
        #expect(reply(pairing, nil) == "pin")
        #expect(reply(pairing, nil, from: "toy:foyer").contains("another pairing is in progress"))
        #expect(reply(pairing, nil) == "pin")
        #expect(reply(pairing, "3939") == "hall is paired")
    }

    @Test func aPINThatArrivesLateBeginsNoOtherPairing() {
        let speaker = ImpatientSpeaker()
        let pairing = KioskPairing(OutputRegistry([speaker]), timeout: .zero) {
            (name, priority, body) throws(ExhaustionError) in
            _ = try WorkerThread.start(name: name, priority: priority, body)
        }
        #expect(reply(pairing, nil) == "pin")
        speaker.ended.wait()
        #expect(reply(pairing, "3939").contains("no longer awaited"))
        #expect(speaker.attempts.withLock { $0 } == 1)
        #expect(!reply(pairing, "3939").contains("no longer awaited"), "a password")
    }

    @Test func aKnownPINAndTheRemovalOfKeysArePassedOn() {
        let pairing = pairing(ImpatientSpeaker())
        #expect(reply(pairing, "3939", .pin) == "\(PairingAction.pin("3939"))")
        #expect(reply(pairing, "", .forget) == "\(PairingAction.forget)")
    }

    @Test func aPasswordIsEnough() {
        #expect(reply(pairing(.password, "secret"), "secret") == "hall is paired")
        #expect(reply(pairing(.password, "secret"), "other").contains("rejected"))
    }

    @Test func theEndOfAKioskEndsAPairing() {
        let pairing = pairing(.pin, "3939")
        #expect(reply(pairing, nil) == "pin")
        pairing.stop()
        while reply(pairing, nil) != "pin" {}
        pairing.stop()
    }

    @Test func theSocketHasTheNameOfTheConfiguration() {
        let own = KioskSocket.path(
            configuration: "/etc/talkie/hall.toml", serviceFolder: nil, sessionFolder: "/run/user/1000")
        #expect(own == "/run/user/1000/talkie-kiosk-hall")
        let service = KioskSocket.path(
            configuration: "/etc/talkie/hall.toml", serviceFolder: "/run/talkie-kiosk/hall", sessionFolder: nil)
        #expect(KioskSocket.paths(of: "hall", sessionFolder: "/run/user/1000") == [service, own].compactMap { $0 })
        #expect(KioskSocket.path(configuration: "hall.toml", serviceFolder: nil, sessionFolder: nil) == nil)
    }
}
