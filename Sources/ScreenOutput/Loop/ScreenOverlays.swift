internal import MediaCore
internal import SyncRendering

/// The message, panel and bar over the video: their content, drawing and displayed layout, and the pointer's use of
/// them.
struct ScreenOverlays {
    /// A position in pixels relative to the title-safe area.
    typealias Position = (x: Int, y: Int)

    private let painter: OverlayPainter
    private(set) var content = OverlayPainter.Content()
    /// When the message is to be removed; nil until it is visible.
    private(set) var messageEnds: HostInstant?
    private var panelLayout: PanelLayout?
    private var barLayout: BarLayout?
    /// The part of the bar on which the pointer was pressed; nil when it is released.
    private var dragged: ScreenBar.Control?

    /// The top of the displayed bar; nil without one.
    var barTop: Int? { barLayout?.top }

    /// The number of rows of the displayed panel; nil without one.
    var panelRows: Int? { panelLayout?.count }

    /// - Parameter done: Raised when `present` is to be called.
    init(raising done: PollableSignal? = nil) { painter = OverlayPainter(raising: done) }

    // MARK: Content

    mutating func show(_ message: ScreenMessage?) { (content.message, messageEnds) = (message, nil) }

    mutating func show(mark: String?, isAccented: Bool = false) {
        (content.mark, content.isMarkAccented) = (mark, isAccented)
    }

    mutating func show(panel: ScreenPanel?) {
        content.panel = panel
        if panel == nil { panelLayout = nil }
    }

    mutating func show(bar: ScreenBar?) {
        content.bar = bar
        if bar == nil { (barLayout, dragged) = (nil, nil) }
    }

    /// Stores the layout of content that is displayed now; it may be older than the requested one.
    mutating func displayed(_ drawn: OverlayPainter.Drawn) {
        panelLayout = content.panel == nil ? nil : drawn.layout
        barLayout = content.bar == nil ? nil : drawn.barLayout
        beginMessage()
    }

    /// Starts the duration of the message, which is visible now, or is not because there is no window.
    mutating func beginMessage() {
        if messageEnds == nil { messageEnds = content.message.map { .now.advanced(by: $0.duration) } }
    }

    // MARK: Drawing

    /// Requests drawing of the content for the current window. The previous overlays stay until then.
    func draw(on screen: Screen?) {
        guard let screen else { return }
        guard let area = screen.geometry?.titleSafe.size else {
            screen.messages = nil
            return
        }
        painter.draw(content, in: area)
    }

    /// Shows the overlays that were drawn. Returns the reason why text cannot be shown, once.
    mutating func present(on screen: Screen?) -> String? {
        let trouble = painter.consumeProblem()
        guard let screen, let drawn = painter.consumeResult() else { return trouble }
        let corner = screen.geometry?.titleSafe ?? PixelRect(x: 0, y: 0, width: 0, height: 0)
        let images =
            corner.x == 0 && corner.y == 0
            ? drawn.images : drawn.images.map { $0.moved(right: corner.x, down: corner.y) }
        screen.messages = images.isEmpty ? nil : Overlay(images)
        displayed(drawn)
        screen.barTop = barTop.map { $0 + corner.y }
        return trouble
    }

    /// Stops and joins the painter's thread.
    func stop() { painter.stop() }

    // MARK: Pointer

    /// Returns the input of a press on the panel or the bar, or beside both while there is a panel; nil elsewhere.
    mutating func press(at position: Position) -> [PointerInput.Event]? {
        var events: [PointerInput.Event] = []
        if panelLayout != nil {
            if let row = rowEvent(at: position, turned: 0) {
                events = [row]
            } else if !isOnPanel(position) {
                events = [.besidePanel]
            }
        }
        guard let barLayout, let control = barControl(at: position) else { return panelLayout == nil ? nil : events }
        dragged = control
        return events + [.bar(control, isDragged: barLayout.drag(control, to: position.x) != nil)]
    }

    /// Returns the input of a release; nil if no slider of the bar was held down.
    mutating func release(at position: Position) -> PointerInput.Event? {
        dragged.take().flatMap { barLayout?.drag($0, to: position.x) }.map { .bar($0, isDragged: false) }
    }

    func move(to position: Position) -> PointerInput.Event {
        if let dragged, let control = barLayout?.drag(dragged, to: position.x) { return .bar(control, isDragged: true) }
        return .moved(over: barControl(at: position))
    }

    /// Returns the input of a wheel step over a panel, beside it, or over the bar's volume; nil elsewhere.
    func turnWheel(_ turned: Int, at position: Position) -> PointerInput.Event? {
        if let row = rowEvent(at: position, turned: turned) { return row }
        let control = barControl(at: position)
        return panelLayout != nil || control?.isVolume == true ? .wheel(over: control, turned: turned) : nil
    }

    private func rowEvent(at position: Position, turned: Int) -> PointerInput.Event? {
        panelLayout?.hit(x: position.x, y: position.y, rows: content.panel?.rows.count ?? 0).map {
            .panel(row: $0.row, $0.part, turned: turned)
        }
    }

    private func isOnPanel(_ position: Position) -> Bool { panelLayout?.contains(x: position.x, y: position.y) == true }

    /// Returns the part of the bar at a position that no panel covers.
    private func barControl(at position: Position) -> ScreenBar.Control? {
        isOnPanel(position) ? nil : barLayout?.hit(x: position.x, y: position.y)
    }
}
