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
    /// The most channels it offers; nil until a session has connected.
    private(set) var channels: Int?
    /// Whether it lists a buffered stream of lossless audio with 24 bits; nil until a session has connected.
    private(set) var offers24Bits: Bool?

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
    var skipsPackets: Bool {
        let model = model?.lowercased() ?? ""
        return model.hasPrefix("shairport") || model == "talkiespeaker"
    }

    /// Records what a connected speaker reports.
    ///
    /// - Parameter isFirst: Whether no session of ours precedes: otherwise its flags may be our own.
    mutating func record(_ info: ReceiverInfo, at address: SpeakerAddress, isFirst: Bool) {
        if isFirst { idleFlags = info.statusFlags ?? [] }
        model = info.model
        channels = Self.channels(info)
        // One that lists no formats may play silence.
        offers24Bits = info.bufferedFormats != nil && StreamFormat.lossless48000.isOffered(by: info)
        self.address = address
        deviceID = info.deviceID.flatMap { SpeakerID($0) }
    }

    /// Returns the most channels that a receiver offers.
    private static func channels(_ info: ReceiverInfo) -> Int {
        guard info.bufferedFormats != nil else { return 2 }
        // Apple's receivers use the number of 7.1 for 5.1.2.
        let isShairportSync = info.model?.lowercased().hasPrefix("shairport") ?? false
        if isShairportSync, StreamFormat.aacSurround71.isOffered(by: info) { return 8 }
        return StreamFormat.aacSurround51.isOffered(by: info) ? 6 : 2
    }

    /// Forgets what applies to one use only.
    mutating func endUse() { (model, idleFlags) = (nil, []) }
}
