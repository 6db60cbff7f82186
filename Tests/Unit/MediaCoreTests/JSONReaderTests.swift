import Testing

@testable import MediaCore

@Suite struct JSONReaderTests {
    /// Returns the value of a text, serialized; the reason if it is refused.
    private func read(_ bytes: [UInt8], maxElements: Int = 1024) -> String {
        var reader = JSONReader(maxElements: maxElements)
        return bytes.withUnsafeBytes { bytes in
            if let node = reader.read(bytes) { return JSONValue(node).compact }
            return reader.failure.map { "\($0)" } ?? "no reason"
        }
    }

    private func read(_ text: String, maxElements: Int = 1024) -> String {
        read(Array(text.utf8), maxElements: maxElements)
    }

    private func value(_ text: String) -> JSONValue? {
        var reader = JSONReader()
        return Array(text.utf8).withUnsafeBytes { bytes in reader.read(bytes).map(JSONValue.init) }
    }

    @Test(arguments: [
        "{}", "[]", "null", "true", "false", "\"\"", "0", "-1", #"{"a":[1,{"b":[]},[[]],"c"],"d":{}}"#,
        #"{"command":["set_property","pause",true],"request_id":9223372036854775807}"#,
    ])
    func valuesAreReadBackEqual(text: String) {
        #expect(read(text) == text)
        #expect(read(" \t\r\n" + text + " \n") == text)
    }

    @Test(arguments: [
        "", " ", "nul", "nullx", "truefalse", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\"=1}", "\"", "\"a", "'a'", "\"a\nb\"", "\"\u{1}\"", "\"\\",
        "\"\\\"",
        "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10",
        "1_000",
        "NaN", "Infinity", "-Infinity", "1e400", "-1e999999999999999999999", "[1]]", "{} {}", "\u{FEFF}{}", "/**/1",
        "[1]\0",
    ])
    func otherTextIsRefusedWithItsPlace(text: String) { #expect(read(text).hasPrefix("malformed")) }

    @Test func numbersHaveTheirValue() {
        #expect(value("9223372036854775807") == .integer(.max) && value("-0") == .integer(0))
        #expect(value("9223372036854775808")?.real == 9223372036854775808)
        #expect(value("-9223372036854775808")?.real == -9223372036854775808)
        #expect(value("0.1")?.real == 0.1 && value("-2.5e-3")?.real == -0.0025 && value("1E+2")?.real == 100)
        #expect(value("123456.789")?.real == 123456.789)
        #expect(value("1e-400")?.real == 0 && value("0e999999999999999999999")?.real == 0)
        // An exponent that the mantissa's length makes ordinary.
        #expect(value("1" + String(repeating: "0", count: 5000) + "e-5000")?.real.map { abs($0 - 1) < 1e-12 } == true)
        #expect(value("0." + String(repeating: "0", count: 9999) + "1e10000")?.real.map { abs($0 - 1) < 1e-12 } == true)
        #expect(value(String(repeating: "9", count: 300))?.real.map { abs($0 / 1e300 - 1) < 1e-12 } == true)
    }

    @Test func stringsAreUnescaped() {
        #expect(value(#""\"\\\/\b\f\n\r\t\u0041\u00e9""#)?.text == "\"\\/\u{8}\u{C}\n\r\tAé")
        #expect(value(#""a\ud83c\udfacb""#)?.text == "a🎬b")
        #expect(value(#""\ud83cx\udfac""#)?.text == "\u{FFFD}x\u{FFFD}")
        #expect(value(#""\u0000""#)?.text == "\0")
        #expect(value("\"é🎬\u{7F}\"")?.text == "é🎬\u{7F}")
    }

    @Test(arguments: [
        [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xE2, 0x82, 0x41],
        [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x8E], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80],
        [0xFF],
    ])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        #expect(read([0x22] + bytes + [0x22]).hasPrefix("malformed"))
        #expect(read(Array("{\"a".utf8) + bytes + Array("\":1}".utf8)).hasPrefix("malformed"))
    }

    @Test func ofEqualNamesTheLastCounts() throws {
        let text = Array(#"{"a":1,"b":2,"a":{"c":3}}"#.utf8)
        try text.withUnsafeBytes { bytes in
            let node = try #require(JSONNode(object: bytes))
            #expect(node.integer("a") == nil && node.object("a")?.integer("c") == 3 && node.integer("b") == 2)
            #expect(node["c"] == nil && node["b"]?["a"] == nil)
        }
        #expect(read(text) == #"{"b":2,"a":{"c":3}}"#)
    }

    @Test func nestingAndSizeAreLimited() {
        let depth = JSONReader.maxDepth
        #expect(!read(String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).hasPrefix("t"))
        #expect(read(String(repeating: "[", count: depth + 1) + String(repeating: "]", count: depth + 1)) == "tooDeep")
        #expect(read(String(repeating: "{\"a\":", count: 5000)) == "tooDeep")
        #expect(read("[1,2,3]", maxElements: 4) == "[1,2,3]")
        #expect(read("[1,2,3]", maxElements: 3) == "tooLarge")
        #expect(read("{\"a\":1}", maxElements: 2) == "tooLarge")
        #expect(read("{\"a\":1}", maxElements: 3) == "{\"a\":1}")
    }

    @Test func aReaderIsUsedAgain() {
        var reader = JSONReader()
        let texts = ["{\"a\":[1,2]}", "[", "{\"a\":\"x\"}"].map { Array($0.utf8) }
        let read = texts.map { text in text.withUnsafeBytes { reader.read($0).map(JSONValue.init)?.compact } }
        #expect(read == ["{\"a\":[1,2]}", nil, "{\"a\":\"x\"}"])
        #expect(reader.failure == nil)
    }

    @Test func membersAreReadByTheirType() throws {
        let text =
            #"{"o":{"k":"v\u0007","n":1},"l":[{"i":1},2,{"i":3}],"s":"a\"b\u001b","w":"word","r":1.5,"i":7,"n":null}"#
        try Array(text.utf8).withUnsafeBytes { bytes in
            let node = try #require(JSONNode(object: bytes))
            #expect(node.members(of: "o", maxCount: 9).map { "\($0.name)=\($0.value)" } == ["k=v\u{FFFD}"])
            #expect(node.objects("l", maxCount: 9)?.map { $0.integer("i") } == [1, 3])
            #expect(node.objects("l", maxCount: 2)?.count == 1 && node.objects("o", maxCount: 2) == nil)
            #expect(node.text("s") == "a\"b\u{FFFD}" && node.text("i") == nil)
            #expect(node.rawString("w").map { $0 == "word" } == true && node.rawString("o") == nil)
            #expect(
                node.real("r") == 1.5 && node.real("i") == 7 && node.integer("r") == nil && node.integer("n") == nil)
        }
        #expect(Array("[1]".utf8).withUnsafeBytes { JSONNode(object: $0) } == nil)
    }
}
