package import MediaCore

/// A property: its declaration and its access. Named as mpv's property of the same meaning, if there is one.
package struct ControlProperty: Sendable {
    /// Returns the value in a state; nil: unavailable. Any thread; must not block.
    package typealias Read = @Sendable (PlayerState) -> JSONValue?
    /// Sets a checked value. Called on the player's thread; must not block.
    package typealias Write = @Sendable (PlaybackEngine, JSONValue) throws(ControlError) -> Void

    /// The name.
    package let name: String
    /// The type of its values.
    package let type: ControlType
    /// A description for the documentation, without a full stop.
    package let summary: String
    /// Whether the value changes during playback without an event, as `time-pos` does.
    package let isContinuous: Bool
    let read: Read
    let write: Write?
    /// Changes the value by steps for `add` and `cycle`; nil: the value is read, changed and written.
    let step: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)?

    /// Whether `set` is permitted.
    package var isWritable: Bool { write != nil }

    /// Creates a property whose closures use JSON values.
    package init(
        _ name: String, _ type: ControlType, _ summary: String, isContinuous: Bool = false, read: @escaping Read,
        write: Write? = nil, step: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)? = nil
    ) {
        (self.name, self.type, self.summary, self.isContinuous) = (name, type, summary, isContinuous)
        (self.read, self.write, self.step) = (read, write, step)
    }

    /// Creates a flag.
    package static func flag(
        _ name: String, _ summary: String, read: @escaping @Sendable (PlayerState) -> Bool?,
        write: (@Sendable (PlaybackEngine, Bool) throws(ControlError) -> Void)? = nil,
        step: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)? = nil
    ) -> ControlProperty {
        ControlProperty(
            name, .flag, summary, read: { read($0).map { .flag($0) } },
            write: converted(write) { $0.flag ?? false }, step: step)
    }

    /// Creates a number.
    package static func number(
        _ name: String, _ range: ClosedRange<Double>, _ summary: String, unit: ControlType.Unit = .none,
        isContinuous: Bool = false, read: @escaping @Sendable (PlayerState) -> Double?,
        write: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)? = nil,
        step: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)? = nil
    ) -> ControlProperty {
        ControlProperty(
            name, .number(range, unit), summary, isContinuous: isContinuous,
            read: { read($0).map { .real($0, decimals: ControlType.decimals) } },
            write: converted(write) { $0.number ?? 0 }, step: step)
    }

    /// Creates an integer.
    package static func integer(
        _ name: String, _ range: ClosedRange<Int>, _ summary: String, isContinuous: Bool = false,
        read: @escaping @Sendable (PlayerState) -> Int?,
        write: (@Sendable (PlaybackEngine, Int) throws(ControlError) -> Void)? = nil,
        step: (@Sendable (PlaybackEngine, Double) throws(ControlError) -> Void)? = nil
    ) -> ControlProperty {
        ControlProperty(
            name, .integer(range), summary, isContinuous: isContinuous, read: { read($0).map { .integer($0) } },
            write: converted(write) { $0.integer ?? 0 }, step: step)
    }

    private static func converted<Value>(
        _ write: (@Sendable (PlaybackEngine, Value) throws(ControlError) -> Void)?,
        _ value: @escaping @Sendable (JSONValue) -> Value
    ) -> Write? {
        guard let write else { return nil }
        return { (engine, json) throws(ControlError) in try write(engine, value(json)) }
    }

    /// Creates text that cannot be written.
    package static func text(
        _ name: String, _ summary: String, read: @escaping @Sendable (PlayerState) -> String?
    ) -> ControlProperty {
        ControlProperty(name, .text, summary, read: { read($0).map { .text($0) } })
    }

    /// Returns this property with a function that is called after each write, with the written value, on the player's
    /// thread.
    package func reporting(_ report: @escaping @Sendable (JSONValue) -> Void) -> ControlProperty {
        guard let write else { return self }
        let reported: Write = { (engine, value) throws(ControlError) in
            try write(engine, value)
            report(value)
        }
        return ControlProperty(
            name, type, summary, isContinuous: isContinuous, read: read, write: reported, step: step)
    }

    /// Returns this property with another function that sets it; nil: it cannot be written.
    package func writing(_ write: Write?) -> ControlProperty {
        ControlProperty(name, type, summary, isContinuous: isContinuous, read: read, write: write)
    }

    /// Returns this property with a value that is read again only when `content` differs from that of the last reading.
    ///
    /// - Parameter content: Returns what the value depends on, which is compared more cheaply than the value is read.
    func cached<Content: Equatable & Sendable>(
        by content: @escaping @Sendable (PlayerState) -> Content
    ) -> ControlProperty {
        let last = Lock<(content: Content, value: JSONValue?)?>(nil)
        let cached: Read = { [read] state in
            let content = content(state)
            if let last = last.withLock({ $0 }), last.content == content { return last.value }
            let value = read(state)
            last.withLock { $0 = (content, value) }
            return value
        }
        return ControlProperty(
            name, type, summary, isContinuous: isContinuous, read: cached, write: write, step: step)
    }

    /// Returns the property of a part of the value.
    func member(_ name: String, at path: ArraySlice<Substring>) -> ControlProperty {
        ControlProperty(
            name, .node, summary, isContinuous: isContinuous, read: { [read] in read($0)?.member(at: path) })
    }
}

extension JSONValue {
    /// Returns a part: `count` and indices of an array, members of an object, with or without mpv's `by-key`.
    fileprivate func member(at path: ArraySlice<Substring>) -> JSONValue? {
        guard var name = path.first else { return self }
        var rest = path.dropFirst()
        switch self {
        case .array(let values):
            if name == "count" { return JSONValue.integer(values.count).member(at: rest) }
            guard let index = DecimalNumber.integer(name), index < values.count else { return nil }
            return values[index].member(at: rest)
        case .object(let members):
            if name == "by-key", let key = rest.popFirst() { name = key }
            return members.first { $0.0 == name }?.1.member(at: rest)
        case .text, .integer, .real, .flag, .null: return nil
        }
    }
}
