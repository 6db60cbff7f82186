internal import MediaCore
internal import Playback
internal import Remote
internal import Routing
internal import ScreenOutput

/// Owns the panel over the video: the output list, a choice list, or a page. Only one is open at a time. Confined to
/// the session's thread.
final class SessionPanel {
    /// The open list of tracks, chapters or speeds.
    private(set) var choice: ChoiceList?
    /// The open page; nil while a list is open.
    private(set) var page: InfoPage?
    /// When the statistics page is next updated.
    private var statisticsDue = HostInstant.now
    private let stage: SessionDirector.Stage
    private let console: SessionConsole
    private let routes: RouteController?

    init(_ stage: SessionDirector.Stage, _ console: SessionConsole, _ routes: RouteController?) {
        (self.stage, self.console, self.routes) = (stage, console, routes)
    }

    var isListOpen: Bool { routes?.isOpen == true || choice != nil }

    private func show() { stage.screen?.show(panel: routes?.picker?.panel ?? choice?.panel ?? page?.panel) }

    func close() {
        routes?.closePicker()
        (choice, page) = (nil, nil)
        show()
    }

    // MARK: Opening

    /// Opens a page instead of a list, or closes it if it is open.
    ///
    /// - Parameter address: The address of the current film.
    func toggle(_ subject: InfoPage.Subject, of address: String) {
        let isOpen = page?.subject == subject
        close()
        guard !isOpen else { return }
        page = subject == .keys ? .keys : statistics(of: address)
        if subject == .keys, let link = stage.pageLink { page?.code = QRCode(link)?.modules ?? [] }
        show()
    }

    private func statistics(of address: String) -> InfoPage {
        StatisticsPage(
            state: console.measuredState, address: PrintableText.withoutCredentials(address),
            decoder: stage.player.videoDecoder, screen: stage.screen?.status,
            outputs: stage.player.allOutputs.map { ($0.id, $0.output, stage.player.knownVolume(of: $0.output)) }
        ).page
    }

    /// Opens a list, or closes it if it is open.
    func toggle(_ subject: ChoiceList.Subject) {
        let isOpen = choice?.subject == subject
        close()
        guard !isOpen else { return }
        let rows = ChoiceList.rows(subject, of: stage.player.state)
        guard !rows.isEmpty else { return }
        choice = ChoiceList(subject, title: ChoiceList.title(subject), rows: rows)
        show()
    }

    /// Opens the list of outputs, or closes it if it is open.
    func toggleRoutes() {
        guard let routes else { return console.show("This film plays without sound") }
        if routes.isOpen { return close() }
        (choice, page) = (nil, nil)
        routes.openPicker()
        show()
    }

    // MARK: Input

    /// Passes a key to the open panel. Returns whether it is used, and the commands of what was chosen
    /// with it.
    func press(_ key: String) -> (isUsed: Bool, commands: [[JSONValue]]) {
        var commands: [[JSONValue]] = []
        if let routes, routes.isOpen {
            guard routes.press(key) else { return (false, []) }
        } else if choice != nil {
            guard let action = choice?.press(key) else { return (false, []) }
            if let action { commands = carryOut(action) }
        } else if page != nil, key == "ESC" {
            page = nil
        } else {
            guard page?.press(key, visible: stage.screen?.status.panelRows) == true else { return (false, []) }
        }
        show()
        return (true, commands)
    }

    /// Handles a pointer on the panel. Returns the commands of what was chosen with it.
    func point(at row: Int, _ part: ScreenPanel.Element, turned: Int) -> [[JSONValue]] {
        var commands: [[JSONValue]] = []
        if let routes, routes.isOpen {
            routes.point(at: row, RoutePicker.Element(part), turned: turned)
        } else if let action = choice?.point(at: row, turned: turned) {
            commands = carryOut(action)
        } else if choice == nil {
            page?.scroll(by: -3 * turned, visible: stage.screen?.status.panelRows)
        }
        show()
        return commands
    }

    private func carryOut(_ action: ChoiceList.Action) -> [[JSONValue]] {
        defer { close() }
        guard case .choose(let row) = action, let subject = choice?.subject else { return [] }
        return Self.commands(row, of: subject, in: stage.player.state)
    }

    /// Returns the commands of a row of a list; none if the row no longer exists.
    static func commands(_ row: Int, of subject: ChoiceList.Subject, in state: PlayerState) -> [[JSONValue]] {
        func set(_ property: String, _ value: JSONValue) -> [JSONValue] { [.text("set"), .text(property), value] }
        switch subject {
        case .audio where state.audioTracks.indices.contains(row):
            return [set("aid", .integer(state.audioTracks[row].number))]
        case .subtitles where row == 0: return [set("sid", .flag(false))]
        case .subtitles where state.subtitleTracks.indices.contains(row - 1):
            let selection = set("sid", .integer(state.subtitleTracks[row - 1].number))
            return state.showsSubtitles ? [selection] : [selection, set("sub-visibility", .flag(true))]
        case .chapters where state.chapters.indices.contains(row): return [set("chapter", .integer(row))]
        case .speed where ChoiceList.speeds.indices.contains(row):
            return [set("speed", .real(ChoiceList.speeds[row], decimals: 2))]
        case .audio, .subtitles, .chapters, .speed: return []
        }
    }

    // MARK: Updates

    /// Updates an open list of outputs.
    func refreshRoutes() { if routes?.refresh() == true { show() } }

    /// Updates an open list or page: another film can have other tracks.
    func refresh(for address: String) {
        if page?.subject == .statistics, statisticsDue <= .now {
            page = statistics(of: address)
            show()
            statisticsDue = .now.advanced(by: .seconds(1))
        }
        guard let old = choice else { return }
        choice?.update(ChoiceList.rows(old.subject, of: stage.player.state))
        if choice != old { show() }
    }
}
