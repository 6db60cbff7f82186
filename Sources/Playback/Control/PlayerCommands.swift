internal import MediaCore

extension ControlCommand {
    private static let any = -ControlType.maxSeconds...ControlType.maxSeconds

    /// The parameters of `loadfile`.
    package static let loadParameters = [
        Parameter("address", .text),
        Parameter(
            "mode", .choice(["replace", "append", "append-play", "insert-next", "insert-next-play"]), isOptional: true),
    ]

    /// Access to properties.
    static let properties: [ControlCommand] = [
        ControlCommand(
            "set", [Parameter("property", .property), Parameter("value", .value)], "sets a property",
            run: { (context, arguments) throws(ControlError) in
                let property = try context.property(arguments)
                if let value = arguments[1] { try property.write?(context.engine, value) }
            }),
        ControlCommand(
            "add", [Parameter("property", .property), Parameter("value", .number(any), isOptional: true)],
            "adds a number, 1 by default, and clamps the result to the range", isRepeatable: true,
            run: { (context, arguments) throws(ControlError) in
                try context.property(arguments).add(arguments[1]?.number ?? 1, context.engine)
            }),
        ControlCommand(
            "multiply", [Parameter("property", .property), Parameter("factor", .number(0.01...100))],
            "multiplies by a number, and clamps the result to the range", isRepeatable: true,
            run: { (context, arguments) throws(ControlError) in
                try context.property(arguments).multiply(by: arguments[1]?.number ?? 1, context.engine)
            }),
        ControlCommand(
            "cycle",
            [Parameter("property", .property), Parameter("direction", .choice(["up", "down"]), isOptional: true)],
            "selects the next or previous value, and wraps around",
            run: { (context, arguments) throws(ControlError) in
                try context.property(arguments).cycle(arguments.text(1) == "down" ? -1 : 1, context.engine)
            }),
        ControlCommand(
            "cycle-values",
            [Parameter("property", .property), Parameter("value", .value)]
                + Array(repeating: Parameter("value", .value, isOptional: true), count: 8),
            "sets the value after the current one in the list, or else the first",
            run: { (context, arguments) throws(ControlError) in
                let property = try context.property(arguments)
                let values = arguments.values.dropFirst().compactMap { $0 }
                let present = property.read(context.engine.presentedState)
                let index = values.firstIndex { $0 == present }.map { ($0 + 1) % values.count } ?? 0
                try property.write?(context.engine, values[index])
            }),
    ]

    /// Position and frames.
    static let playback: [ControlCommand] = [
        ControlCommand(
            "seek",
            [
                Parameter("target", .number(any, .seconds)),
                Parameter("mode", .flags(Seek.flags), isOptional: true),
                Parameter("precision", .flags(Seek.flags), isOptional: true),
            ],
            "seeks by seconds; `absolute`: to a position, negative from the end; `relative-percent`,"
                + " `absolute-percent`: percent of the duration; `exact` or `keyframes`: by default absolute seeks are exact",
            isRepeatable: true,
            run: { (context, arguments) throws(ControlError) in
                let seek = Seek(choices: arguments.flags(1) + arguments.flags(2), by: arguments[0]?.number ?? 0)
                try seek.perform(context.engine)
            }),
        ControlCommand(
            "revert-seek", [Parameter("mode", .choice(["mark"]), isOptional: true)],
            "seeks to the position before the last seek, or to the one that was marked; `mark` marks the current one",
            run: { (context, arguments) throws(ControlError) in
                if arguments[0] != nil { return context.engine.markSeek() }
                guard context.engine.revertSeek() else {
                    throw ControlError(.unavailable, "there is no earlier position to return to")
                }
            }),
        ControlCommand(
            "sub-seek", [Parameter("count", .integer(-100...100))],
            "seeks to the subtitle that many subtitles later, among those that have been read; 0: the start of this one",
            isRepeatable: true,
            run: { (context, arguments) throws(ControlError) in
                guard context.engine.seek(bySubtitles: arguments[0]?.integer ?? 0) else { throw .noSubtitle }
            }),
        ControlCommand(
            "sub-step", [Parameter("count", .integer(-100...100))],
            "changes `sub-delay` so that the subtitle that many subtitles later appears now", isRepeatable: true,
            run: { (context, arguments) throws(ControlError) in
                guard context.engine.step(bySubtitles: arguments[0]?.integer ?? 0) else { throw .noSubtitle }
            }),
        ControlCommand(
            "frame-step", [], "pauses and shows the next picture", isRepeatable: true,
            run: { context, _ in context.engine.step(byFrames: 1) }),
        ControlCommand(
            "frame-back-step", [], "pauses and shows the previous picture", isRepeatable: true,
            run: { context, _ in context.engine.step(byFrames: -1) }),
        ControlCommand(
            "stop", [], "stops playback and clears the playlist",
            run: { context, _ in
                context.engine.mailbox.cancelOpening()
                context.engine.open([])
                context.engine.status.describe(context.engine.list)
            }),
    ]

