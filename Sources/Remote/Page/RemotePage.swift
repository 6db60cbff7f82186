package import MediaCore
package import Playback
package import Sockets

/// Serves a page that controls a player from a phone: a remote control in a web browser.
///
/// The page, its commands and its state are available under a link with a random token only. One thread serves all
/// clients; nothing is observed while no page is open.
package final class RemotePage: Sendable {
    private let control: PlayerControl
    private let token: AccessToken
    private let screenshot: HTTPScreenshots.Capture
    private let timeout: Duration
    private let observe: Observe
    private let thread: PollingThread

    /// Observes a property.
    package typealias Observe =
        @Sendable (
            _ control: PlayerControl, _ name: String, _ body: @escaping @Sendable (JSONValue?) -> Void
        ) throws(ControlError) -> Int

    private init(
        _ control: PlayerControl, _ token: AccessToken, _ screenshot: @escaping HTTPScreenshots.Capture,
        timeout: Duration, observe: @escaping Observe
    ) throws(ExhaustionError) {
        (self.control, self.token, self.screenshot, self.timeout) = (control, token, screenshot, timeout)
        self.observe = observe
        thread = try PollingThread(name: "page", priority: .background)
    }

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - screenshot: Captures the screen as a PNG; nil without an image.
    ///   - timeout: How long a client may be idle, and how long a screenshot may take: a window without content may
    ///     never draw one.
    ///   - complain: Called on the server's thread with a sentence if the page cannot be served.
    ///   - observe: Replaces `PlayerControl.observe` in tests.
    /// - Throws: If the system has no descriptor or thread.
    package static func start(
        on listener: TCPListener, token: AccessToken, control: PlayerControl,
        screenshot: @escaping HTTPScreenshots.Capture = { nil }, timeout: Duration = .seconds(5),
        complain: @escaping @Sendable (String) -> Void = { _ in },
        observe: @escaping Observe = { (control, name, body) throws(ControlError) in try control.observe(name, body) }
    ) throws(ExhaustionError) -> RemotePage {
        let page = try RemotePage(control, token, screenshot, timeout: timeout, observe: observe)
        try page.thread.start { page.run(listener, complain) }
        return page
    }

    /// Disconnects all clients. Blocks until the thread has ended.
    package func close() { thread.stop() }

    private func run(_ listener: TCPListener, _ complain: (String) -> Void) {
        let wake = thread.wake
        let screenshots = HTTPScreenshots(timeout: timeout, wake: wake, capture: screenshot)
        let handler = RemotePageHandler(
            control: control, token: token, wake: wake, screenshots: screenshots, observe: observe)
        let server: HTTPServer
        do throws(SocketError) {
            server = try HTTPServer(
                on: listener, timeout: timeout, maxBodyBytes: RemotePageHandler.maxCommandBytes, handler: handler)
        } catch { return complain("the page for remote control cannot be served: \(error.message)") }
        while !thread.isStopping {
            handler.proceed()
            server.serve()
            server.wait(for: wake, until: handler.deadline)
        }
        handler.close()
        server.close()
    }
}
