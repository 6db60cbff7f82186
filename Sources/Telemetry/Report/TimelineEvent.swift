internal import MediaCore

/// A line of a timeline file as needed by a report. Untrusted input: any number is possible.
enum TimelineEvent {
    case head(version: Int64, program: String)
    case film(String)
    case state(String)
    case screen(String)
    case commanded(film: Double, anchor: Int64, rate: Double)
    case heard(film: Double, anchor: Int64, clock: Int64?, route: Int64)
    case bent(film: Double, anchor: Int64, rate: Double, speed: Double)
    case resumed(after: Double)
    case wait(cause: String, route: Int64?)
    case frame(target: Int64, presented: Int64)
    case drop(count: Int64, skipped: Bool)
    case drift(error: Double, ppm: Double?, route: Int64)
    case latency(delay: Double, route: Int64)
    case underrun(missing: Double, route: Int64)
    case routeOpened(route: Int64, name: String, kind: String)
    case routeLost(route: Int64)
    case routeRestored(route: Int64)
    /// Within a film a route becomes audible, or silent, at an instant.
    case routeJoined(route: Int64, film: Double, anchor: Int64)
    case routeLeft(route: Int64, film: Double, anchor: Int64)
    case lost(count: Int64)
    case delayWanted(Double)
    case calibrated(delay: Double, route: Int64)
    /// A valid line without relevance here.
    case other

    /// Returns nil if a required field is missing.
    init?(_ object: JSONNode) {
        guard let kind = object.rawString("event") else { return nil }
        switch kind {
        case "frame":
            guard let target = object.integer("target_ns"), let presented = object.integer("presented_ns") else {
                return nil
            }
            self = .frame(target: target, presented: presented)
        case "drift":
            guard let error = object.real("error") else { return nil }
            self = .drift(error: error, ppm: object.real("ppm"), route: object.integer("route") ?? 0)
        case "audio":
            self = .other
        case "anchor":
            guard let film = object.real("film"), let anchor = object.integer("anchor_ns") else { return nil }
            if let route = object.integer("route") {
                self = .heard(film: film, anchor: anchor, clock: object.integer("ptp_ns"), route: route)
            } else {
                guard let rate = object.real("rate") else { return nil }
                self = .commanded(film: film, anchor: anchor, rate: rate)
            }
        case "steer":
            guard let film = object.real("film"), let anchor = object.integer("anchor_ns"),
                let rate = object.real("rate"), let speed = object.real("speed")
            else { return nil }
            self = .bent(film: film, anchor: anchor, rate: rate, speed: speed)
        case "resumed":
            guard let asleep = object.real("suspended") else { return nil }
            self = .resumed(after: asleep)
        case "wait":
            guard let cause = object.text("cause") else { return nil }
            self = .wait(cause: cause, route: object.integer("route"))
        case "drop":
            guard let count = object.integer("count") else { return nil }
            self = .drop(count: count, skipped: object.rawString("reason").map { $0 == "skipped" } ?? false)
        case "underrun":
            self = .underrun(missing: object.real("missing") ?? 0, route: object.integer("route") ?? 0)
        case "latency":
            guard let delay = object.real("delay") else { return nil }
            self = .latency(delay: delay, route: object.integer("route") ?? 0)
        case "route":
            let route = object.integer("route") ?? 0
            switch object.rawString("state") {
            case "opened"?:
                self = .routeOpened(route: route, name: object.text("name") ?? "", kind: object.text("kind") ?? "")
            case "lost"?:
                self = .routeLost(route: route)
            case "restored"?, "moved"?:
                self = .routeRestored(route: route)
            case "joined"?, "left"?:
                guard let film = object.real("film"), let anchor = object.integer("anchor_ns") else { return nil }
                self =
                    object.rawString("state").map { $0 == "joined" } == true
                    ? .routeJoined(route: route, film: film, anchor: anchor)
                    : .routeLeft(route: route, film: film, anchor: anchor)
            default: return nil
            }
        case "timeline":
            guard let version = object.integer("version") else { return nil }
            self = .head(version: version, program: object.text("program") ?? "")
        case "film":
            self = .film(object.text("name") ?? "")
        case "state":
            self = .state(object.text("phase") ?? "")
        case "screen":
            self = .screen(object.text("mode") ?? "")
        case "delay":
            guard let wanted = object.real("wanted") else { return nil }
            self = .delayWanted(wanted)
        case "calibration":
            guard let wanted = object.real("wanted") else { return nil }
            self = .calibrated(delay: wanted, route: object.integer("route") ?? 0)
        case "lost":
            self = .lost(count: object.integer("count") ?? 0)
        default: self = .other
        }
    }
}
