internal import MediaCore

/// What a sound server says at one moment of its sinks and of the streams that play on them. A plain value, without a
/// server.
struct SoundServerView: Sendable, Equatable {
    struct Sink: Sendable, Equatable {
        var index: UInt32
        var name: String
        var title: String
        var properties: [String: String] = [:]
        /// The loudspeakers it has, as far as they have places.
        var layout: ChannelLayout?
    }

    struct Stream: Sendable, Equatable {
        var index: UInt32
        /// The sink it plays on; none of the list's while it has none yet.
        var sink: UInt32
        /// Its own properties, and beneath them those of the program that plays it.
        var properties: [String: String] = [:]
    }

    /// What the server calls the machine it runs on, when that is not this one.
    var host: String?
    /// Who asks, by the server's word for this program.
    var own: [String: String] = [:]
    var sinks: [Sink] = []
    /// Where streams go that say nothing else.
    var defaultSink: String?
    var defaultLayout: ChannelLayout? { sinks.first { $0.name == defaultSink }?.layout }
    var streams: [Stream] = []

    /// The names under which PulseAudio and PipeWire tell what is needed here; no others are read.
    static let properties = [
        Property.process, Property.host, Property.machine, Property.api, Property.deviceString, Property.blueZ,
        Property.protocol, Property.blueZProfile, Property.deviceClass, Property.master, Property.factory,
        Property.linkGroup,
    ]

    enum Property {
        static let process = "application.process.id"
        static let host = "application.process.host"
        static let machine = "application.process.machine_id"
        static let api = "device.api"
        static let deviceString = "device.string"
        static let blueZ = "api.bluez5.address"
        static let `protocol` = "bluetooth.protocol"
        static let blueZProfile = "api.bluez5.profile"
        static let deviceClass = "device.class"
        static let master = "device.master_device"
        static let factory = "factory.name"
        static let linkGroup = "node.link-group"
    }

    // MARK: Our own stream

    /// The streams of this program that play on a sink.
    ///
    /// By the number of the process, which alone is not enough: over a network, and out of a container, somebody else has
    /// the same. So whatever else both sides say of the machine must agree.
    var ownStreams: [Stream] {
        guard let process = own[Property.process] else { return [] }
        return streams.filter { stream in
            stream.properties[Property.process] == process
                && [Property.machine, Property.host].allSatisfy { name in
                    guard let mine = own[name], let its = stream.properties[name] else { return true }
                    return mine == its
                } && sinks.contains { $0.index == stream.sink }
        }
    }

    /// Where this program is heard; nil while it has no stream that plays.
    var knowledge: SinkKnowledge? {
        let places = Set(ownStreams.map(\.sink))
        guard let index = places.first, let sink = sinks.first(where: { $0.index == index }) else { return nil }
        guard places.count == 1 else { return .unknown("this program plays on several sinks at once") }
        guard !sink.passesOn else {
            return .unknown("'\(sink.title)' hands the sound on and does not say to which sink")
        }
        return .known(sink.sink(at: host))
    }
}

extension SoundServerView.Sink {
    typealias Property = SoundServerView.Property

    /// A filter or an effect in front of other sinks: who hears it changes behind its name.
    var passesOn: Bool {
        properties[Property.deviceClass] == "filter" || properties[Property.master] != nil
            || properties[Property.linkGroup] != nil || properties[Property.factory] == "support.null-audio-sink"
    }

    /// Twelve digits of a Bluetooth device's address.
    var bluetoothAddress: String? {
        if let address = properties[Property.blueZ].flatMap(Self.digits) { return address }
        if properties[Property.api]?.hasPrefix("bluez") == true,
            let address = properties[Property.deviceString].flatMap(Self.digits)
        {
            return address
        }
        for start in ["bluez_sink.", "bluez_output."] where name.hasPrefix(start) {
            return Self.digits(String(name.dropFirst(start.count).prefix(17)))
        }
        return nil
    }

    private static func digits(_ address: String) -> String? {
        let parts = address.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "_" }
        guard parts.count == 6, parts.allSatisfy({ $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }) else {
            return nil
        }
        return parts.joined().uppercased()
    }

    /// A headset that also listens has another delay than the same one that only plays.
    private var isTelephone: Bool {
        let profile = properties[Property.protocol] ?? properties[Property.blueZProfile] ?? name
        return ["handsfree", "headset", "hfp", "hsp"].contains { profile.contains($0) }
    }

    func sink(at host: String?) -> SoundSink {
        if let address = bluetoothAddress {
            return SoundSink(key: "bluetooth-\(address)" + (isTelephone ? "-headset" : ""), name: name, title: title)
        }
        let place = host.map { "\($0)/\(name)" } ?? name
        return SoundSink(key: SoundSink.key("sink", place), name: place, title: title)
    }
}

/// What is believed of the sink while a server tells news. Between a seek's streams there is none for a moment, and
/// nothing is heard: the belief stays until the next one tells.
struct SinkBelief: Sendable {
    private(set) var knowledge = SinkKnowledge.unknown("the sound server shows no stream of this program")

    /// - Parameter view: nil when the server does not answer.
    mutating func hear(_ view: SoundServerView?) {
        guard let view else {
            knowledge = .noServer
            return
        }
        if let now = view.knowledge { knowledge = now }
    }
}
