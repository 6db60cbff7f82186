internal import MediaCore
internal import Text

/// Draws what lies over the film on a thread of its own, so that no picture waits for letters.
///
/// The thread begins with the first thing to draw; a film over which nothing lies has none. Any thread may ask and take.
final class OverlayPainter: Sendable {
    /// What is to lie over the film. A panel hides a message, a message a mark; a bar lies below them all.
    struct Content: Sendable, Equatable {
        var bar: ScreenBar?
        var panel: ScreenPanel?
        var message: ScreenMessage?
        var mark: String?
        /// Stands by itself.
        var board: ScreenBoard?

        var isEmpty: Bool { bar == nil && panel == nil && message == nil && mark == nil && board == nil }
    }

    struct Drawn: Sendable {
        /// From the bottom up.
        var images: [OverlayImage] = []
        /// Where the parts of the panel lie; nil without one.
        var layout: PanelLayout?
        /// Where those of the bar do.
        var barLayout: BarLayout?
    }

    private struct State {
        var wanted: (content: Content, area: PixelSize)?
        /// Counts what was asked for.
        var wishes: UInt64 = 0
        /// What was drawn for this wish and earlier ones is discarded: nothing was to be seen after it, or the window had
        /// another size. Other drawings are shown although newer content waits: content that changes faster than it is
        /// drawn would never be seen.
        var discarded: UInt64 = 0
        var area: PixelSize?
        var drawn: Drawn?
        var thread: WorkerThread?
        var isStopping = false
        /// Why no words can be shown, for people; told once.
        var trouble: (sentence: String?, isKnown: Bool) = (nil, false)
    }

    private let state = Lock(State())
    private let wake = Signal()
    private let done: PollableSignal?

    /// - Parameter done: raised when something was drawn.
    init(raising done: PollableSignal?) { self.done = done }

    /// The newest wish is drawn next; nothing at all is drawn at once, and without the thread.
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
                Self.note("\(error.message); no words are shown over the film", in: &state)
                done?.raise()
            }
        }
        wake.raise()
    }

    /// What was drawn since it was last taken.
    func take() -> Drawn? {
        state.withLock { state in
            defer { state.drawn = nil }
            return state.drawn
        }
    }

    /// Why words cannot be shown, once.
    func takeTrouble() -> String? {
        state.withLock { state in
            defer { state.trouble.sentence = nil }
            return state.trouble.sentence
        }
    }

    private static func note(_ sentence: String, in state: inout State) {
        if !state.trouble.isKnown { state.trouble = (sentence, true) }
    }

    /// Waits until the thread has ended.
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
            guard let painter = TextPainter() else { return }
            if !painter.hasFonts {
                state.withLock {
                    Self.note(
                        "no font was found, so no words are shown over the film; install one, for example fonts-dejavu-core",
                        in: &$0)
                }
            }
            while true {
                // Before the state is read: a signal raised in between would be lost, and `stop` would wait for ever.
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

    /// What there is to see of the content.
    static func drawing(_ content: Content, in area: PixelSize, by painter: TextPainter) -> Drawn {
        var drawn = Drawn()
        if let board = content.board {
            if let image = BoardDrawing(painter: painter).overlay(board, in: area) { drawn.images.append(image) }
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
        let words = MessageDrawing(painter: painter)
        let image: OverlayImage? =
            if let message = content.message {
                words.overlay(message.text, in: area, at: message.place)
            } else {
                content.mark.flatMap { words.overlay($0, in: area, at: .corner) }
            }
        // What is in the corner keeps above the bar.
        if let image { drawn.images.append(image.raised(above: drawn.barLayout?.top, in: area)) }
        return drawn
    }
}
