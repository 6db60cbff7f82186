internal import MediaCore

/// The declaration of an interface of an MPRIS object: checks calls and describes itself.
struct MPRISInterface {
    /// A method or signal: its arguments, and the results of a method.
    struct Member {
        let name: String
        var arguments: [(name: String, type: String)] = []
        var results: [(name: String, type: String)] = []

        /// The signature of the arguments.
        var signature: String { arguments.map(\.type).joined() }
    }

    struct Property {
        let name: String
        let type: String
        var isWritable = false
        /// Whether `PropertiesChanged` reports changes; nil: without the value.
        var reportsValue: Bool? = true
    }

    let name: String
    var properties: [Property] = []
    var methods: [Member] = []
    var signals: [Member] = []

    static let prefix = "org.mpris.MediaPlayer2"
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let propertyAccess = "org.freedesktop.DBus.Properties"

    /// MPRIS D-Bus Interface Specification 2.2, "MediaPlayer2".
    static let root = MPRISInterface(
        name: prefix,
        properties: [
            Property(name: "CanQuit", type: "b"), Property(name: "Fullscreen", type: "b", isWritable: true),
            Property(name: "CanSetFullscreen", type: "b"), Property(name: "CanRaise", type: "b"),
            Property(name: "HasTrackList", type: "b"), Property(name: "Identity", type: "s"),
            Property(name: "DesktopEntry", type: "s"), Property(name: "SupportedUriSchemes", type: "as"),
            Property(name: "SupportedMimeTypes", type: "as"),
        ],
        methods: [Member(name: "Raise"), Member(name: "Quit")])

    /// The same, "Player".
    static let player = MPRISInterface(
        name: prefix + ".Player",
        properties: [
            Property(name: "PlaybackStatus", type: "s"), Property(name: "LoopStatus", type: "s", isWritable: true),
            Property(name: "Rate", type: "d", isWritable: true), Property(name: "Shuffle", type: "b", isWritable: true),
            Property(name: "Metadata", type: "a{sv}"), Property(name: "Volume", type: "d", isWritable: true),
            Property(name: "Position", type: "x", reportsValue: false), Property(name: "MinimumRate", type: "d"),
            Property(name: "MaximumRate", type: "d"), Property(name: "CanGoNext", type: "b"),
            Property(name: "CanGoPrevious", type: "b"), Property(name: "CanPlay", type: "b"),
            Property(name: "CanPause", type: "b"), Property(name: "CanSeek", type: "b"),
            Property(name: "CanControl", type: "b", reportsValue: false),
        ],
        methods: [
            Member(name: "Next"), Member(name: "Previous"), Member(name: "Pause"), Member(name: "PlayPause"),
            Member(name: "Stop"), Member(name: "Play"), Member(name: "Seek", arguments: [("Offset", "x")]),
            Member(name: "SetPosition", arguments: [("TrackId", "o"), ("Position", "x")]),
            Member(name: "OpenUri", arguments: [("Uri", "s")]),
        ],
        signals: [Member(name: "Seeked", arguments: [("Position", "x")])])

    /// The same, "TrackList".
    static let trackList = MPRISInterface(
        name: prefix + ".TrackList",
        properties: [
            Property(name: "Tracks", type: "ao", reportsValue: nil), Property(name: "CanEditTracks", type: "b"),
        ],
        methods: [
            Member(
                name: "GetTracksMetadata", arguments: [("TrackIds", "ao")], results: [("Metadata", "aa{sv}")]),
            Member(name: "AddTrack", arguments: [("Uri", "s"), ("AfterTrack", "o"), ("SetAsCurrent", "b")]),
            Member(name: "RemoveTrack", arguments: [("TrackId", "o")]),
            Member(name: "GoTo", arguments: [("TrackId", "o")]),
        ],
        signals: [
            Member(name: "TrackListReplaced", arguments: [("Tracks", "ao"), ("CurrentTrack", "o")]),
            Member(name: "TrackAdded", arguments: [("Metadata", "a{sv}"), ("AfterTrack", "o")]),
            Member(name: "TrackRemoved", arguments: [("TrackId", "o")]),
            Member(name: "TrackMetadataChanged", arguments: [("TrackId", "o"), ("Metadata", "a{sv}")]),
        ])

    /// D-Bus specification, "Standard Interfaces".
    private static let standard = [
        MPRISInterface(
            name: introspectable, methods: [Member(name: "Introspect", results: [("xml_data", "s")])]),
        MPRISInterface(
            name: propertyAccess,
            methods: [
                Member(
                    name: "Get", arguments: [("interface_name", "s"), ("property_name", "s")],
                    results: [("value", "v")]),
                Member(name: "GetAll", arguments: [("interface_name", "s")], results: [("props", "a{sv}")]),
                Member(
                    name: "Set", arguments: [("interface_name", "s"), ("property_name", "s"), ("value", "v")]),
            ],
            signals: [
                Member(
                    name: "PropertiesChanged",
                    arguments: [
                        ("interface_name", "s"), ("changed_properties", "a{sv}"), ("invalidated_properties", "as"),
                    ])
            ]),
    ]

    static let all = [root, player, trackList] + standard

    /// Returns the interface and the method of a call, whose arguments have been checked.
    static func method(of call: BusMessage) throws(BusError) -> (interface: String, arguments: [BusValue]) {
        let candidates = call.interface.isEmpty ? all : all.filter { $0.name == call.interface }
        guard !candidates.isEmpty else { throw .unknown("Interface", call.interface) }
        for candidate in candidates {
            guard let method = candidate.methods.first(where: { $0.name == call.member }) else { continue }
            guard call.signature == method.signature else {
                throw .invalidArguments("\(call.member): expected the signature '\(method.signature)'")
            }
            guard let arguments = call.arguments else {
                throw .invalidArguments("\(call.member): an argument is too long, or has an unsupported type")
            }
            return (candidate.name, arguments)
        }
        throw .unknown("Method", call.member)
    }

    /// The description of all interfaces (D-Bus specification, "Introspection Data Format").
    static var description: String {
        var lines = [
            "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
            " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">", "<node>",
        ]
        for interface in all { lines += interface.lines }
        return (lines + ["</node>", ""]).joined(separator: "\n")
    }

    private var lines: [String] {
        func elements(_ arguments: [(name: String, type: String)], _ direction: String) -> [String] {
            arguments.map { "   <arg name=\"\($0.name)\" type=\"\($0.type)\"\(direction)/>" }
        }
        var lines = [" <interface name=\"\(name)\">"]
        for method in methods {
            lines.append("  <method name=\"\(method.name)\">")
            lines += elements(method.arguments, " direction=\"in\"") + elements(method.results, " direction=\"out\"")
            lines.append("  </method>")
        }
        for signal in signals {
            lines += ["  <signal name=\"\(signal.name)\">"] + elements(signal.arguments, "") + ["  </signal>"]
        }
        for property in properties {
            let access = property.isWritable ? "readwrite" : "read"
            lines.append("  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\">")
            if property.reportsValue != true {
                let value = property.reportsValue == nil ? "invalidates" : "false"
                lines.append(
                    "   <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" value=\"\(value)\"/>")
            }
            lines.append("  </property>")
        }
        return lines + [" </interface>"]
    }
}
