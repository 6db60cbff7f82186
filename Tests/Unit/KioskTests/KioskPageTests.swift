import MediaCore
import Playback
import Remote
import TalkieTestKit
import Testing

@testable import Kiosk

/// The page of a kiosk: its table, and its configuration.
@Suite struct KioskPageTests {
    private let mailbox = Mailbox<KioskEvent>()
    private let health = Lock(
        KioskHealth(
            at: .now.advanced(by: .seconds(3600)), shown: .playing, uptime: .zero,
            configuration: .init(loaded: WallTime(seconds: 1))))

    private var table: ControlTable {
        var table = ControlTable.kiosk { [mailbox] in mailbox.post(.command($0, $1)) }
        table.addState { [health] in health.withLock { $0 } }
        return table
    }

    /// Executes a command, and answers the kiosk's command. Returns that and the result.
    private func result(
        _ words: [JSONValue], isDone: Bool = true
    ) -> (command: String?, result: Result<JSONValue, ControlError>?) {
        let rig = KioskRig()
        let control = PlayerControl(rig.player, table: table)
        defer { control.close() }
        let result = Lock<Result<JSONValue, ControlError>?>(nil)
        control.perform(words) { answer in result.withLock { $0 = answer } }
        var command: String?
        for case .command(let request, let reply) in mailbox.receive(until: .now) {
            command = request.command.name
            reply(isDone ? .success(.null) : .failure(ControlError(.unavailable, "this is the first film")))
        }
        return (command, result.withLock { $0 })
    }

    @Test(arguments: [
        [JSONValue.text("set"), .text("pause"), .flag(true)], [.text("set"), .text("volume"), .integer(40)],
        [.text("playlist-next")], [.text("playlist-prev")],
    ])
    func commandsAreThoseOfTheKiosk(words: [JSONValue]) {
        let (asked, result) = result(words)
        #expect(asked == words[0].text && (try? result?.get()) == .null)
    }

    @Test func aRefusalOfTheKioskIsTheCommands() {
        let refusal = result([.text("playlist-prev")], isDone: false).result
        #expect(refusal == .failure(ControlError(.unavailable, "this is the first film")))
    }

    @Test(arguments: [
        ["seek", "1"], ["set", "mute", "yes"], ["set", "volume", "131"], ["quit"], ["loadfile", "a.mp4"],
    ])
    func otherCommandsAreRefused(words: [String]) {
        let (asked, result) = result(words.map { .text($0) })
        #expect(asked == nil && (try? result?.get()) == nil)
    }

    @Test func theHealthIsAProperty() throws {
        let rig = KioskRig()
        let control = PlayerControl(rig.player, table: table)
        defer { control.close() }
        #expect(try control.value(of: "health") == .text("ok playing"))
        health.withLock { $0.fault = "no picture" }
        #expect(try control.value(of: "health") == .text("no picture"))
    }

    // MARK: Configuration

    private func read(_ text: String) throws(KioskConfigurationError) -> KioskConfiguration {
        try KioskConfiguration(Array(("playlist = \"a.mp4\"\n" + text).utf8), file: "hall.toml", folder: "/srv/kiosk")
    }

    @Test func theTableSaysWhereThePageIs() throws {
        #expect(try read("").remote == nil)
        #expect(try read("[remote]").remote?.address.description == "0.0.0.0:9596")
        let remote = try read("[remote]\nlisten = \"10.0.0.1:80\"\ntoken_file = \"token\"").remote
        #expect(remote?.address.description == "10.0.0.1:80" && remote?.tokenFile == "/srv/kiosk/token")
        for text in ["listen = false", "listen = \"here\"", "token_file = \"\"", "password = \"x\""] {
            #expect(throws: KioskConfigurationError.self) { try read("[remote]\n" + text) }
        }
    }

    @Test func theLinkIsReportedWithoutATokenFromAFile() throws {
        let (folder, rig, reports) = (TemporaryFolder(), KioskRig(), Lock<[String]>([]))
        let control = PlayerControl(rig.player, table: table)
        defer { control.close() }
        var address = try HTTPAddress(parsing: "127.0.0.1:1")
        address.port = 0
        for file in [folder.write("0123456789abcdef012345\n", to: "token"), nil] {
            let page = try KioskPage.start(
                KioskConfiguration.Page(address: address, tokenFile: file), control, screenshot: { nil }
            ) { _, text in reports.withLock { $0.append(text) } }
            page?.close()
        }
        let tokens = reports.withLock { $0.map { String($0.split(separator: "/")[2]) } }
        #expect(tokens.first == "TOKEN" && tokens.last?.count == 22, "\(reports.withLock { $0 })")
    }

    @Test func aTokenIsReadFromItsFile() throws {
        let folder = TemporaryFolder()
        let file = folder.write("0123456789abcdef012345\n", to: "token")
        #expect(throws: Never.self) { try KioskConfiguration.Page.token(file) }
        let short = folder.write("secret\n", to: "short")
        #expect(throws: TalkieError.self) { try KioskConfiguration.Page.token(short) }
    }
}
