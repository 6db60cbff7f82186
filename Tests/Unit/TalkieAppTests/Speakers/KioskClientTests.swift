import Foundation
import MediaCore
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import TalkieApp

/// Commands to a running kiosk.
@Suite struct KioskClientTests {
    /// What a client sends, and how it understands the replies that are sent ahead.
    private func exchange<Value>(
        _ replies: [String], _ body: (KioskClient) throws -> Value
    ) throws -> (value: Value, requests: [String]) {
        let folder = TemporaryFolder()
        let listener = try LocalListener(path: folder.path("talkie-kiosk-test"))
        let client = try KioskClient("test", sessionFolder: folder.path)
        let kiosk = try #require(listener.accept())
        let text = replies.map { #"{"data":\#($0),"error":"success"}"# + "\n" }.joined()
        _ = Array(text.utf8).withUnsafeBytes { kiosk.send($0) }
        let value = try body(client)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        guard case .bytes(let count) = kiosk.receiveNow(into: &buffer, limit: buffer.count) else { return (value, []) }
        return (value, String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init))
    }

    @Test(arguments: [
        (PairingAction.pin("3939"), #"["pair-output","Hall","3939","pin"]"#),
        (.forget, #"["pair-output","Hall","","forget"]"#), (.password("secret"), #"["pair-output","Hall","secret"]"#),
    ]) func eachWayOfPairingIsPassedOn(_ wish: PairingAction, _ words: String) throws {
        let (sentence, requests) = try exchange([#""done""#]) { try $0.pair("Hall", wish) { _ in nil } }
        #expect(sentence == "done" && requests == [#"{"command":\#(words)}"#])
    }

    @Test func aCalibrationIsAskedForUntilItsResultAndPlotAreThere() throws {
        let folder = TemporaryFolder()
        var arguments = CalibrateArguments(speakers: [.named("Hall"), .local])
        arguments.plotPath = folder.path("plot.svg")
        arguments.expectsLight = true
        arguments.volume = 40
        let result = JSONValue.object([("text", .text("+1.0\u{1B}[31m ms\n")), ("plot", .text("<svg>"))]).compact
        let replies = [#"{"progress":"opening"}"#, #"{}"#, JSONValue.object([("result", .text(result))]).compact]
        var written = ""
        let (_, requests) = try exchange(replies) { try $0.calibrate(arguments) { written += $0 } }
        #expect(written.hasPrefix("+1.0") && !written.contains("\u{1B}") && written.hasSuffix("ms\n"))
        #expect(try String(contentsOfFile: folder.path("plot.svg"), encoding: .utf8) == "<svg>")
        #expect(requests.count == 3 && requests[2] == #"{"command":["calibration-progress"]}"#)
        let request = try #require(requests.first?.firstMatch(of: /"calibrate-outputs","(.*)"\]/)?.output.1)
        let understood = try KioskCalibrationRequest(parsing: String(request).replacing(#"\""#, with: #"""#)).arguments
        #expect(understood.speakers == [.named("Hall"), .local] && understood.way == .microphone("default"))
        #expect(understood.expectsLight && understood.volume == 40 && understood.plotPath != nil)
    }

    @Test(arguments: ["", "{}", #"{"speakers":["Hall"],"events":1000}"#, #"{"speakers":[7],"events":12}"#])
    func aRequestThatMakesNoSenseIsRefused(_ text: String) {
        #expect(throws: TalkieError.self) { try KioskCalibrationRequest(parsing: text) }
    }

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

    @Test(arguments: [("unavailable", 69), ("not-permitted", 77), ("other", 1)] as [(String, Int32)])
    func theStatusIsThatOfTheKiosksError(code: String, status: Int32) throws {
        let folder = TemporaryFolder()
        let listener = try LocalListener(path: folder.path("talkie-kiosk-status-test"))
        let client = try KioskClient("status-test", sessionFolder: folder.path)
        let kiosk = try #require(listener.accept())
        let reply = #"{"error":"error running command","reason":"no","code":"\#(code)"}"# + "\n"
        _ = Array(reply.utf8).withUnsafeBytes { kiosk.send($0) }
        let error = #expect(throws: TalkieError.self) { try client.pair("Hall", .password("x")) { _ in nil } }
        #expect(error?.exitStatus == status && error?.message == "no")
    }

    /// A controller of the kiosk's group must not run commands or write files as the kiosk's user.
    @Test(arguments: [
        "file:'|touch /tmp/x',raw", "file:/tmp/x,raw", "tee:default,x,raw", "file:x,raw", "hw:0'", "{type file}", "",
        "plughw:CARD=a/b", "plug:hw:0",
    ])
    func aMicrophoneWithPluginsIsRefused(name: String) {
        let request = JSONValue.object([
            ("speakers", .array([.text("Hall")])), ("events", .integer(40)), ("microphone", .text(name)),
        ]).compact
        #expect(throws: TalkieError.self) { try KioskCalibrationRequest(parsing: request) }
    }

    @Test(arguments: ["default", "pulse", "hw:1", "plughw:CARD=Microphone,DEV=0"])
    func aDeviceIsAMicrophone(name: String) throws {
        let request = JSONValue.object([
            ("speakers", .array([.text("Hall")])), ("events", .integer(40)), ("microphone", .text(name)),
        ]).compact
        guard case .microphone(name) = try KioskCalibrationRequest(parsing: request).arguments.way else {
            Issue.record("another way")
            return
        }
    }
}
