package import MediaCore
internal import MediaFiles
internal import Playback
internal import Remote
internal import ScreenOutput
internal import Sockets
internal import Storage

extension KioskConfiguration {
    /// Parses and validates a configuration.
    ///
    /// - Parameters:
    ///   - file: The file's name for messages.
    ///   - folder: The base of relative paths.
    /// - Throws: All mistakes, each with its line, in line order.
    package init(_ bytes: [UInt8], file: String, folder: String) throws(KioskConfigurationError) {
        let document: TOMLDocument
        do throws(ConfigMistake) { document = try TOMLDocument(bytes, file: file) } catch {
            throw KioskConfigurationError(mistakes: [error])
        }
        self.init()
        lines = KeyLines(document.root)
        var reader = TableReader(document.root, file: file)
        read(&reader, folder: folder)
        reader.finish()
        guard reader.mistakes.isEmpty else {
            throw KioskConfigurationError(mistakes: reader.mistakes.sorted { $0.line < $1.line })
        }
        remarks = reader.remarks.sorted { $0.line < $1.line }
    }

    private mutating func read(_ reader: inout TableReader, folder: String) {
        settings.read(&reader, folder: folder)
        readScreen(&reader)
        reader.read("loop", into: &loops, Self.flag)
        reader.read("start_at", into: &start, Self.start)
        reader.read("image_duration", into: &imageDuration, Self.imageDuration)
        speakerTimeout = reader.value("speaker_timeout", Self.speakerTimeout)
        if let slate = reader.texts("slate")?.first { self.slate = DaySettings.absolute(slate.text, in: folder) }
        if let policy = reader.choice("on_broken_item", BrokenItem.self) { onBrokenItem = policy }
        for hours in reader.texts("quiet_hours") ?? [] {
            do throws(ValueError) { quietHours.append(try DaySpan(parsing: hours.text)) } catch {
                reader.addMistake(hours.line, "quiet_hours: \(error.description)")
            }
        }
        readPeriods(&reader, folder: folder)
        hooks = Hooks(&reader)
        readMetrics(&reader)
        readControl(&reader)
        remote = Page(&reader, folder: folder)
        if let metrics, let page = remote?.address, metrics.port == page.port,
            metrics.address == page.address || [metrics, page].contains(where: { $0.address.isUnspecified })
        {
            let line = max(lines.line("metrics.listen"), lines.line("remote.listen"), lines.line("remote"))
            reader.addMistake(line, "[metrics] and [remote] listen on one port, \(page.port); choose another one")
        }
        timeline = Timeline(&reader, folder: folder)
        wall = Wall(&reader)
        if wall != nil {
            let orders = [("order", settings)] + periods.map { ("day_parts.\($0.name).order", $0.settings) }
            for (path, settings) in orders where settings.order == .shuffled && lines.line(path) > 0 {
                reader.addMistake(
                    lines.line(path), "order: the screens of a wall play the list in order; remove \"shuffled\"")
            }
        }
        fleet = Fleet(&reader, folder: folder)
        checkLanguages(&reader)
        if settings.playlist.isEmpty, periods.allSatisfy({ $0.settings.playlist.isEmpty }), reader.mistakes.isEmpty {
            reader.addMistake(reader.table.line, "there is nothing to play; write playlist = [\"film.mp4\"]")
        }
    }

    /// Records languages, tracks and parts of speakers that no programme uses.
    private func checkLanguages(_ reader: inout TableReader) {
        let allSettings = [("", settings)] + periods.map { ("day_parts.\($0.name).", $0.settings) }
        let used = Set(allSettings.flatMap { $0.1.speakers + $0.1.fallbacks } + ["local"])
        for (table, settings) in allSettings {
            let named =
                settings.languages.keys.sorted().map { ("speaker_languages", $0) }
                + settings.purposes.keys.sorted().map { ("speaker_tracks", $0) }
                + settings.parts.keys.sorted().map { ("speaker_parts", $0) }
            for (key, name) in named where !used.contains(name) {
                let line = lines.line("\(table)\(key).\(name)")
                // A part inherits what it does not set.
                guard line > 0 else { continue }
                let hint =
                    SpellingSuggestion.nearest(to: name, among: used.sorted()).map { "; did you mean \"\($0)\"?" } ?? ""
                reader.addMistake(
                    line, "\(key): '\(PrintableText.of(name))' is in neither speakers nor fallbacks\(hint)")
            }
        }
    }

