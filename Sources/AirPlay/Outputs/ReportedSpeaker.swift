internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore

/// What sessions have revealed about a speaker: where it is, which device it is, and who uses it.
struct ReportedSpeaker: Sendable {
    /// The last known address and device identifier; nil until a session has connected.
    private var address: SpeakerAddress?
    private(set) var deviceID: SpeakerID?
    /// The model name.
    private var model: String?
    /// The status flags before we played.
    private var idleFlags: StatusFlags = []
    /// The formats to choose from for buffered streams; nil until a session has connected.
    private(set) var offered: Set<StreamFormat>?

    /// Addresses to try, in order: the last known one, unless the speaker is announced elsewhere.
    func addresses(configured: SpeakerAddress, announced: [SpeakerAddress]) -> [SpeakerAddress] {
        let known = address ?? configured
        return announced.contains(known) ? [known] + announced.filter { $0 != known } : announced + [known]
    }

    /// The flags that show another sender.
    ///
    /// Some speakers have no flag for that. `playing` is used only if it was clear while idle, since some speakers
    /// always set it.
    var busyFlags: StatusFlags { idleFlags.contains(.playing) ? .busy : [.busy, .playing] }

    /// Whether the model is known to skip packets by sequence number.
    var skipsPackets: Bool { isSoftware }

    /// Whether the model is known to play by a clock that it does not measure by requests.
    var listensOnly: Bool { isSoftware }

    /// Whether it is shairport-sync or the software speaker.
    private var isSoftware: Bool {
        let model = model?.lowercased() ?? ""
        return model.hasPrefix("shairport") || model == "talkiespeaker"
    }

    /// Records what a connected speaker reports.
    ///
    /// - Parameter isFirst: Whether no session of ours precedes: otherwise its flags may be our own.
    mutating func record(_ info: ReceiverInfo, at address: SpeakerAddress, isFirst: Bool) {
        if isFirst { idleFlags = info.statusFlags ?? [] }
        model = info.model
        offered = Self.offered(by: info)
        self.address = address
        deviceID = info.deviceID.flatMap { SpeakerID($0) }
    }

    /// Returns the formats that a receiver lists, as far as they can be sent; the usual ones if it lists none of those.
    private static func offered(by info: ReceiverInfo) -> Set<StreamFormat> {
        // Apple's receivers use the number of 7.1 for 5.1.2.
        let isShairportSync = info.model?.lowercased().hasPrefix("shairport") ?? false
        let listed = StreamFormat.all.filter {
            $0.isOffered(by: info) && ($0 != .aacSurround71 || isShairportSync)
        }
        // Without 24 bits, which may be silent.
        return listed.contains { $0.channels == 2 } ? Set(listed) : [.lossless44100, .aac44100, .aac48000]
    }

    /// Forgets what applies to one use only.
    mutating func endUse() { (model, idleFlags) = (nil, []) }
}
