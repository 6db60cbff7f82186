internal import Kiosk
internal import MediaCore
internal import Playback
internal import Remote
internal import ScreenOutput
internal import Sockets

/// The page for a phone (`--remote`): reserves its port before anything is opened, then serves it.
struct SessionPage {
    private let link: RemotePageLink

    /// The link to the page.
    var address: String { link.text }

    /// Reserves the port.
    ///
    /// - Throws: `notPermitted` or `failed`.
    init(_ argument: RemoteArgument) throws(TalkieError) {
        do throws(SocketError) { link = try RemotePageLink(at: argument.address) } catch {
            let remedy = HTTPServer.isAvailable ? "; choose another address with --remote ADDRESS:PORT" : ""
            throw TalkieError(
                error.code == .notPermitted ? .notPermitted : .failed,
                "no page for remote control is possible at \(argument.text): \(error.message)\(remedy)")
        }
    }

    /// Starts the server, and prints the link.
    ///
    /// - Parameter screen: Nil without video.
    func start(
        _ control: PlayerControl, screen: ScreenControl?, terminal: Terminal, log: LogFile?, isQuiet: Bool
    ) throws(ExhaustionError) -> RemotePage {
        let complain: @Sendable (String) -> Void = { text in
            log?.write(.error, text)
            terminal.say("talkie: \(PrintableText.sentence(text))")
        }
        let page = try link.serve(
            control, screenshot: { await screen?.pngScreenshot(report: complain) }, complain: complain)
        // A full stop would become a part of the link.
        log?.write(.info, "remote control at \(link.text) until the end")
        guard !isQuiet else { return page }
        terminal.say("talkie: Remote control: \(link.text)")
        if terminal.showsStatus, let lines = QRCode(link.text)?.lines, terminal.columns > lines[0].count {
            terminal.say(blackOnWhite: lines)
        }
        return page
    }
}
