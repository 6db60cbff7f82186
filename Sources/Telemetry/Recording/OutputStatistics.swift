package import MediaCore
package import SyncRendering

/// The statistics of one output. Offsets are positive when sound is late.
package struct OutputStatistics: Sendable, Equatable {
    /// The output.
    package let output: OutputID
    /// The last reported lateness of its audio; nil before the first report after a start or seek.
    package internal(set) var error: Duration?
    /// The last reported duration of audio ahead of the playhead.
    package internal(set) var buffered: Duration?
    /// The number of underruns.
    package internal(set) var underruns = 0
    /// The state of the speaker's clock; nil for outputs without one.
    package internal(set) var clock: SpeakerClockState?
    /// Whether the output is lost.
    package internal(set) var isLost = false
    /// When the output last accepted audio.
    package internal(set) var accepted: HostInstant?

    init(_ output: OutputID) { self.output = output }
}

/// The statistics of all outputs in the order of their first event.
package struct OutputsStatistics: Sendable {
    /// Maximum number of outputs; further ones are not counted.
    private static let maxRoutes = TimelineContext.maxRoutes

    /// The outputs.
    package private(set) var all: [OutputStatistics] = []

    init() {}

    /// The largest difference between two connected outputs; nil with fewer than two reports.
    package var skew: Duration? {
        let errors = all.filter { !$0.isLost }.compactMap(\.error)
        guard errors.count > 1, let lowest = errors.min(), let highest = errors.max() else { return nil }
        return highest - lowest
    }

    /// Adds an event.
    mutating func add(_ entry: EventLog.Entry) {
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
        } else if all.count < Self.maxRoutes {
            all.append(OutputStatistics(output))
            body(&all[all.count - 1])
        }
    }
}
