internal import MediaCore
package import Playback
public import SyncRendering

/// The list of destinations from which the user chooses: its contents, and the meaning of keys and pointer events. A
/// value without side effects; `RouteController` owns it and performs what the user requests.
public struct RoutePicker: Sendable, Equatable {
    /// A row of the list.
    public struct Row: Sendable, Hashable, Identifiable {
        /// The identifier of the destination (`OutputDestination.id`).
        public let id: String
        /// The name of the destination: `This computer`, `Kitchen`.
        public let name: String
        /// The kind of the destination, for its icon.
        public internal(set) var kind = OutputDestination.Kind.speaker
        /// The language and purpose of its audio track, if the destinations can play different ones, and its part of
        /// the channels, unless it plays the whole; otherwise nil.
        public internal(set) var language: String?
        /// Whether it plays or is about to.
        public internal(set) var isTicked: Bool
        /// Why it is not audible yet, during a change; otherwise nil.
        public internal(set) var pending: String?
        /// What is wrong with it while it is selected, such as `no sound, trying again`; nil if nothing is.
        public internal(set) var problem: String?
        /// Why it cannot be chosen; nil if it can.
        public internal(set) var obstacle: String?
        /// The pairing that makes it selectable; nil if that is not the obstacle.
        public internal(set) var pairing: OutputDestination.Pairing?
        /// The volume, 0…130; nil if unknown.
        public internal(set) var volume: Double?
        /// The audio track that it plays, if the film has several to choose from; otherwise nil.
        package internal(set) var choice: AudioTrackChoice?

        /// What the user has to know about it, after its name; nil if there is nothing.
        public var detail: String? { pending ?? problem ?? obstacle }

        /// The name, with the language: `Kitchen · German`.
        public var title: String { RoutePicker.title(name, language: language) }
    }

    /// Returns the name of a destination with its language, if there is one.
    static func title(_ name: String, language: String?) -> String { language.map { "\(name) · \($0)" } ?? name }

    /// A PIN or a password that the user enters.
    struct Entry: Hashable {
        /// The destination, by identifier and name.
        let id: String
        let name: String
        let kind: OutputDestination.Pairing
        /// Whether the destination is added to the current ones once it is paired.
        var adds = false
        /// Whether the last one was wrong.
        var isRetry = false
        var text = ""

        /// The text for display: `Password of Kitchen: •••`.
        var prompt: String {
            switch kind {
            case .pin: "PIN that \(name) shows: \(text)_"
            case .password:
                (isRetry ? "Wrong password. " : "")
                    + "Password of \(name): \(String(repeating: "•", count: text.count))_"
            }
        }
        /// The maximum length; longer ones are not typed.
        static let maxLength = 64
    }

    /// The part of a row under the pointer.
    public enum Element: Hashable, Sendable {
        /// The check mark; the text; the language.
        case mark, text, language
        /// The volume bar, at a position of 0…1.
        case level(Double)
    }

    /// An action requested by the user.
    enum Action: Hashable {
        /// Close the list.
        case close
        /// Play on these destinations, by identifier; never empty.
        case play([String])
        /// Play only on this destination and close the list.
        case playAndClose(String)
        /// Set the volume of a destination.
        case setVolume(String, Double)
        /// Select the next audio track of the film for a destination.
        case cycleLanguage(String)
        /// Pair with a destination, by identifier, then play there: in addition to the current ones, or only there.
        case pair(String, adds: Bool)
        /// Pair with the PIN or password that was entered.
        case enter(Entry)
        /// Cancel the pairing that waits for an entry.
        case cancelEntry
        /// Display why nothing happens.
        case explain(String)
    }

    /// The volume change per key, as everywhere in Talkie.
    static let volumeStep = 5.0

    /// The rows in display order.
    public private(set) var rows: [Row] = []
    /// The identifier of the selected row, which stays selected when other rows change.
    private(set) var current: String?
    /// The reason why a request has no effect, or why destinations may be missing; nil if there is none.
    public internal(set) var notice: String?
    /// The PIN or password that is being entered; nil: none.
    var entry: Entry?

    /// Replaces the rows and keeps the selection.
    mutating func update(_ rows: [Row]) {
        let previousIndex = index
        self.rows = rows
        if current == nil || !rows.contains(where: { $0.id == current }) {
            // The next row, or the one that plays.
            current =
                previousIndex.flatMap { rows.isEmpty ? nil : rows[min($0, rows.count - 1)].id }
                ?? (rows.first { $0.isTicked } ?? rows.first)?.id
        }
    }

    /// Selects a row.
    mutating func select(to id: String) { if rows.contains(where: { $0.id == id }) { current = id } }

    /// The index of the selected row.
    public var index: Int? { rows.firstIndex { $0.id == current } }

    // MARK: Input

