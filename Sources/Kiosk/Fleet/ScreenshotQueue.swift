internal import MediaCore
internal import Storage

/// Takes screenshots that were asked for from afar one at a time, and writes them into the state folder. Any thread.
///
/// A picture of a screen takes tens of megabytes on its way to the file: of the requests that come meanwhile the last one is kept.
final class ScreenshotQueue: Sendable {
    private struct State {
        var isBusy = false
        var waiting: FleetLink.Reply?
    }

    private static let file = "kiosk-screenshot.png"
    static let busy = "busy: another screenshot is being taken"

    private let folder: StateFolder
    private let screenshot: @Sendable () async -> [UInt8]?
    private let state = Lock(State())

    /// - Parameter screenshot: what is on the screen, as a PNG; nil when there is nothing.
    init(_ folder: StateFolder, screenshot: @escaping @Sendable () async -> [UInt8]?) {
        (self.folder, self.screenshot) = (folder, screenshot)
    }

    /// Takes a screenshot, after the one that is being taken; `reply` says where it is. Returns at once.
    func request(_ reply: @escaping FleetLink.Reply) {
        let (isFirst, displaced) = state.withLock { state -> (Bool, FleetLink.Reply?) in
            guard state.isBusy else {
                state.isBusy = true
                return (true, nil)
            }
            defer { state.waiting = reply }
            return (false, state.waiting)
        }
        displaced?(false, Self.busy)
        guard isFirst else { return }
        Task.detached { [self] in
            var next: FleetLink.Reply? = reply
            while let reply = next {
                await take(reply)
                next = state.withLock { state in
                    defer { state.waiting = nil }
                    state.isBusy = state.waiting != nil
                    return state.waiting
                }
            }
        }
    }

    private func take(_ reply: FleetLink.Reply) async {
        guard let picture = await screenshot() else { return reply(false, "there is no picture") }
        do throws(StateError) {
            try folder.write(Self.file, picture)
            reply(true, "\(folder.path)/\(Self.file)")
        } catch {
            reply(false, error.message)
        }
    }
}
