import MediaCore
import Storage
import TalkieApp
import TalkieTestKit
import Testing

@Suite struct SecretFileTests {
    private let folder = TemporaryFolder()

    @Test(arguments: ["open sesame\n", "open sesame", "open sesame\r\nand more\n"])
    func thePasswordIsTheFirstLine(text: String) throws {
        #expect(try SecretFile.read(folder.write(text, to: "secret")) == "open sesame")
    }

    @Test func aFileWithoutAPasswordIsRefused() {
        for text in ["\n", "\r\nnext", String(repeating: "a", count: 5000)] {
            let path = folder.write(text, to: "secret")
            #expect(throws: TalkieError.self) { try SecretFile.read(path) }
        }
        let missing = #expect(throws: TalkieError.self) { try SecretFile.read(folder.path("none")) }
        #expect(missing?.exitStatus == 66)
    }
}
