import MediaCore
import Testing

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("a%20b%2fC", "a b/C"), ("%C3%A4", "ä"), ("100%", "100%"), ("%4", "%4"), ("%zz%+5", "%zz%+5"), ("", ""),
    ])
    func malformedSequencesArePreserved(text: String, decoded: String) {
        #expect(String(decoding: PercentEncoding.decoded(text.utf8), as: UTF8.self) == decoded)
    }

    @Test func bytesThatAreNotAllowedAreEncoded() {
        let text = PercentEncoding.encoded("a b/ä".utf8) { $0 < 0x7F && $0 > 0x20 }
        #expect(text == "a%20b/%C3%A4")
    }
}
