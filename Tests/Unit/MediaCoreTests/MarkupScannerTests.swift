import Testing

@testable import MediaCore

@Suite struct MarkupScannerTests {
    private func pieces(_ text: String) -> [String] {
        var scanner = MarkupScanner(Array(text.utf8))
        var pieces: [String] = []
        while let piece = scanner.next() {
            switch piece {
            case .open(let name, let attributes):
                pieces.append("+\(name)\(String(decoding: attributes, as: UTF8.self))")
            case .close(let name): pieces.append("-\(name)")
            case .text(let bytes): pieces.append(String(decoding: bytes, as: UTF8.self))
            case .documentType: pieces.append("!")
            case .malformed: pieces.append("?")
            }
        }
        return pieces
    }

    @Test func tagsAndTextsAreReadInOrder() {
        #expect(
            pieces("<?xml version='1.0'?><!-- <no> --><x:a b=\"1>2\"><c/>d &amp; &#233;<![CDATA[<&amp;]]></x:a >") == [
                "+a b=\"1>2\"", "+c", "-c", "d & é", "<&amp;", "-a",
            ])
        #expect(pieces("<!DOCTYPE a><a>") == ["!", "+a"])
    }

    @Test func unknownEntitiesStay() {
        #expect(pieces("&a=1&b;&#x110000;&lt&lt;&") == ["&a=1&b;&#x110000;&lt<&"])
    }

    @Test(arguments: ["<", "<a", "<a b='>", "<!--", "<!-- -", "<![CDATA[a]", "<!a", "<?", "< a>", "<>"])
    func malformedPartsEnd(_ text: String) { #expect(pieces(text) == ["?"]) }
}
