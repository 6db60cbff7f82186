internal import MediaCore
internal import Playback
internal import Storage

/// Takes the screenshots requested by fleet commands one at a time, and writes them to the state folder. Any thread.
///
/// A screenshot uses tens of megabytes until it is written. Of the requests received meanwhile, only the last is kept.
final class ScreenshotQueue: Sendable {
    private struct State {
        var isBusy = false
        var waiting: ControlReply?
    }

    private static let file = "kiosk-screenshot.png"
    static let busy = ControlError(.unavailable, "busy: another screenshot is being taken")

    private let folder: StateFolder
    private let screenshot: @Sendable () async -> [UInt8]?
    private let state = Lock(State())

    /// Creates a queue.
    ///
    /// - Parameter screenshot: Captures the screen as a PNG; nil without an image.
    init(_ folder: StateFolder, screenshot: @escaping @Sendable () async -> [UInt8]?) {
        (self.folder, self.screenshot) = (folder, screenshot)
    }

    /// Takes a screenshot after the current one; `reply` receives its path. Returns at once.
    func request(_ reply: @escaping ControlReply) {
        let (isFirst, displaced) = state.withLock { state -> (Bool, ControlReply?) in
            guard state.isBusy else {
                state.isBusy = true
                return (true, nil)
            }
            defer { state.waiting = reply }
            return (false, state.waiting)
        }
        displaced?(.failure(Self.busy))
        guard isFirst else { return }
        Task.detached { [self] in
            var next: ControlReply? = reply
            while let reply = next {
                await captureScreenshot(reply)
                next = state.withLock { state in
                    defer { state.waiting = nil }
                    state.isBusy = state.waiting != nil
                    return state.waiting
                }
            }
        }
    }

    private func captureScreenshot(_ reply: ControlReply) async {
        guard let image = await screenshot() else {
            return reply(.failure(ControlError(.unavailable, "no picture is shown")))
        }
        do throws(StateError) {
            try folder.write(Self.file, image)
            reply(.success(.object([("filename", .text("\(folder.path)/\(Self.file)"))])))
        } catch {
            reply(.failure(ControlError(.failed, error.message)))
        }
    }
}
