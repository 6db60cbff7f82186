internal import MediaCore
internal import SyncRendering

/// A snapshot of the sinks and streams of a sound server. A plain value, testable without a server.
struct SoundServerView: Sendable, Equatable {
    struct Sink: Sendable, Equatable {
        var index: UInt32
        var name: String
        var title: String
        var properties: [String: String] = [:]
        /// The layout, from the channels with a known position; nil if none has one.
        var layout: ChannelLayout?
        /// The delay that the desktop's user has set for the sink's port. The server adds it to the latencies that it
        /// reports.
        var portOffset: Duration = .zero
    }

    struct Stream: Sendable, Equatable {
        var index: UInt32
        /// The client that created it; `noClient` if the server states none.
        var client: UInt32 = Stream.noClient
        /// The index of the sink; matches no entry of `sinks` while the stream has none.
        var sink: UInt32
        /// The properties of the stream, supplemented by those of its client.
        var properties: [String: String] = [:]

        static let noClient = UInt32.max
        /// What persists while a device recreates its stream: the client, otherwise the stream.
        var owner: UInt64 { client == Self.noClient ? 1 << 32 | UInt64(index) : UInt64(client) }
    }

    /// The server's host name; nil if it runs on this computer.
    var host: String?
    /// Whether the server is PipeWire behind PulseAudio's protocol; it states no latencies of streams.
    var isPipeWire = false
    /// The indices of all clients.
    var clients: Set<UInt32> = []
    /// The properties of our own client.
    var own: [String: String] = [:]
    var sinks: [Sink] = []
    /// The sinks without those on the network.
    var localSinks: [Sink] { sinks.filter { !$0.isOnNetwork } }
    /// The sink of streams that request no other.
    var defaultSink: String?
    var defaultLayout: ChannelLayout? { sinks.first { $0.name == defaultSink }?.layout }
    var streams: [Stream] = []

    /// The PulseAudio and PipeWire properties in use; no others are read.
    static let properties = [
        Property.process, Property.host, Property.machine, Property.api, Property.deviceString, Property.blueZ,
        Property.protocol, Property.blueZProfile, Property.deviceClass, Property.master, Property.factory,
        Property.linkGroup, Property.codec, Property.blueZCodec, Property.card,
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
        static let codec = "bluetooth.codec"
        static let blueZCodec = "api.bluez5.codec"
        static let card = "alsa.card"
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

    /// Returns the sink of a stream; nil if it has none.
    func sink(of stream: Stream) -> Sink? { sinks.first { $0.index == stream.sink } }

    /// Returns what is known about the destination of a stream; nil while it has no sink.
    func knowledge(of stream: Stream) -> SinkKnowledge? {
        guard let sink = sink(of: stream) else { return nil }
        guard !sink.passesOn else {
            return .unknown("'\(sink.title)' forwards the sound without stating the sink")
        }
        return .known(sink.sink(at: self))
    }
}

/// Which stream of this process belongs to which of its devices.
///
/// Each device of ALSA's plugins is a client of its own, which recreates its stream at a seek and keeps it when the
/// desktop moves it. A device is recognized by its client once that has a stream.
struct StreamClaims: Sendable {
    /// By the device's number.
    private var owners: [Int: UInt64] = [:]

    /// Assigns the unclaimed streams of a view to the devices without one, in this order: to those that requested the
    /// stream's sink, to those that requested none and get the default one, and the only one left to the only device
    /// left, because the server remembers other sinks for some streams.
    ///
    /// - Parameter devices: The number and the requested sink of each open device; nil: the server's choice.
    mutating func update(_ view: SoundServerView, devices: [(number: Int, sinkName: String?)]) {
        owners = owners.filter { owner in
            devices.contains { $0.number == owner.key }
                && (UInt32(exactly: owner.value).map(view.clients.contains)
                    ?? view.streams.contains { $0.owner == owner.value })
        }
        let own = view.ownStreams
        var free = own.filter { !owners.values.contains($0.owner) }
        for device in devices where owners[device.number] == nil {
            let sinkName = device.sinkName ?? view.defaultSink
            guard let stream = free.first(where: { view.sink(of: $0)?.name == sinkName }) else { continue }
            owners[device.number] = stream.owner
            free.removeAll { $0.owner == stream.owner }
        }
        let rest = devices.filter { owners[$0.number] == nil }
        if rest.count == 1, Set(free.map(\.owner)).count == 1 { owners[rest[0].number] = free[0].owner }
    }

    /// Forgets all: another server has other numbers.
    mutating func removeAll() { owners = [:] }

    /// Returns the stream of a device; nil while it has none.
    func stream(of device: Int, in view: SoundServerView) -> SoundServerView.Stream? {
        guard let owner = owners[device] else { return nil }
        return view.ownStreams.first { $0.owner == owner }
    }
}

extension SoundServerView.Sink {
    typealias Property = SoundServerView.Property

    /// Whether this is a filter or effect in front of another sink: the actual sink can change under the same name.
    var passesOn: Bool {
        if bluetoothAddress != nil { return false }
        return properties[Property.deviceClass] == "filter" || properties[Property.master] != nil
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

    /// Returns whether a user's name means this sink: its title, in upper or lower case, or `sink:` and its name.
    func isNamed(_ text: String) -> Bool {
        if let name = SinkAddress.name(in: text) { return name == self.name }
        return title.lowercased() == text.lowercased()
    }

    /// Whether the server sends the audio to another machine itself (RAOP, tunnels): the delay is not what it states,
    /// and the names are those of AirPlay speakers.
    var isOnNetwork: Bool { ["raop", "tunnel"].contains { name.hasPrefix($0) } }

    /// The number of the sound card, if the sink is one of this computer's.
    var cardNumber: Int32? { properties[Property.card].flatMap { Int32($0) } }

    /// The Bluetooth codec in lower case; nil if the server states none.
    var codec: String? { (properties[Property.codec] ?? properties[Property.blueZCodec])?.lowercased() }

    /// Returns the sink as users and profiles know it. Of Bluetooth devices the delay depends on the codec, which
    /// changes with the desktop's settings and with the profile.
    func sink(at server: SoundServerView) -> AudioSink {
        guard let address = bluetoothAddress else {
            let sinkName = server.host.map { "\($0)/\(name)" } ?? name
            return AudioSink(
                key: AudioSink.key("sink", sinkName), name: sinkName, title: title, portOffset: portOffset)
        }
        let suffix = codec.map { "-" + OutputIdentity.key(from: String($0.prefix(20))) } ?? ""
        return AudioSink(
            key: "bluetooth-\(address)" + suffix + (isTelephone ? "-headset" : ""), name: name, title: title,
            bluetooth: AudioSink.Bluetooth(codec: codec, isPipeWire: server.isPipeWire), portOffset: portOffset)
    }
}
