package import MediaCore

/// Answers requests for an image of the screen. One at a time, because images are large. Used on the server's thread
/// only.
package final class HTTPScreenshots {
    /// Captures the screen as a PNG; nil without an image.
    package typealias Capture = @Sendable () async -> [UInt8]?

    private enum Image: Sendable {
        case awaited
        case taken([UInt8]?)
    }

    private let capture: Capture
    private let timeout: Duration
    private let wake: PollableSignal
    /// The request that waits. The task that captures the screen writes `image`.
    private var held: (exchange: HTTPExchange, until: HostInstant, image: Lock<Image>)?

    /// - Parameters:
    ///   - timeout: How long a screenshot may take: a window without content may never draw one.
    ///   - wake: Raised when `proceed` is to be called.
    package init(timeout: Duration, wake: PollableSignal, capture: @escaping Capture) {
        (self.timeout, self.wake, self.capture) = (timeout, wake, capture)
    }

    /// Holds a request, and captures the screen.
    package func answer(_ exchange: HTTPExchange) {
        guard held == nil else { return exchange.answer(503, "another screenshot is being taken\n") }
        let image = Lock(Image.awaited)
        held = (exchange, .now.advanced(by: timeout), image)
        exchange.hold()
        Task { [capture, wake] in
            let bytes = await capture()
            image.withLock { $0 = .taken(bytes) }
            wake.raise()
        }
    }

    /// Answers the waiting request if its image is available or its timeout has passed. Called before `serve`.
    package func proceed() {
        guard let (exchange, until, image) = held else { return }
        switch image.withLock({ $0 }) {
        case .taken(let bytes?): exchange.answer(200, "image/png", bytes)
        case .taken(nil): exchange.answer(503, "no picture is shown on the screen\n")
        case .awaited:
            guard HostInstant.now >= until else { return }
            exchange.answer(503, "the screen did not deliver a picture\n")
        }
        held = nil
    }

    /// When `proceed` must be called; nil: without a waiting request.
    package var deadline: HostInstant? { held?.until }

    /// Answers the waiting request without an image, at the end.
    package func cancelRequest() {
        held?.exchange.answer(503, "the program is exiting\n")
        held = nil
    }
}
