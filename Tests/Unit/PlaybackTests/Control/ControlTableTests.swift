import MediaCore
import Testing

@testable import Playback

@Suite struct ControlTableTests {
    private let table = ControlTable.player

    private func code(_ words: JSONValue...) -> String? {
        do throws(ControlError) {
            _ = try table.request(words)
            return nil
        } catch { return error.code.rawValue }
    }

    @Test func wordsOfAKeyAndValuesOfAClientAreTheSame() throws {
        let word = try table.request([.text("set"), .text("speed"), .text("1.5")])
        let value = try table.request([.text("set"), .text("speed"), .real(1.5, decimals: 1)])
        #expect(word.arguments[1] == value.arguments[1])
        #expect(try ControlType.flag.checked(.text("yes")) == .flag(true))
        #expect(try ControlType.integer(0...5).checked(.text("-0")) == .integer(0))
        #expect(try ControlType.integer(0...5).checked(.real(3, decimals: 1)) == .integer(3))
        #expect(try ControlType.number(-1...1).checked(.integer(1)) == .real(1, decimals: 6))
    }

    @Test func aChoiceIsAWordOrAnIntegerAndNoIsFalse() throws {
        let track = ControlType.choice(["auto", "no"], or: 1...65535)
        #expect(try track.checked(.text("no")) == .flag(false))
        #expect(try track.checked(.flag(false)) == .flag(false))
        #expect(try track.checked(.text("auto")) == .text("auto"))
        #expect(try track.checked(.text("2")) == .integer(2))
        #expect(throws: ControlError(.outOfRange, "expected auto, no or an integer from 1 to 65535")) {
            try track.checked(.integer(0))
        }
        #expect(throws: ControlError(.wrongType, "expected auto, no or an integer from 1 to 65535, not 'yes'")) {
            try track.checked(.flag(true))
        }
    }

    @Test func anErrorStatesItsCause() {
        #expect(code() == "wrong-type")
        #expect(code(.text("fly")) == "unknown-name")
        #expect(code(.integer(1)) == "unknown-name")
        #expect(code(.text("set"), .text("colour"), .integer(1)) == "unknown-name")
        #expect(code(.text("set"), .text("duration"), .integer(1)) == "not-writable")
        #expect(code(.text("set"), .text("speed"), .text("fast")) == "wrong-type")
        #expect(code(.text("set"), .text("speed"), .integer(40)) == "out-of-range")
        #expect(code(.text("set"), .text("speed")) == "wrong-type")
        #expect(code(.text("set"), .text("speed"), .integer(1), .integer(1)) == "wrong-type")
        #expect(code(.text("set"), .text("speed"), .real(.nan, decimals: 0)) == "wrong-type")
        #expect(code(.text("set"), .text(String(repeating: "a", count: 10_000)), .null) == "out-of-range")
    }

    @Test func aPathHasALimitedLength() throws {
        #expect(try table.property("metadata/by-key/title").type == .node)
        #expect(throws: ControlError.self) { try table.property("playlist" + String(repeating: "/", count: 300)) }
    }

    @Test func prefixesAndOtherNamesOfMPVAreAccepted() throws {
        let words: [JSONValue] = [.text("no-osd"), .text("async"), .text("cycle"), .text("pause")]
        #expect(try table.request(words).command.name == "cycle")
        #expect(try table.property("playback-time").name == "time-pos")
    }

    @Test func namesAndSummariesAreUniqueAndComplete() {
        for property in table.properties.values {
            #expect(!property.summary.isEmpty && !property.summary.hasSuffix("."), "\(property.name)")
        }
        for command in table.commands.values {
            #expect(!command.summary.isEmpty && !command.summary.hasSuffix("."), "\(command.name)")
            let optional = command.parameters.drop { !$0.isOptional }
            #expect(!optional.contains { !$0.isOptional }, "\(command.name)")
        }
    }
}
