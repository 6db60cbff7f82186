internal import MediaCodecs
internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// Takes the screenshots of a session one at a time: each occupies the window's thread, and tens of megabytes until it
/// is written. Any thread.
final class SessionScreenshots: Sendable {
    private typealias Request = (kind: ScreenshotKind, reply: ControlReply)

    /// The maximum number of requests that wait.
    static let maxWaiting = 64

    private struct State {
        var isBusy = false
        /// Whether a captured image is being encoded and written.
        var isWriting = false
        var waiting: [Request] = []
    }

    private let state = Lock(State())
    /// Raised after each screenshot that was to be written.
    private let hasWritten = Signal()
    private let screen: ScreenControl?
    private let layer: DisplayLayer
    private let mailbox: SessionMailbox

    /// - Parameters:
    ///   - screen: The window; nil without video.
    ///   - layer: Has the subtitles.
    init(_ screen: ScreenControl?, _ layer: DisplayLayer, _ mailbox: SessionMailbox) {
        (self.screen, self.layer, self.mailbox) = (screen, layer, mailbox)
    }

    /// Performs the command `screenshot` after earlier ones; its result has the `filename`. Returns at once.
    func capture(_ command: ControlRequest, _ reply: @escaping ControlReply) {
        let request = (kind: ScreenshotKind(rawValue: command.arguments.text(0)) ?? .subtitles, reply: reply)
        guard let screen else { return reply(.failure(ControlError(.unavailable, "there is no window"))) }
        let isNext = state.withLock { state -> Bool? in
            guard state.isBusy else {
                state.isBusy = true
                return true
            }
            guard state.waiting.count < Self.maxWaiting else { return nil }
            state.waiting.append(request)
            return false
        }
        switch isNext {
        case true?: capture(request, of: screen)
        case false?: break
        case nil: reply(.failure(ControlError(.unavailable, "\(Self.maxWaiting) screenshots are already requested")))
        }
    }

    /// Waits until a captured screenshot is written, at most until the deadline. Others are no longer taken: the window
    /// must be closed.
    func finish(until deadline: HostInstant) {
        while state.withLock({ $0.isWriting }), hasWritten.wait(until: deadline) {}
    }

    private func capture(_ request: Request, of screen: ScreenControl) {
        let end: @Sendable (Result<JSONValue, ControlError>) -> Void = { [self] result in
            request.reply(result)
            let next = state.withLock { state -> Request? in
                state.isWriting = false
                state.isBusy = !state.waiting.isEmpty
                return state.isBusy ? state.waiting.removeFirst() : nil
            }
            hasWritten.raise()
            if let next { capture(next, of: screen) }
        }
        let fail: @Sendable (String) -> Void = { [mailbox] problem in
            mailbox.post(.remark(.warning, problem))
            end(.failure(ControlError(.failed, problem)))
        }
        screen.captureSnapshot(request.kind == .window ? .window : .video) { [self, mailbox, layer] image in
            guard let image else {
                mailbox.post(.done("There is no picture to save"))
                return end(.failure(ControlError(.unavailable, "there is no picture to save")))
            }
            state.withLock { $0.isWriting = true }
            do {
                // A separate thread: encoding must not delay the loop's thread.
                _ = try WorkerThread.start(name: "screenshot") {
                    do {
                        var image = image
                        if request.kind == .subtitles { image.lay(subtitles: layer) }
                        let file = try ScreenshotFile.write(PNGEncoder.encode(bgra: image.pixels, size: image.size))
                        mailbox.post(.done("Screenshot: '\(file)'"))
                        end(.success(.object([("filename", .text(file))])))
                    } catch { fail("the screenshot cannot be saved: \(error)") }
                }
            } catch { fail("the screenshot cannot be saved: \(error)") }
        }
    }
}
