internal import Kiosk
internal import MediaCore
internal import Playback
internal import Remote
internal import ScreenOutput
internal import Sockets

/// The page for a phone (`--remote`): reserves its port before anything is opened, then serves it.
struct SessionPage {
    private let listener: TCPListener
    private let token = AccessToken()
    private let link: String

    /// Reserves the port.
    ///
    /// - Throws: `notPermitted` or `failed`.
    init(_ argument: RemoteArgument) throws(TalkieError) {
        let address = argument.address
        guard HTTPServer.isAvailable else {
            throw TalkieError(.failed, "--remote needs libmicrohttpd; install libmicrohttpd12")
        }
        do throws(SocketError) { listener = try TCPListener(address: address.address, port: address.port) } catch {
            let holder = error.code == .addressInUse ? PortHolder.name(ofTCP: address.port) : nil
            throw TalkieError(
                error.code == .notPermitted ? .notPermitted : .failed,
                "no page for remote control is possible at \(address) (\(holder ?? error.message)); choose another"
                    + " address with --remote ADDRESS:PORT")
        }
        link = token.link(
            to: HTTPAddress(address: RemotePage.reachableAddress(of: address.address), port: listener.port))
    }

    /// Starts the server, and shows the link where only the user sees it.
    ///
    /// - Parameter screen: Nil without video.
    func start(
        _ control: PlayerControl, _ screen: ScreenControl?, _ terminal: Terminal, _ log: LogFile?, isQuiet: Bool
    ) throws(ExhaustionError) -> RemotePage {
        let tell: @Sendable (String) -> Void = { text in
            log?.write(.error, text)
            terminal.say("talkie: \(PrintableText.sentence(text))")
        }
        let page = try RemotePage.start(
            on: listener, token: token, control: control, screenshot: { await screen?.pngScreenshot(tell: tell) },
            complain: tell)
        log?.write(.info, "remote control: \(link)")
        guard !isQuiet else { return page }
        terminal.say("talkie: Remote control: \(link)")
        if terminal.showsStatus, let lines = QRCode(link)?.lines, terminal.columns > lines[0].count {
            terminal.say(blackOnWhite: lines)
        }
        return page
    }
}