    private mutating func readScreen(_ reader: inout TableReader) {
        screen = reader.value("screen", Self.screen)
        operatorScreen = reader.value("operator_screen") { value throws(ValueError) in
            if case .string("other") = value { return .other }
            return .chosen(try Self.screen(value))
        }
        if let screen, operatorScreen == .chosen(screen), let node = reader.table["operator_screen"] {
            reader.addMistake(
                node.line, "operator_screen: films are shown on this screen; choose another one, or \"other\"")
        }
        reader.read("rotate", into: &rotation) { value throws(ValueError) in
            guard case .integer(let degrees) = value, [0, 90, 180, 270].contains(degrees) else {
                throw ValueError("a screen is turned by 0, 90, 180 or 270 degrees")
            }
            return Int(degrees)
        }
        reader.read("mode", into: &mode, Self.mode)
        reader.read("title_safe", into: &titleSafe, Self.share)
        guard var inner = reader.inside("overscan", expected: "{ policy = \"scale\", percent = 3 }") else { return }
        let percent = inner.value("percent", Self.share)
        let policy = inner.value("policy") { value throws(ValueError) -> (Double) -> Overscan in
            switch value {
            case .string("none"): { _ in .none }
            case .string("scale"): { .scale($0) }
            case .string("inset-bounds"): { .insetBounds($0) }
            case .string("inset-application-frame"), .string("inset-frame"): { .insetApplicationFrame($0) }
            default: throw ValueError(TableReader.oneOf(["none", "scale", "inset-bounds", "inset-application-frame"]))
            }
        }
        if case .string("inset-frame")? = inner.table["policy"]?.value {
            reader.addRemark(
                lines.line("overscan"),
                "overscan: \"inset-frame\" is the old name of \"inset-application-frame\", which no longer draws a black frame; write \"scale\" to show the whole picture"
            )
        }
        reader.finish(inner)
        overscan = policy?(percent ?? Overscan.usual)
    }

    private mutating func readPeriods(_ reader: inout TableReader, folder: String) {
        let expected = "a table for each, such as [day_parts.morning]"
        guard let outer = reader.inside("day_parts", expected: expected) else { return }
        for entry in outer.table.entries {
            guard case .table(let inner) = entry.node.value else {
                reader.addMistake(entry.node.line, "day_parts: expected \(expected)")
                continue
            }
            var period = reader.inside(inner, name: "day_parts.\(PrintableText.of(entry.key))")
            let from = period.value("from", Self.time)
            let to = period.value("to", Self.time)
            let days = period.value("days", Self.days) ?? Set(1...7)
            // Settings that the part omits are inherited.
            var settings = self.settings
            settings.read(&period, folder: folder)
            if period.table["from"] == nil || period.table["to"] == nil {
                period.addMistake(inner.line, "a part of the day needs from and to, such as from = 09:00:00")
            }
            reader.finish(period)
            guard let from, let to else { continue }
            periods.append(
                DayPeriod(
                    name: PrintableText.of(entry.key), span: DaySpan(from: from, to: to), days: days,
                    settings: settings))
        }
    }

    // MARK: Values

    private static func share(_ value: TOMLDocument.Value) throws(ValueError) -> Double {
        guard let number = value.plainNumber, number >= 0, number <= Overscan.maxPercent else {
            throw ValueError("expected a percentage of each side, 0 to \(Int(Overscan.maxPercent))")
        }
        return number
    }

    private static func screen(_ value: TOMLDocument.Value) throws(ValueError) -> Screen {
        switch value {
        case .integer(let number) where (0...99).contains(number): return .number(Int(number))
        case .string(let name) where !name.isEmpty: return .named(name)
        default: throw ValueError("a screen is a number from 0, or a name; talkie doctor lists them")
        }
    }

    private static func imageDuration(_ value: TOMLDocument.Value) throws(ValueError) -> Duration {
        guard let seconds = value.plainNumber, (0.1...86_400).contains(seconds) else {
            throw ValueError("expected seconds, 0.1 to 86400")
        }
        return .seconds(seconds)
    }

    /// The time without a response after which a speaker is reported as unresponsive.
    static let unresponsiveAfter = Duration.seconds(5)

    private static func speakerTimeout(_ value: TOMLDocument.Value) throws(ValueError) -> Duration {
        let minimum = unresponsiveAfter
        guard let seconds = value.plainNumber, (minimum.inSeconds...30).contains(seconds) else {
            throw ValueError("expected seconds, \(Int(minimum.inSeconds)) to 30")
        }
        return .seconds(seconds)
    }

    private static func flag(_ value: TOMLDocument.Value) throws(ValueError) -> Bool {
        guard case .flag(let flag) = value else { throw ValueError("expected true or false, not \(value.kindName)") }
        return flag
    }

    private static func time(_ value: TOMLDocument.Value) throws(ValueError) -> TimeOfDay {
        switch value {
        case .time(let time): return time
        case .string(let text): return try TimeOfDay(parsing: text)
        default: throw ValueError("expected a time such as 09:30:00 or \"09:30\", not \(value.kindName)")
        }
    }

    private static func start(_ value: TOMLDocument.Value) throws(ValueError) -> Start {
        if case .dateTime(let dateTime) = value { return .dateTime(dateTime) }
        return .time(try time(value))
    }

    private static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    private static func days(_ value: TOMLDocument.Value) throws(ValueError) -> Set<Int> {
        guard case .array(let nodes) = value, !nodes.isEmpty else {
            throw ValueError("expected a list of days, such as [\"mon\", \"tue\"]")
        }
        var days: Set<Int> = []
        for node in nodes {
            guard case .string(let name) = node.value, let day = dayNames.firstIndex(of: name) else {
                throw ValueError(TableReader.oneOf(dayNames))
            }
            days.insert(day + 1)
        }
        return days
    }