    /// The list of films.
    static let playlist: [ControlCommand] = [
        ControlCommand(
            "loadfile", loadParameters,
            "plays a film instead of the playlist, or adds it; its result has the `playlist_entry_id`",
            returning: { (context, arguments) throws(ControlError) in
                var item = QueueItem(arguments.text(0))
                item.isListed = context.isListed
                guard !item.address.isEmpty else { throw ControlError(.wrongType, "the address is empty") }
                context.load(item, arguments.text(1))
                return .object([("playlist_entry_id", .integer(Int(truncatingIfNeeded: item.id.number)))])
            }),
        ControlCommand(
            "playlist-next", [Parameter("mode", .choice(["weak", "force"]), isOptional: true)], "plays the next film",
            run: { (context, _) throws(ControlError) in try context.stepInList(by: 1) }),
        ControlCommand(
            "playlist-prev", [Parameter("mode", .choice(["weak", "force"]), isOptional: true)],
            "plays the previous film",
            run: { (context, _) throws(ControlError) in try context.stepInList(by: -1) }),
        ControlCommand(
            "playlist-play-index", [Parameter("index", .choice(["current"], or: 0...(.max)))],
            "plays a film from its start",
            run: { (context, arguments) throws(ControlError) in
                context.engine.jump(to: try context.item(arguments[0]).id, at: .zero)
            }),
        ControlCommand(
            "playlist-remove", [Parameter("index", .choice(["current"], or: 0...(.max)))],
            "removes the current film or an upcoming one",
            run: { (context, arguments) throws(ControlError) in
                try context.edit(.remove(context.item(arguments[0]).id))
            }),
        ControlCommand(
            "playlist-move", [Parameter("from", .integer(0...(.max))), Parameter("to", .integer(0...(.max)))],
            "moves an upcoming film to the place of another one, or to the end",
            run: { (context, arguments) throws(ControlError) in
                try context.move(arguments[0]?.integer ?? 0, to: arguments[1]?.integer ?? 0)
            }),
        ControlCommand(
            "playlist-clear", [], "removes all films but the current one",
            run: { context, _ in
                let current = context.engine.state.listIndex == nil ? nil : context.engine.state.current
                context.engine.apply(current.map { .replaceAll([$0], order: nil) } ?? .removeAll)
            }),
        ControlCommand(
            "playlist-shuffle", [], "plays the upcoming films in a random order",
            run: { context, _ in context.engine.apply(.order(.shuffled(seed: .random(in: 0...(.max))))) }),
        ControlCommand(
            "playlist-unshuffle", [], "undoes `playlist-shuffle`",
            run: { context, _ in context.engine.apply(.order(.listed)) }),
    ]
}

