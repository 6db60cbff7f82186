package import AirPlay
package import LocalOutput
internal import MediaCore

/// One place that sound can go to, as a person chooses it: this computer, another of its sound cards, a speaker.
public struct OfferedRoute: Hashable, Sendable, Identifiable {
    public enum Kind: String, Sendable {
        /// The system's default device, or the one that was asked for.
        case thisComputer
        case soundCard
        case speaker
        /// Two receivers that play as one.
        case stereoPair
    }

    package enum Target: Hashable, Sendable {
        /// ALSA's name of a device.
        case card(String)
        case speakers([DiscoveredSpeaker])
    }

    /// Stays the same from one day to the next: `local`, `alsa:DEVICE`, a speaker's identifier, or `name:NAME` for a
    /// speaker that has none.
    public let id: String
    /// For people: `This computer`, `Kitchen`.
    public let name: String
    public let kind: Kind
    /// Why it cannot be chosen as things are, and what to do; nil when it can.
    public let obstacle: String?
    package let target: Target

    /// This computer.
    /// - Parameter device: ALSA's name of the device; nil is the system's default.
    public static func thisComputer(device: String? = nil) -> OfferedRoute {
        OfferedRoute(
            id: "local", name: "This computer", kind: .thisComputer, obstacle: nil, target: .card(device ?? "default"))
    }

    /// A sound card by ALSA's name for it.
    package static func card(_ device: SoundCardProbe.Device) -> OfferedRoute {
        OfferedRoute(
            id: "alsa:\(device.name)", name: PrintableText.of(device.description), kind: .soundCard,
            obstacle: nil, target: .card(device.name))
    }

    package static func speaker(_ entry: SpeakerEntry, obstacle: String? = nil) -> OfferedRoute {
        OfferedRoute(
            id: entry.leader.id?.description ?? "name:\(entry.name)", name: entry.name,
            kind: entry.kind == .stereoPair ? .stereoPair : .speaker, obstacle: obstacle,
            target: .speakers(entry.members))
    }
}
