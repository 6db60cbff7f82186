import MediaCore
import Testing

@Suite struct TextValueTests {
    private func json(_ text: String) -> String {
        var line = JSONObjectWriter(bytes: [])
        line.add("t", text: text)
        return String(decoding: line.finish(), as: UTF8.self)
    }

    @Test func aTextOfAJSONLineHasAThousandBytesWhateverTheyAre() {
        let ascii = String(repeating: "a", count: 1000)
        #expect(json(ascii) == "{\"t\":\"\(ascii)\"}\n" && json(ascii + "bc") == json(ascii))
        #expect(json(String(repeating: "愛", count: 400)) == "{\"t\":\"\(String(repeating: "愛", count: 333))\"}\n")
        let escaped = String(repeating: "\\u0001", count: 166)
        #expect(json(String(repeating: "\u{1}", count: 200)) == "{\"t\":\"\(escaped)\"}\n")
    }

    @Test(arguments: ["afr", "yue", "gsw", "fil", "deu", "ger", "de", "sw", "kn"]) func everyLanguageWithANameIsKnown(
        _ text: String
    ) {
        #expect(LanguageCode(text).isKnown && LanguageCode(text).name != nil)
    }

    @Test func codesWithTwoAndThreeLettersAreOneLanguage() {
        for (short, long) in [("af", "afr"), ("kn", "kan"), ("lb", "ltz"), ("uz", "uzb"), ("yi", "yid"), ("de", "ger")]
        {
            #expect(LanguageCode(short) == LanguageCode(long))
        }
        #expect(!LanguageCode("qqq").isKnown && !LanguageCode("forced").isKnown)
    }
}