    /// Parses `current`, `preferred`, `film`, `1920x1080` or `1920x1080@50`.
    private static func mode(_ value: TOMLDocument.Value) throws(ValueError) -> DisplayMode {
        let wanted = "a mode is \"current\", \"preferred\", \"film\", or written \"1920x1080@50\""
        guard case .string(let text) = value else { throw ValueError(wanted) }
        switch text {
        case "current": return .current
        case "preferred": return .preferred
        case "film": return .film
        default:
            let fields = text.split(separator: "@", omittingEmptySubsequences: false)
            let sides = fields[0].split(separator: "x", omittingEmptySubsequences: false).map {
                DecimalNumber.integer($0)
            }
            let rate = fields.count == 2 ? DecimalNumber.parse(String(fields[1])).flatMap { $0 > 0 ? $0 : nil } : nil
            guard fields.count <= 2, fields.count == 1 || rate != nil, sides.count == 2, let width = sides[0],
                let height = sides[1], (1...16384).contains(width), (1...16384).contains(height)
            else { throw ValueError(wanted) }
            return .fixed(width: width, height: height, rate: rate)
        }
    }
}

extension KioskConfiguration.DaySettings {
    /// Reads the settings of a table; omitted settings are unchanged.
    fileprivate mutating func read(_ reader: inout TableReader, folder: String) {
        if let texts = reader.texts("playlist") {
            for (text, line) in texts { if let why = Self.objection(to: text) { reader.addMistake(line, why) } }
            playlist = texts.map { Self.absolute($0.text, in: folder) }
        }
        if let order = reader.choice("order", KioskConfiguration.Order.self) { self.order = order }
        if let texts = reader.texts("speakers") { speakers = texts.map(\.text) }
        if let texts = reader.texts("fallbacks") { fallbacks = texts.map(\.text) }
        readLanguages(&reader)
        if var inner = reader.inside(
            "speaker_tracks", expected: "a sound track for each speaker, such as { Headset = \"description\" }")
        {
            purposes = [:]
            for entry in inner.table.entries { purposes[entry.key] = inner.choice(entry.key, Track.Purpose.self) }
            reader.finish(inner)
        }
        if var inner = reader.inside(
            "speaker_parts", expected: "a part of the sound for each speaker, such as { Kitchen = \"left\" }")
        {
            parts = [:]
            for entry in inner.table.entries {
                parts[entry.key] = inner.value(entry.key) { (value) throws(ValueError) -> ChannelSelection in
                    guard case .string(let text) = value else { throw ValueError("expected a part, such as \"left\"") }
                    return try ChannelSelection(parsing: text)
                }
            }
            reader.finish(inner)
        }
        reader.read("volume", into: &volume) { value throws(ValueError) in
            guard let number = value.plainNumber, number >= 0, number <= 130 else {
                throw ValueError("a volume is a number from 0 to 130")
            }
            return number
        }
    }

    /// Reads the languages of speakers: a key for each, by its name in `speakers` or `fallbacks`.
    private mutating func readLanguages(_ reader: inout TableReader) {
        let expected = "a language for each speaker, such as { Kitchen = \"de\", local = \"en\" }"
        guard var inner = reader.inside("speaker_languages", expected: expected) else { return }
        languages = [:]
        for entry in inner.table.entries {
            var all: [String] = []
            for (text, line) in inner.texts(entry.key) ?? [] {
                do throws(ValueError) { all += try PlayerOptions.languages(parsing: text) } catch {
                    inner.addMistake(line, "\(PrintableText.of(entry.key)): \(error.description)")
                }
            }
            languages[entry.key] = all
        }
        reader.finish(inner)
    }

    /// Returns the reason why a text can never be an item; nil if it may be one.
    private static func objection(to text: String) -> String? {
        let name = "'\(PrintableText.withoutCredentials(text))'"
        if text.lowercased().hasSuffix(".toml") {
            return "playlist: \(name) is a configuration; name films, folders or playlists"
        }
        if text == "/dev" || text.hasPrefix("/dev/") {
            return "playlist: \(name) is a device, which cannot be played; name films, folders or playlists"
        }
        guard let separator = text.firstRange(of: "://"), InputCheck.isAddress(text) else { return nil }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard scheme != "file", !MediaFile.networkSchemes.contains(scheme) else { return nil }
        let hint = SpellingSuggestion.nearest(to: scheme, among: MediaFile.networkSchemes.sorted())
        return "playlist: \(name) starts with \(scheme)://, which is not supported; "
            + (hint.map { "did you mean \($0)://?" } ?? "use a file or an http(s) address")
    }

    /// Returns web addresses and absolute paths unchanged; other paths are relative to `folder`.
    static func absolute(_ text: String, in folder: String) -> String {
        text.hasPrefix("/") || text.contains("://") ? text : "\(folder)/\(text)"
    }
}

extension TOMLDocument.Value {
    fileprivate var plainNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}

/// All mistakes of a configuration.
package struct KioskConfigurationError: Error, Equatable {
    /// At least one, in line order.
    package var mistakes: [ConfigMistake]

    package init(mistakes: [ConfigMistake]) { self.mistakes = mistakes }
}
