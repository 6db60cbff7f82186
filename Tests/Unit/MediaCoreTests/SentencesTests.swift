import Testing

@testable import MediaCore

@Suite struct SentencesTests {
    @Test func partsBecomeSentences() {
        #expect(Sentences.joined("'pulse' is silent", nil) == "'pulse' is silent.")
        #expect(
            Sentences.joined("there is no \"x\"; check the name", "The sound plays without a picture.")
                == "There is no \"x\"; check the name. The sound plays without a picture.")
        #expect(Sentences.joined(" is it there? ", "", "wait …") == "Is it there? Wait …")
    }
}
