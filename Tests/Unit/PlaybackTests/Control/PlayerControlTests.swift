import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// The commands and properties of a player in virtual time.
@Suite struct PlayerControlTests {
    private let queue: VirtualQueue
    private let control: PlayerControl

    init() {
        queue = VirtualQueue()
        control = PlayerControl(queue.mailbox, queue.board)
        queue.core.apply(.append(["1/80000", "2/80000", "3/8000"].map { QueueItem($0) }))
        queue.core.play()
        queue.run(for: .seconds(1))
    }

    /// Executes a command and returns the code of its error; nil if it succeeded.
    private func perform(_ words: JSONValue...) -> String? {
        let result = Lock<Result<JSONValue, ControlError>?>(nil)
        control.perform(words) { answer in result.withLock { $0 = answer } }
        queue.runUntilIdle()
        switch result.withLock({ $0 }) {
        case .failure(let error): return error.code.rawValue
        case .success: return nil
        case nil: return "no answer"
        }
    }

    private func value(_ name: String) throws(ControlError) -> String { try control.value(of: name).words }

    @Test func aPropertyHasItsNewValueWhenTheCommandReplies() throws {
        #expect(perform(.text("set"), .text("speed"), .real(2, decimals: 1)) == nil)
        #expect(try value("speed") == "2")
        #expect(perform(.text("set"), .text("mute"), .text("yes")) == nil)
        #expect(try value("mute") == "yes")
        #expect(perform(.text("cycle"), .text("mute")) == nil)
        #expect(try value("mute") == "no")
        #expect(perform(.text("set"), .text("time-pos"), .whole(5)) == nil)
        #expect(try value("time-pos").hasPrefix("5"))
    }

    @Test func twoCyclesRestoreThePause() throws {
        #expect(try value("pause") == "no")
        control.perform([.text("cycle"), .text("pause")])
        control.perform([.text("cycle"), .text("pause")])
        queue.run(for: .seconds(1))
        #expect(try value("pause") == "no")
        #expect(queue.phase == .playing)
        #expect(perform(.text("set"), .text("pause"), .flag(true)) == nil)
        #expect(try value("pause") == "yes")
    }

    @Test func afterTheEndCommandsAreRefused() {
        queue.core.shutDown()
        #expect(perform(.text("cycle"), .text("pause")) == "unavailable")
    }
}
