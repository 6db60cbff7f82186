internal import Glibc
internal import MediaCore
internal import Text

/// Draws overlays on its own thread, so that text layout delays no video frame.
///
/// The thread starts with the first content; without overlays there is none. All methods may be called on any thread.
final class OverlayPainter: Sendable {
    /// The content of the overlays. A panel hides a message, and a message a mark; a bar is below them all.
    struct Content: Sendable, Equatable {
        var bar: ScreenBar?
        var panel: ScreenPanel?
        var message: ScreenMessage?
        var mark: String?
        var isMarkAccented = false
        /// Drawn without the other content.
        var dashboard: DashboardContent?

        var isEmpty: Bool { bar == nil && panel == nil && message == nil && mark == nil && dashboard == nil }
    }

    /// The result of drawing a `Content`.
    struct Drawn: Sendable {
        /// From bottom to top.
        var images: [OverlayImage] = []
        /// The layout of the panel; nil without one.
        var layout: PanelLayout?
        /// The layout of the bar; nil without one.
        var barLayout: BarLayout?
    }

    /// The mutable state; guarded by `state`.
    private struct State {
        var wanted: (content: Content, area: PixelSize)?
        /// The number of `draw` calls.
        var wishes: UInt64 = 0
        /// Results of this `draw` call and earlier ones are dropped, because the content became empty or the window was
        /// resized. Other results are shown even if newer content waits; otherwise rapidly changing content would never
        /// appear.
        var discarded: UInt64 = 0
        var area: PixelSize?
        var drawn: Drawn?
        var thread: WorkerThread?
        var isStopping = false
        /// Why no text can be shown, for users; reported once.
        var trouble: (sentence: String?, isKnown: Bool) = (nil, false)
    }

    private let state = Lock(State())
    private let wake = Signal()
    private let done: PollableSignal?
    private let makePainter: @Sendable () -> TextPainter?

    /// - Parameters:
    ///   - done: Raised when a result or a reason why there is none is ready.
    ///   - makePainter: Called once, on the painter's thread.
    init(raising done: PollableSignal?, makePainter: @escaping @Sendable () -> TextPainter? = { TextPainter() }) {
        (self.done, self.makePainter) = (done, makePainter)
    }

    /// Requests drawing; replaces a pending request. Empty content takes effect at once, without the thread.
    func draw(_ content: Content, in area: PixelSize) {
        state.withLock { state in
            state.wishes += 1
            guard !content.isEmpty else {
                state.wanted = nil
                state.drawn = Drawn()
                state.discarded = state.wishes
                return
            }
            if area != state.area {
                state.drawn = nil
                state.discarded = state.wishes - 1
                state.area = area
            }
            state.wanted = (content, area)
            guard state.thread == nil else { return }
            do throws(ExhaustionError) {
                state.thread = try start()
            } catch {
                Self.recordTrouble("\(error.message); no text is shown over the film", in: &state)
                done?.raise()
            }
        }
        wake.raise()
    }

    /// Returns the newest result and removes it; nil without a new one.
    func consumeResult() -> Drawn? {
        state.withLock { $0.drawn.take() }
    }

    /// Returns the reason why text cannot be shown, once.
    func consumeProblem() -> String? {
        state.withLock { $0.trouble.sentence.take() }
    }

    private static func recordTrouble(_ sentence: String, in state: inout State) {
        if !state.trouble.isKnown { state.trouble = (sentence, true) }
    }

    /// Stops and joins the thread.
    func stop() {
        let thread = state.withLock { state in
            state.isStopping = true
            return state.thread
        }
        wake.raise()
        thread?.join()
    }

    private func start() throws(ExhaustionError) -> WorkerThread {
        try WorkerThread.start(name: "overlay painter") { [self] in
            guard let painter = makePainter() else {
                state.withLock {
                    Self.recordTrouble("\(SystemCause.text(ENOMEM)); no text is shown over the film", in: &$0)
                }
                done?.raise()
                return
            }
            if !painter.hasFonts {
                state.withLock {
                    Self.recordTrouble(
                        "no font was found, so no text is shown over the film; install one, for example fonts-dejavu-core",
                        in: &$0)
                }
            }
            while true {
                // Cleared before the state is read: otherwise a signal in between would be lost, and `stop` would block
                // forever.
                wake.clear()
                guard !state.withLock({ $0.isStopping }) else { return }
                let (wanted, wish) = state.withLock { state in
                    defer { state.wanted = nil }
                    return (state.wanted, state.wishes)
                }
                guard let wanted else {
                    wake.wait()
                    continue
                }
                let drawn = Self.drawing(wanted.content, in: wanted.area, by: painter)
                state.withLock { if wish > $0.discarded { $0.drawn = drawn } }
                done?.raise()
            }
        }
    }

    /// Returns the images of the content. Runs on the painter's thread.
    static func drawing(_ content: Content, in area: PixelSize, by painter: TextPainter) -> Drawn {
        var drawn = Drawn()
        if let dashboard = content.dashboard {
            if let image = DashboardDrawing(painter: painter).overlay(dashboard, in: area) {
                drawn.images.append(image)
            }
            return drawn
        }
        if let bar = content.bar {
            let drawing = BarDrawing(painter: painter)
            drawn.barLayout = BarLayout(bar, in: area, width: drawing.width)
            if let layout = drawn.barLayout, let image = drawing.overlay(bar, in: layout, of: area) {
                drawn.images.append(image)
            }
        }
        if let panel = content.panel {
            let drawing = PanelDrawing(painter: painter)
            drawn.layout = PanelLayout(panel, in: area, above: drawn.barLayout, width: drawing.width)
            if let layout = drawn.layout {
                if let image = drawing.overlay(panel, in: layout, of: area) { drawn.images.append(image) }
                return drawn
            }
        }
        let messageDrawing = MessageDrawing(painter: painter)
        let image: OverlayImage? =
            if let message = content.message {
                messageDrawing.overlay(message.text, in: area, at: message.position, isAccented: message.isAccented)
            } else {
                content.mark.flatMap {
                    messageDrawing.overlay($0, in: area, at: .corner, isAccented: content.isMarkAccented)
                }
            }
        // Corner content stays above the bar.
        if let image { drawn.images.append(image.raised(above: drawn.barLayout?.top, in: area)) }
        return drawn
    }
}
