internal import MediaCore

/// A snapshot of the sinks and streams of a sound server. A plain value, testable without a server.
struct SoundServerView: Sendable, Equatable {
    struct Sink: Sendable, Equatable {
        var index: UInt32
        var name: String
        var title: String
        var properties: [String: String] = [:]
        /// The layout, from the channels with a known position; nil if none has one.
        var layout: ChannelLayout?
    }

    struct Stream: Sendable, Equatable {
        var index: UInt32
        /// The index of the sink; matches no entry of `sinks` while the stream has none.
        var sink: UInt32
        /// The properties of the stream, supplemented by those of its client.
        var properties: [String: String] = [:]
    }

    /// The server's host name; nil if it runs on this computer.
    var host: String?
    /// The properties of our own client.
    var own: [String: String] = [:]
    var sinks: [Sink] = []
    /// The sink of streams that request no other.
    var defaultSink: String?
    var defaultLayout: ChannelLayout? { sinks.first { $0.name == defaultSink }?.layout }
    var streams: [Stream] = []

    /// The PulseAudio and PipeWire properties in use; no others are read.
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

    /// The streams of this process that play on a sink.
    ///
    /// The process id is not sufficient: remote clients and containers can have the same one. Machine id and host name
    /// must therefore agree if both sides report them.
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

    /// The sink of this process; nil while it has no playing stream.
    var knowledge: SinkKnowledge? {
        let ownSinks = Set(ownStreams.map(\.sink))
        guard let index = ownSinks.first, let sink = sinks.first(where: { $0.index == index }) else { return nil }
        guard ownSinks.count == 1 else { return .unknown("this program plays on several sinks at once") }
        guard !sink.passesOn else {
            return .unknown("'\(sink.title)' forwards the sound without stating the sink")
        }
        return .known(sink.sink(at: host))
    }
}

extension SoundServerView.Sink {
    typealias Property = SoundServerView.Property

    /// Whether this is a filter or effect in front of another sink: the actual sink can change under the same name.
    var passesOn: Bool {
        properties[Property.deviceClass] == "filter" || properties[Property.master] != nil
            || properties[Property.linkGroup] != nil || properties[Property.factory] == "support.null-audio-sink"
    }

    /// The twelve hexadecimal digits of the Bluetooth address; nil for other sinks.
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
        let fields = address.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "_" }
        guard fields.count == 6, fields.allSatisfy({ $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }) else {
            return nil
        }
        return fields.joined().uppercased()
    }

    /// Whether the headset uses a bidirectional profile, which has another delay than playback only.
    private var isTelephone: Bool {
        let profile = properties[Property.protocol] ?? properties[Property.blueZProfile] ?? name
        return ["handsfree", "headset", "hfp", "hsp"].contains { profile.contains($0) }
    }

    func sink(at host: String?) -> AudioSink {
        if let address = bluetoothAddress {
            return AudioSink(key: "bluetooth-\(address)" + (isTelephone ? "-headset" : ""), name: name, title: title)
        }
        let sinkName = host.map { "\($0)/\(name)" } ?? name
        return AudioSink(key: AudioSink.key("sink", sinkName), name: sinkName, title: title)
    }
}

/// The last known sink. Between two streams, for example during a seek, the server reports none for a moment; the
/// previous sink remains until the next report.
struct SinkBelief: Sendable {
    private(set) var knowledge = SinkKnowledge.unknown("the sound server shows no stream of this program")

    /// - Parameter view: The current view; nil if the server does not respond.
    mutating func update(_ view: SoundServerView?) {
        guard let view else {
            knowledge = .noServer
            return
        }
        if let now = view.knowledge { knowledge = now }
    }
}
