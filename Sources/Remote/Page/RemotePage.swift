package import MediaCore
package import Playback
package import Sockets
internal import Synchronization

/// Serves a page that controls a player from a phone: a remote control in a web browser.
///
/// The page, its commands and its state are available under a link with a random token only. One thread serves all
/// clients; nothing is observed while no page is open.
package final class RemotePage: Sendable {
    private let control: PlayerControl
    private let token: AccessToken
    private let screenshot: HTTPScreenshots.Capture
    private let wake: PollableSignal
    private let isClosed = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    private init(
        _ control: PlayerControl, _ token: AccessToken, _ screenshot: @escaping HTTPScreenshots.Capture
    ) throws(ExhaustionError) {
        (self.control, self.token, self.screenshot) = (control, token, screenshot)
        wake = try PollableSignal()
    }

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - screenshot: Captures the screen as a PNG; nil without an image.
    ///   - complain: Called on the server's thread with a sentence if the page cannot be served.
    /// - Throws: If the system has no descriptor or thread.
    package static func start(
        on listener: TCPListener, token: AccessToken, control: PlayerControl,
        screenshot: @escaping HTTPScreenshots.Capture = { nil },
        complain: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ExhaustionError) -> RemotePage {
        let page = try RemotePage(control, token, screenshot)
        let thread = try WorkerThread.start(name: "page", priority: .background) { page.run(listener, complain) }
        page.thread.withLock { $0 = thread }
        return page
    }

    /// Disconnects all clients. Blocks until the thread has ended.
    package func close() {
        isClosed.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0.take() }?.join()
    }

    private func run(_ listener: TCPListener, _ complain: (String) -> Void) {
        let handler = RemotePageHandler(control: control, token: token, wake: wake, screenshot: screenshot)
        let server: HTTPServer
        do throws(SocketError) {
            server = try HTTPServer(
                on: listener, maxBodyBytes: RemotePageHandler.maxCommandBytes, handler: handler)
        } catch { return complain("the page for remote control cannot be served: \(error.message)") }
        while !isClosed.load(ordering: .acquiring) {
            handler.proceed()
            server.serve()
            server.wait(for: wake, until: handler.deadline)
        }
        handler.close()
        server.close()
    }

    /// Returns the address under which other computers reach a server on an address: of several, that of the default
    /// route.
    package static func reachableAddress(of address: IPv4Address) -> IPv4Address {
        guard address.rawValue == 0 else { return address }
        // The first one is this computer only. 192.0.2.1 is no host's address (RFC 5737): it has the default route.
        let all = LocalAddresses.all()
        let preferred = TCPSocket.localAddress(toward: IPv4Address(rawValue: 0xC000_0201))
        return all.dropFirst().first { $0 == preferred } ?? all.dropFirst().first ?? all[0]
    }
}
