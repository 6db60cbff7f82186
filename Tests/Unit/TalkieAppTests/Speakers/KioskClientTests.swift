import MediaCore
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import TalkieApp

/// Commands to a running kiosk.
@Suite struct KioskClientTests {
    @Test func thePINOfEachReceiverIsAskedFor() throws {
        let folder = TemporaryFolder()
        let listener = try LocalListener(path: folder.path("talkie-kiosk-stereo-test"))
        let client = try KioskClient("stereo-test", sessionFolder: folder.path)
        let kiosk = try #require(listener.accept())
        let wantsPIN = #"{"data":{"wants":"pin"},"error":"success"}"# + "\n"
        // They are read one after the other.
        let replies = wantsPIN + wantsPIN + #"{"data":"both are paired","error":"success"}"# + "\n"
        _ = Array(replies.utf8).withUnsafeBytes { kiosk.send($0) }
        var questions: [String] = []
        let sentence = try client.pair("Hall", .pin(nil)) { question in
            questions.append(question)
            return ["1111", "2222"][questions.count - 1]
        }
        #expect(sentence == "both are paired")
        #expect(questions == ["PIN of 'Hall': ", "PIN of the other receiver of 'Hall': "])
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard case .bytes(let count) = kiosk.receiveNow(into: &buffer, limit: buffer.count) else {
            Issue.record("no command was sent")
            return
        }
        #expect(
            String(decoding: buffer[..<count], as: UTF8.self) == """
                {"command":["pair-output","Hall"]}
                {"command":["pair-output","Hall","1111"]}
                {"command":["pair-output","Hall","2222"]}

                """)
    }
}
