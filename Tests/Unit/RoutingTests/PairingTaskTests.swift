import MediaCore
import SyncRendering
import Testing

@testable import Routing

/// The PINs of a pairing from the list of outputs.
@Suite(.timeLimit(.minutes(10))) struct PairingTaskTests {
    /// Two receivers, each of which displays its PIN.
    private final class StereoPair: PairingProvider {
        let (name, notes) = ("stereo", [String]())
        let typed = Lock<[String]>([])

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
            for _ in 0..<2 { typed.withLock { [pin = ask?("PIN: ") ?? "none"] in $0.append(pin) } }
            return PairingOutcome(message: "both are paired")
        }
    }

    @Test func eachReceiverOfAStereoPairIsAskedForItsOwnPIN() throws {
        let pair = StereoPair()
        let task = PairingTask(OutputDestination(provider: "stereo", id: "s", name: "Stereo", kind: .stereoPair))
        var pins = ["1111", "2222"]
        _ = try task.run(.pin(nil), in: OutputRegistry([pair])) {
            #expect(task.isAsking)
            task.answer(pins.removeFirst())
        }
        #expect(pair.typed.withLock { $0 } == ["1111", "2222"])
        #expect(!task.isAsking && !task.isCancelled)
    }
}