/// Commands of controllers that name items by the `id` in the property `playlist`. Unlike an index, it refers to the
/// same item when the player executes the command.
extension ControlRequest {
    private init(_ run: @escaping @Sendable (ControlCommand.Context) throws(ControlError) -> Void) {
        command = ControlCommand("", [], "", run: { (context, _) throws(ControlError) in try run(context) })
        (arguments, property) = (ControlCommand.Arguments(values: []), nil)
    }

    private static func item(_ id: Int) -> QueueItem.ID { QueueItem.ID(number: UInt64(truncatingIfNeeded: id)) }

    /// Plays an item from its start. No effect if it is not in the playlist.
    package static func playItem(_ id: Int) -> ControlRequest {
        ControlRequest { $0.engine.jump(to: item(id), at: .zero) }
    }

    /// Removes the current item or an upcoming one.
    package static func removeItem(_ id: Int) -> ControlRequest {
        ControlRequest { (context) throws(ControlError) in try context.edit(.remove(item(id))) }
    }

    /// Moves an upcoming item after another one. No effect if one of them is not in the playlist.
    package static func moveItem(_ id: Int, after other: Int) -> ControlRequest {
        ControlRequest { (context) throws(ControlError) in
            let ids = context.engine.state.listed.map(\.id)
            guard let from = ids.firstIndex(of: item(id)), let target = ids.firstIndex(of: item(other)) else { return }
            try context.move(from, to: target + 1)
        }
    }
}

extension ControlError {
    fileprivate static var noSubtitle: ControlError { ControlError(.unavailable, "no further subtitle has been read") }
}

extension ControlCommand.Context {
    fileprivate func property(_ arguments: ControlCommand.Arguments) throws(ControlError) -> ControlProperty {
        try table.property(arguments.text(0))
    }

    /// Returns the item at an index; that of the current one for a word.
    fileprivate func item(_ index: JSONValue?) throws(ControlError) -> QueueItem {
        guard let index = index?.integer ?? engine.state.listIndex else {
            throw ControlError(.unavailable, "no film is open")
        }
        return try engine.state.listed(index)
    }

    fileprivate func load(_ item: QueueItem, _ mode: String) {
        switch mode {
        case "append", "append-play": engine.apply(.append([item]))
        case "insert-next", "insert-next-play":
            engine.apply(.insert([item], after: engine.state.listIndex == nil ? nil : engine.state.current?.id))
        default:
            engine.mailbox.cancelOpening()
            engine.open([item])
        }
        // Adding films to a playlist that has ended starts it.
        if mode.hasSuffix("-play"), !engine.state.isUnderWay, engine.state.phase != .opening {
            engine.jump(to: item.id, at: .zero)
        }
    }

    fileprivate func stepInList(by distance: Int) throws(ControlError) {
        var isRefused = false
        engine.step(by: distance) { isRefused = true }
        if isRefused {
            throw ControlError(.unavailable, distance > 0 ? "this is the last film" : "this is the first film")
        }
    }

    fileprivate func edit(_ edit: QueueEdit) throws(ControlError) {
        let isUnchanged = Lock(false)
        engine.apply(edit) { outcome in if outcome == .unchanged { isUnchanged.withLock { $0 = true } } }
        guard !isUnchanged.withLock({ $0 }) else {
            throw ControlError(.unavailable, "a film that has played cannot be removed")
        }
    }

    fileprivate func move(_ from: Int, to target: Int) throws(ControlError) {
        let all = engine.state.listed
        let item = try engine.state.listed(from)
        // It takes the place before the one that `target` has now: the item after it.
        guard from != target, from + 1 != target else { return }
        // An item can be moved after another one only: not before the current one, nor to the front.
        let current = engine.state.listIndex ?? engine.state.history.count - 1
        guard from > current, target > max(0, current), target <= all.count else {
            throw ControlError(.unavailable, "only upcoming films can be moved, to places after the current one")
        }
        try edit(.move(item.id, after: all[target - 1].id))
    }
}

/// The arguments of the command `seek`.
private struct Seek {
    static let flags = ["relative", "absolute", "relative-percent", "absolute-percent", "exact", "keyframes"]

