/// A command of a receiver to its sender, from the event channel or by DACP.
package enum RemoteCommand: Hashable, Sendable {
    case play
    case pause
    case togglePause
    case stop
    case next
    case previous
    case fastForward
    case rewind
    case volumeUp
    case volumeDown
    case toggleMute
    /// The volume was set at the receiver, in dB; −144 is mute.
    case volume(decibels: Double)

    /// Reads an untrusted message of the event channel; nil if it is no known command.
    package init?(event: PropertyList) {
        guard event["type"]?.string == "sendMediaRemoteCommand" else { return nil }
        switch event["value"]?.string {
        case "play": self = .play
        case "paus": self = .pause
        case "plps": self = .togglePause
        case "stop": self = .stop
        case "nitm": self = .next
        case "pitm": self = .previous
        default: return nil
        }
    }

    /// The path of DACP commands, without the command.
    package static let path = "/ctrl-int/1/"

    /// Reads the untrusted target of a DACP request; nil if it is no known command.
    package init?(target: String) {
        guard target.utf8.count <= 256, target.hasPrefix(Self.path) else { return nil }
        let fields = target.dropFirst(Self.path.count).split(separator: "?", maxSplits: 1)
        switch fields.first {
        case "play", "playresume": self = .play
        case "pause", "discrete-pause": self = .pause
        case "playpause": self = .togglePause
        case "stop": self = .stop
        case "nextitem": self = .next
        case "previtem": self = .previous
        case "beginff": self = .fastForward
        case "beginrew": self = .rewind
        case "volumeup": self = .volumeUp
        case "volumedown": self = .volumeDown
        case "mutetoggle": self = .toggleMute
        case "setproperty":
            let property = "dmcp.device-volume="
            guard fields.count == 2,
                let value = fields[1].split(separator: "&").first(where: { $0.hasPrefix(property) }),
                let decibels = Double(value.dropFirst(property.count)), decibels.isFinite
            else { return nil }
            self = .volume(decibels: max(-144, min(0, decibels)))
        default: return nil
        }
    }
}
