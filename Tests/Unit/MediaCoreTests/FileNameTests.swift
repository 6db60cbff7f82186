import Testing

@testable import MediaCore

@Suite struct FileNameTests {
    @Test(arguments: [
        Array("plain".utf8), Array("Molvær".utf8), Array("Molv".utf8) + [0xE6] + Array("r".utf8), [0xFF, 0x80, 0xC3],
        [0xE6, 0xC3, 0xA6, 0xE6], [0xF0, 0x9F, 0x8E], Array("\u{EF66}\u{EF80}\u{EFFF}\u{E000}".utf8), [],
    ])
    func eachNameSurvivesAsText(_ bytes: [UInt8]) {
        let text = FileName.text(bytes)
        #expect(FileName.bytes(text) == bytes)
        #expect(text.systemPath == bytes.map { CChar(bitPattern: $0) } + [0])
        #expect(!FileName.displayed(text).unicodeScalars.contains { (0xEF80...0xEFFF).contains($0.value) })
    }

    @Test func twoNamesNeverHaveOneText() {
        #expect(FileName.text([0xE6]) != FileName.text(Array("\u{EFE6}".utf8)))
        #expect(FileName.displayed(FileName.text([0x61, 0xE6])) == "a\u{FFFD}")
    }

    @Test func noTextBecomesASlashOrATerminator() {
        for value in UInt32(0xEF80)...0xEFFF {
            let bytes = FileName.bytes(String(Unicode.Scalar(value)!))
            #expect(bytes.count == 1 && bytes[0] >= 0x80)
        }
    }
}
