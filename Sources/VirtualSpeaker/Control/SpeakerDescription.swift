internal import AirPlayWire
internal import MediaCore

/// The properties that a speaker publishes at `/info` and by mDNS.
struct SpeakerDescription {
    let propertyList: PropertyList
    /// The TXT strings of `_airplay._tcp`, `key=value`.
    let strings: [String]

    /// Returns the TXT strings of `_raop._tcp`.
    static func classic(_ configuration: SpeakerConfiguration) -> [String] {
        var hasPassword = false
        if case .password = configuration.admission { hasPassword = true }
        return [
            "txtvers=1", "cn=0,1", "et=\(configuration.quirks.needsSetup ? "0,4" : "0")", "md=0,1,2", "tp=UDP",
            "sr=44100",
            "ss=16", "ch=2", "vn=3", "vs=105.1", "am=TalkieSpeaker", "da=true", "pw=\(hasPassword)", "sf=0x4",
        ]
    }

    init(_ backend: any SessionBackend) {
        self.init(
            backend.configuration, backend.identity, offersPTP: backend.offersPTP, isBusy: backend.isBusy,
            volume: backend.volume, senderAddress: backend.senderAddress)
    }

    init(_ core: SpeakerCore) {
        self.init(
            core.configuration, core.identity, offersPTP: core.ptp != nil, isBusy: false, volume: core.volume,
            senderAddress: "")
    }

    private init(
        _ configuration: SpeakerConfiguration, _ identity: SpeakerIdentity, offersPTP: Bool, isBusy: Bool,
        volume: Double, senderAddress: String
    ) {
        let quirks = configuration.quirks
        let model =
            quirks.endsUnlessAllowed ? "Shairport Sync" : quirks.ignoresPTP ? "TalkieTelevision" : "TalkieSpeaker"
        var features = SpeakerIdentity.features(offersPTP: offersPTP, admission: configuration.admission)
        if configuration.quirks.readsLists { features.insert(.nowPlayingPropertyList) }
        var flags: StatusFlags = [.cableAttached]
        if isBusy { flags.insert(.busy) }
        switch configuration.admission {
        case .open: break
        case .password: flags.insert(.passwordRequired)
        case .pin: flags.insert(.pairingRequired)
        }
        func hex(_ value: UInt64, digits: Int = 1) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        let key = identity.pairing.publicKey
        let keyText = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        strings = [
            "deviceid=\(identity.deviceID)", "srcvers=\(SpeakerIdentity.sourceVersion)", "model=\(model)",
            "manufacturer=Talkie", "protovers=1.1", "acl=0", "pi=\(identity.publicID)", "gid=\(identity.publicID)",
            "gcgl=0", "pk=\(keyText)", "flags=\(hex(flags.rawValue))",
            // Eight digits in the lower half: pyatv concatenates the halves as text.
            "features=\(hex(features.rawValue & 0xFFFF_FFFF, digits: 8)),\(hex(features.rawValue >> 32))",
        ]
        var record: [UInt8] = []
        for string in strings {
            record.append(UInt8(min(255, string.utf8.count)))
            record += Array(string.utf8.prefix(255))
        }
        let realtime = StreamFormat.lossless44100.mask | 1 << 11
        let offered = StreamFormat.all.filter {
            ($0.channels == 2 || !quirks.offersStereoOnly) && ($0.bitsPerSample < 24 || !quirks.offers16BitsOnly)
                && quirks.formats?.contains($0.bit) ?? true
        }
        let buffered = offered.reduce(0) { $0 | $1.mask }
        var latencies: [PropertyList] = []
        if let stated = configuration.quirks.outputLatency?.stated {
            latencies.append([
                "type": 96, "audioType": "media", "inputLatencyMicros": 0,
                "outputLatencyMicros": .integer(stated.wholeNanoseconds / 1000),
            ])
        }
        var members: [String: PropertyList] = [
            "audioLatencies": .array(latencies), "name": .string(configuration.name),
            "deviceID": .string(identity.deviceID),
            "pi": .string(identity.publicID), "pk": .data(key), "model": .string(model), "manufacturer": "Talkie",
            "sourceVersion": .string(SpeakerIdentity.sourceVersion), "protocolVersion": "1.1",
            "features": PropertyList(features.rawValue), "statusFlags": PropertyList(flags.rawValue),
            "initialVolume": .real(volume), "volumeControlType": 3,
            "senderAddress": .string(senderAddress), "txtAirPlay": .data(record),
            "keepAliveLowPower": true, "keepAliveSendStatsAsBody": true,
        ]
        let masks: [(name: String, type: PropertyList, mask: Int64)] = [
            ("audioStream", 100, realtime), ("bufferStream", 101, offersPTP ? buffered : 0),
        ]
        if configuration.quirks.listsFormats {
            members["audioFormats"] = .array(
                masks.map { ["type": $0.type, "audioInputFormats": 0, "audioOutputFormats": .integer($0.mask)] })
        } else {
            members["supportedFormats"] = .dictionary(
                Dictionary(masks.map { ($0.name, .integer($0.mask)) }, uniquingKeysWith: { first, _ in first }))
        }
        propertyList = .dictionary(members)
    }
}
