import MediaCore
import Testing

@testable import Kiosk

/// Reading of values and nested tables, and the mistakes that are collected.
@Suite struct TableReaderTests {
    private func reader(_ text: String) throws -> TableReader {
        TableReader(try TOMLDocument(Array(text.utf8), file: "hall.toml").root, file: "hall.toml")
    }

    private func number(_ value: TOMLDocument.Value) throws(ValueError) -> Int64 {
        guard case .integer(let number) = value else { throw ValueError("expected a number") }
        return number
    }

    @Test func aValueReplacesThePresentOneIfItIsValid() throws {
        var reader = try reader("valid = 7\ninvalid = \"seven\"")
        var (valid, invalid, absent) = (Int64(1), Int64(2), Int64(3))
        reader.read("valid", into: &valid, number)
        reader.read("invalid", into: &invalid, number)
        reader.read("absent", into: &absent, number)
        #expect([valid, invalid, absent] == [7, 2, 3])
        #expect(reader.mistakes.map(\.line) == [2])
        #expect(reader.mistakes.first?.sentence == "invalid: expected a number")
    }

    @Test func mistakesOfANestedTableAreRecordedOnceItIsFinished() throws {
        var reader = try reader("[outer]\nwrong = \"seven\"\nunknown = 1")
        let table = reader.inside("outer", expected: "a table")
        var inner = try #require(table)
        let wrong = inner.value("wrong", number)
        #expect(wrong == nil)
        #expect(reader.mistakes.isEmpty)
        reader.finish(inner)
        reader.finish()
        #expect(reader.mistakes.map(\.line) == [2, 3])
        #expect(reader.mistakes.last?.sentence.hasPrefix("there is no key 'unknown'") == true)
    }

    /// Each table of a key is a recursion of the parser.
    @Test func deeplyNestedKeysAreRefusedBeforeTheyAreParsed() {
        func line(_ text: String) -> Int? {
            do throws(ConfigMistake) { _ = try TOMLDocument(Array(text.utf8), file: "hall.toml") } catch {
                return error.line
            }
            return nil
        }
        func key(_ dots: Int) -> String { String(repeating: "a.", count: dots) + "a" }
        #expect(line("b = 1\n\(key(60_000)) = 1") == 2)
        #expect(line("[\(key(60_000))]") == 1)
        #expect(line(String(repeating: "\(key(200)) = [{\n", count: 200)) == 2)
        #expect(line("b = \"\"\"\n\"\"\"\"\"\n\(key(300)) = \"x.y\"") == 3)
        // Dots that do not nest.
        #expect(line("\(key(200)) = 1\n[b.\(key(200))]\n\(key(200)) = 1") == nil)
        #expect(line("# \(key(300))\nb = '\(key(300))'\nc = '''\n\(key(300))'''\nd = \"\\\"\(key(300))\"") == nil)
        #expect(line("b = [\(String(repeating: "1.5, ", count: 300))\n'a.mp4', {c.d = 1}]") == nil)
    }

    @Test func anythingElseInPlaceOfATableIsAMistake() throws {
        var reader = try reader("outer = 7")
        let tables = [
            reader.inside("outer", expected: "a table, [outer]"), reader.inside("absent", expected: "a table"),
        ]
        #expect(tables.allSatisfy { $0 == nil })
        #expect(reader.mistakes.map(\.sentence) == ["outer: expected a table, [outer]"])
    }
}
