internal import MediaCore
internal import SyncRendering

extension RenderEvent {
    /// The value of `event` in the timeline file.
    var timelineName: StaticString {
        switch self {
        case .frame: "frame"
        case .framesDropped: "drop"
        case .anchor, .audioHeard, .speakerAnchored: "anchor"
        case .steered: "steer"
        case .startWaits: "wait"
        case .resumed: "resumed"
        case .audioAccepted: "audio"
        case .audioDrift: "drift"
        case .latency: "latency"
        case .underrun: "underrun"
        case .outputLost, .outputRestored, .outputMoved, .outputJoined, .outputLeft: "route"
        case .clock: "clock"
        }
    }

    /// Adds the event's fields to a line.
    func write(into line: inout JSONObjectWriter) {
        switch self {
        case .frame(let pts, let target, let presented):
            line.add("pts", pts)
            line.add("target_ns", target)
            line.add("presented_ns", presented)
        case .framesDropped(let count, let time, let reason):
            line.add("count", count)
            line.add("film", time)
            switch reason {
            case .late: line.add("reason", "late")
            case .skippedDecoding: line.add("reason", "skipped")
            }
        case .anchor(let media, let host, let rate, let generation):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("rate", rate)
            line.add("generation", Int(truncatingIfNeeded: generation))
        case .audioHeard(let media, let host, let output):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("route", output.index)
        case .speakerAnchored(let media, let host, let clock, let output):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("ptp_ns", Int(clock.nanoseconds))
            line.add("route", output.index)
        case .steered(let media, let host, let rate, let speed, let late):
            line.add("film", media)
            line.add("anchor_ns", host)
            line.add("rate", rate)
            line.add("speed", speed)
            line.add("late", late)
        case .startWaits(let cause, let output):
            switch cause {
            case .opening: line.add("cause", "opening")
            case .clock: line.add("cause", "clock")
            case .ownDelay: line.add("cause", "delay")
            case .audio: line.add("cause", "sound")
            case .video: line.add("cause", "picture")
            case .material: line.add("cause", "material")
            }
            if let output { line.add("route", output.index) }
        case .resumed(let asleep): line.add("suspended", asleep)
        case .audioAccepted(let until, let ahead, let output):
            line.add("until", until)
            line.add("ahead", ahead)
            line.add("route", output.index)
        case .audioDrift(let error, let correction, let output):
            line.add("error", error)
            line.add("ppm", correction)
            line.add("route", output.index)
        case .latency(let delay, let output):
            line.add("delay", delay)
            line.add("route", output.index)
        case .underrun(let missing, let output):
            line.add("missing", missing)
            line.add("route", output.index)
        case .outputLost(let output):
            line.add("route", output.index)
            line.add("state", "lost")
        case .outputRestored(let output):
            line.add("route", output.index)
            line.add("state", "restored")
        case .outputMoved(let output):
            line.add("route", output.index)
            line.add("state", "moved")
        case .outputJoined(let output, let media, let host):
            line.add("route", output.index)
            line.add("state", "joined")
            line.add("film", media)
            line.add("anchor_ns", host)
        case .outputLeft(let output, let media, let host):
            line.add("route", output.index)
            line.add("state", "left")
            line.add("film", media)
            line.add("anchor_ns", host)
        case .clock(let state, let output):
            line.add("route", output.index)
            switch state {
            case .cold: line.add("state", "cold")
            case .probing: line.add("state", "probing")
            case .ready: line.add("state", "ready")
            case .stalled: line.add("state", "stalled")
            case .doubted: line.add("state", "doubted")
            }
        }
    }
}