    private let target: Double
    private let isAbsolute: Bool
    private let isPercent: Bool
    private let isExact: Bool

    init(choices: [String], by target: Double) {
        self.target = target
        isAbsolute = choices.contains { $0.hasPrefix("absolute") }
        isPercent = choices.contains { $0.hasSuffix("percent") }
        // A percentage is a rough target.
        isExact = choices.contains("exact") || (isAbsolute && !isPercent && !choices.contains("keyframes"))
    }

    func perform(_ engine: PlaybackEngine) throws(ControlError) {
        var seconds = target
        if isPercent || (isAbsolute && target < 0) {
            guard let duration = engine.state.duration?.seconds else { throw .unknownDuration }
            seconds = isPercent ? duration * target / 100 : max(0, duration + target)
        }
        seconds = min(ControlType.maxSeconds, max(-ControlType.maxSeconds, seconds))
        let time = MediaTime(boundedSeconds: seconds) ?? .zero
        try engine.seekPlan.check()
        isAbsolute ? engine.seek(to: time, exact: isExact) : engine.seek(by: time, exact: isExact)
    }
}

extension ControlProperty {
    private func value(_ engine: PlaybackEngine) throws(ControlError) -> JSONValue {
        if let value = read(engine.presentedState) { return value }
        throw ControlError(.unavailable, "the property '\(name)' is unavailable")
    }

    /// The range of numbers; nil for other types.
    private var range: ClosedRange<Double>? {
        switch type {
        case .number(let range, _): range
        case .integer(let range): Double(range.lowerBound)...Double(range.upperBound)
        case .flag, .choice, .flags, .text, .node, .property, .value: nil
        }
    }

    /// Writes a number, rounded so that steps up and down restore the value, and clamped to the range.
    private func write(_ number: Double, in range: ClosedRange<Double>, _ engine: PlaybackEngine) throws(ControlError) {
        let value = min(range.upperBound, max(range.lowerBound, (number * 1e6).rounded() / 1e6))
        let rounded = Int(exactly: value.rounded()).map { JSONValue.integer($0) }
        let isInteger = if case .integer = type { true } else { false }
        try write?(engine, isInteger ? rounded ?? .integer(0) : .real(value, decimals: ControlType.decimals))
    }

    fileprivate func add(_ count: Double, _ engine: PlaybackEngine) throws(ControlError) {
        if let step { return try step(engine, count) }
        try change(engine) { $0 + count }
    }

    fileprivate func multiply(by factor: Double, _ engine: PlaybackEngine) throws(ControlError) {
        // As many steps up as down restore exactly 1.
        try change(engine) { abs($0 * factor - 1) < 0.001 ? 1 : $0 * factor }
    }

    private func change(_ engine: PlaybackEngine, _ body: (Double) -> Double) throws(ControlError) {
        let present = try value(engine)
        guard let range, let number = present.number else {
            throw ControlError(.wrongType, "the property '\(name)' is not a number")
        }
        try write(body(number), in: range, engine)
    }

    fileprivate func cycle(_ count: Int, _ engine: PlaybackEngine) throws(ControlError) {
        if let step { return try step(engine, Double(count)) }
        let present = try value(engine)
        if let flag = present.flag, type == .flag { return try write?(engine, .flag(!flag)) ?? () }
        if case .choice(let choices, _) = type {
            let index =
                choices.firstIndex { ControlType.choiceValue($0) == present } ?? (count < 0 ? 0 : choices.count - 1)
            return try write?(engine, ControlType.choiceValue(choices[(index + count + choices.count) % choices.count]))
                ?? ()
        }
        guard let range, let number = present.number else {
            throw ControlError(.wrongType, "the property '\(name)' has no order of values")
        }
        let next = number + Double(count)
        let isInside = range.contains(next)
        try write(isInside ? next : count > 0 ? range.lowerBound : range.upperBound, in: range, engine)
    }
}
