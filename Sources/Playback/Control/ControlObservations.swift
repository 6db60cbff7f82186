internal import MediaCore

/// The observed properties and their last values. A value; the caller provides states and time.
struct ControlObservations {
    /// Receives a value; nil: unavailable.
    typealias Handler = @Sendable (JSONValue?) -> Void
    typealias EventHandler = @Sendable (PlayerEvent) -> Void

    /// The interval at which continuous properties are compared during playback.
    static let interval = Duration.milliseconds(250)
    /// The minimum interval between notifications; changes in between are coalesced.
    static let minInterval = Duration.milliseconds(20)

    private struct Observation {
        let property: ControlProperty
        let handler: Handler
        /// The value that the handler has received; nil: none yet.
        var last: JSONValue??
    }

    private var properties: [Int: Observation] = [:]
    private var events: [Int: EventHandler] = [:]
    private var nextNumber = 0

    var isEmpty: Bool { properties.isEmpty && events.isEmpty }

    mutating func add(_ property: ControlProperty, _ handler: @escaping Handler) -> Int {
        properties[number()] = Observation(property: property, handler: handler)
        return nextNumber
    }

    mutating func add(_ handler: @escaping EventHandler) -> Int {
        events[number()] = handler
        return nextNumber
    }

    private mutating func number() -> Int {
        nextNumber += 1
        return nextNumber
    }

    mutating func remove(_ number: Int) {
        properties[number] = nil
        events[number] = nil
    }

    /// Takes over the values that handlers have received from a copy.
    mutating func adoptValues(of copy: ControlObservations) {
        for (number, observation) in copy.properties { properties[number]?.last = observation.last }
    }

    /// Returns the handlers of events in order of their registration.
    var eventHandlers: [EventHandler] { events.sorted { $0.key < $1.key }.map(\.value) }

    /// Returns the handlers whose property has another value than at their last call, with that value.
    ///
    /// - Parameter isTick: Whether only the position has changed.
    mutating func changes(in state: PlayerState, isTick: Bool) -> [(Handler, JSONValue?)] {
        var changes: [(Handler, JSONValue?)] = []
        // A property that several clients observe is read once.
        var values: [String: JSONValue?] = [:]
        for number in properties.keys.sorted() {
            guard let observation = properties[number] else { continue }
            let property = observation.property
            if isTick, !property.isContinuous, observation.last != nil { continue }
            let value = values[property.name] ?? property.read(state)
            values[property.name] = value
            if let last = observation.last, last == value { continue }
            properties[number]?.last = .some(value)
            changes.append((observation.handler, value))
        }
        return changes
    }

    /// Whether continuous properties are to be compared at intervals.
    func needsTicks(in state: PlayerState) -> Bool {
        state.phase == .playing && properties.values.contains { $0.property.isContinuous }
    }
}
