internal import MediaCore
internal import Playback
internal import Remote
internal import Sockets
internal import Storage

/// The page for a phone of a kiosk.
enum KioskPage {
    /// Starts the server. Returns nil if the page cannot be served; the kiosk continues.
    ///
    /// - Parameter report: Receives the link, without a token from a file, or the reason.
    static func start(
        _ settings: KioskConfiguration.Page, _ control: PlayerControl,
        screenshot: @escaping HTTPScreenshots.Capture, report: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ExhaustionError) -> RemotePage? {
        let link: RemotePageLink
        do throws(TalkieError) {
            let token = try settings.tokenFile.map { (file) throws(TalkieError) in
                try KioskConfiguration.Page.token(file)
            }
            do throws(SocketError) {
                link = try RemotePageLink(at: settings.address, token: token ?? AccessToken())
            } catch { throw TalkieError(.failed, error.message) }
        } catch {
            report(.warning, "there is no page for remote control at \(settings.address): \(error.message)")
            return nil
        }
        let page = try link.serve(control, screenshot: screenshot) { report(.warning, $0) }
        // More users can read a journal than the file.
        let text = settings.tokenFile == nil ? link.text : "http://\(link.address)/TOKEN/"
        report(.info, "remote control at \(text) of this kiosk")
        return page
    }

}