    /// Handles a key. Returns nil for an unused key, which then has its usual function; `.some(nil)` if there is
    /// nothing to do.
    mutating func press(_ key: String) -> Action?? {
        if entry != nil { return .some(edit(with: key)) }
        switch key {
        case "UP", "k": move(by: -1)
        case "DOWN", "j": move(by: 1)
        case "HOME", "PGUP": move(by: -rows.count)
        case "END", "PGDWN": move(by: rows.count)
        case "ENTER", "KP_ENTER": return .some(index.flatMap { playOnly($0) })
        case "SPACE", "x": return .some(index.flatMap { toggle($0) })
        case "LEFT", "-": return .some(index.flatMap { changeVolume($0, by: -Self.volumeStep) })
        case "RIGHT", "+": return .some(index.flatMap { changeVolume($0, by: Self.volumeStep) })
        case "l": return .some(index.map { .cycleLanguage(rows[$0].id) })
        case "ESC", "s", "BS": return .some(.close)
        default: return nil
        }
        return .some(nil)
    }

    /// Handles a key while a PIN or a password is entered.
    private mutating func edit(with key: String) -> Action? {
        switch key {
        case "ENTER", "KP_ENTER":
            guard let entry, !entry.text.isEmpty else { return nil }
            self.entry = nil
            return .enter(entry)
        case "ESC":
            entry = nil
            return .cancelEntry
        case "BS": _ = entry?.text.popLast()
        default:
            let typed = ["SPACE": " ", "SHARP": "#"][key] ?? key
            if typed.count == 1, entry.map({ $0.text.count < Entry.maxLength }) ?? false { entry?.text += typed }
        }
        return nil
    }

    /// Handles the pointer on a part of a row; `turned` is the number of wheel steps, 0 for a click.
    mutating func point(at row: Int, _ part: Element, turned: Int) -> Action? {
        guard rows.indices.contains(row) else { return nil }
        current = rows[row].id
        if entry != nil {
            entry = nil
            return .cancelEntry
        }
        if turned != 0 { return changeVolume(row, by: Double(turned) * Self.volumeStep) }
        switch part {
        case .mark: return toggle(row)
        case .text: return playOnly(row)
        case .language: return .cycleLanguage(rows[row].id)
        case .level(let share): return setVolume(row, to: (share * 20).rounded() * 5)
        }
    }

    private mutating func move(by distance: Int) {
        guard !rows.isEmpty else { return }
        notice = nil
        current = rows[min(rows.count - 1, max(0, (index ?? 0) + distance))].id
    }

    private func playOnly(_ previousIndex: Int) -> Action? {
        let row = rows[previousIndex]
        if row.pairing != nil { return .pair(row.id, adds: false) }
        if let obstacle = row.obstacle { return .explain("\(row.name): \(obstacle)") }
        return .playAndClose(row.id)
    }

    private func toggle(_ previousIndex: Int) -> Action? {
        let row = rows[previousIndex]
        var ticked = rows.filter(\.isTicked).map(\.id)
        if row.isTicked {
            ticked.removeAll { $0 == row.id }
            return ticked.isEmpty
                ? .explain("At least one output is required; select another one first.") : .play(ticked)
        }
        if row.pairing != nil { return .pair(row.id, adds: true) }
        if let obstacle = row.obstacle { return .explain("\(row.name): \(obstacle)") }
        return .play(ticked + [row.id])
    }

    private mutating func changeVolume(_ previousIndex: Int, by step: Double) -> Action? {
        guard let volume = rows[previousIndex].volume else {
            return .explain("\(rows[previousIndex].name): its volume is unknown until it plays")
        }
        return setVolume(previousIndex, to: volume + step)
    }

    private mutating func setVolume(_ previousIndex: Int, to volume: Double) -> Action? {
        // Limited to 100, or to the current value if the master volume has raised it above.
        let volume = min(max(100, rows[previousIndex].volume ?? 100), max(0, volume))
        rows[previousIndex].volume = volume
        return .setVolume(rows[previousIndex].id, volume)
    }

    // MARK: Display

    /// The keys, for display below the list.
    package static let keys = "↑↓ choose   Enter play here   Space add or remove   ← → volume   l language   Esc close"

    /// The keys while a PIN or a password is entered.
    private static let entryKeys = "Enter confirm   Esc cancel"

    /// The text below the list.
    package var hint: String { entry.map { "\($0.prompt)   \(Self.entryKeys)" } ?? notice ?? Self.keys }

    /// The list as one line, for a terminal.
    package var terminalText: String {
        if entry != nil { return hint }
        return rows.map { row in
            let mark = row.pending != nil ? "…" : row.problem != nil ? "!" : row.isTicked ? "x" : " "
            let volume = row.volume.map { " \(Decimals.text($0, 0))%" } ?? ""
            let text = "[\(mark)] \(row.title)\(volume)" + (row.problem.map { " (\($0))" } ?? "")
            return row.id == current ? ">\(text)<" : " \(text) "
        }.joined(separator: " ") + (notice.map { "  \($0)" } ?? "")
    }
}
