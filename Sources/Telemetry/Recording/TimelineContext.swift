internal import MediaCore
internal import SyncRendering

/// The state that a reader needs for the lines that follow: media, outputs and timeline. Bounded.
struct TimelineContext {
    /// Maximum number of outputs; lines about others count as not understood.
    static let maxRoutes = 16

    private var film: Stated?
    private var loop: Stated?
    private var phase: Stated?
    private var screen: Stated?
    private var delay: Stated?
    private var routes: [Int: Stated] = [:]
    private var calibrations: [Int: Stated] = [:]
    /// The last commanded anchor, and the last rate correction since.
    private var anchor: EventLog.Entry?
    private var bend: EventLog.Entry?
    /// The last reported anchor of each output.
    private var claims: [Int: EventLog.Entry] = [:]

    struct Stated {
        var remark: TimelineRemark
        var instant: HostInstant
    }

    mutating func record(_ remark: TimelineRemark, at instant: HostInstant) {
        let stated = Stated(remark: remark, instant: instant)
        switch remark {
        case .film, .gaplessBoundary: (film, loop) = (stated, nil)
        case .loop: loop = stated
        case .phase: phase = stated
        case .screen: screen = stated
        case .audioDelay: delay = stated
        case .route(let index, _, _): store(stated, index, in: &routes)
        case .calibration(let index, _, _): store(stated, index, in: &calibrations)
        case .share: break
        }
    }

    mutating func record(_ entry: EventLog.Entry) {
        switch entry.event {
        case .anchor:
            (anchor, bend) = (entry, nil)
            claims.removeAll(keepingCapacity: true)
        case .steered: bend = entry
        case .audioHeard(_, _, let output), .speakerAnchored(_, _, _, let output):
            if claims[output.index] != nil || claims.count < Self.maxRoutes { claims[output.index] = entry }
        case .outputLeft(let output, _, _): claims[output.index] = nil
        default: break
        }
    }

    private func store(_ stated: Stated, _ index: Int, in table: inout [Int: Stated]) {
        if table[index] != nil || table.count < Self.maxRoutes { table[index] = stated }
    }

    /// The remarks in the order for a reader.
    var remarks: [Stated] {
        [film, loop, screen, delay].compactMap { $0 }
            + routes.keys.sorted().compactMap { routes[$0] }
            + calibrations.keys.sorted().compactMap { calibrations[$0] }
            + [phase].compactMap { $0 }
    }

    var entries: [EventLog.Entry] {
        [anchor, bend].compactMap { $0 } + claims.keys.sorted().compactMap { claims[$0] }
    }
}
