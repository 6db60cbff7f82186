package import MediaCore
package import SyncRendering

/// What one output has reported so far. Offsets are positive when sound is late.
package struct OutputStatistics: Sendable, Equatable {
    package let output: OutputID
    /// How late its sound is, as said last; nil before that after a start or a jump.
    package internal(set) var error: Duration?
    /// How far ahead of the playhead it has sound, as said last.
    package internal(set) var buffered: Duration?
    package internal(set) var underruns = 0
    /// How far it is with the clock that its sound lies on; nil for one that needs none.
    package internal(set) var clock: SpeakerClockState?
    package internal(set) var isLost = false
    /// When it took sound last.
    package internal(set) var accepted: HostInstant?

    package init(_ output: OutputID) { self.output = output }
}

/// The same of all outputs, in the order in which they spoke first.
package struct OutputsStatistics: Sendable {
    /// More outputs than anybody has; others are not counted.
    private static let most = TimelineReport.mostRoutes

    package private(set) var all: [OutputStatistics] = []

    package init() {}

    /// The largest difference between two that are heard; nil until two have spoken.
    package var skew: Duration? {
        let errors = all.filter { !$0.isLost }.compactMap(\.error)
        guard errors.count > 1, let least = errors.min(), let most = errors.max() else { return nil }
        return most - least
    }

    package mutating func add(_ entry: EventLog.Entry) {
        switch entry.event {
        case .anchor: for index in all.indices { all[index].error = nil }
        case .audioAccepted(_, let ahead, let output):
            change(output) { ($0.buffered, $0.accepted) = (ahead, entry.at) }
        case .audioDrift(let error, _, let output): change(output) { $0.error = error }
        case .underrun(_, let output): change(output) { $0.underruns += 1 }
        case .clock(let state, let output): change(output) { $0.clock = state }
        case .outputLost(let output):
            change(output) { ($0.isLost, $0.error, $0.buffered) = (true, nil, nil) }
        case .outputRestored(let output): change(output) { $0.isLost = false }
        case .outputMoved(let output): change(output) { $0.error = nil }
        case .outputLeft(let output, _, _): all.removeAll { $0.output == output }
        case .frame, .framesDropped, .steered, .startWaits, .resumed, .audioHeard, .speakerAnchored, .latency,
            .outputJoined:
            break
        }
    }

    private mutating func change(_ output: OutputID, _ body: (inout OutputStatistics) -> Void) {
        if let index = all.firstIndex(where: { $0.output == output }) {
            body(&all[index])
        } else if all.count < Self.most {
            all.append(OutputStatistics(output))
            body(&all[all.count - 1])
        }
    }
}
