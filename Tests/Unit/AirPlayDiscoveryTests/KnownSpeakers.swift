import AirPlay
import AirPlayTransport
import AirPlayWire

/// TXT records of kinds of speakers. shairport-sync's is a capture; the others are composed of published data about the
/// devices (feature words, flags, model names, versions), with generated IDs and keys.
enum KnownSpeakers {
    static let homePodMini = [
        "features=0x4A7FCA00,0x3C356BD0", "flags=0x18404", "model=AudioAccessory5,1", "deviceid=02:00:00:00:01:01",
        "srcvers=860.7.1", "osvers=18.2", "igl=1", "gcgl=1", "gid=11111111-0000-0000-0000-000000000001", "acl=0",
        "protovers=1.1", "pi=11111111-0000-0000-0000-000000000002",
    ]
    static let appleTV = [
        "features=0x4A7FDFD5,0x3C155FDE", "flags=0x644", "model=AppleTV11,1", "deviceid=02:00:00:00:01:02",
        "srcvers=860.7.1", "osvers=18.2", "igl=1", "gcgl=1", "gid=22222222-0000-0000-0000-000000000001", "acl=0",
    ]
    static let sonosEra = [
        "features=0x445F8A00,0x1C340", "flags=0x4", "model=Era 100", "manufacturer=Sonos",
        "deviceid=02:00:00:00:01:03", "srcvers=366.0", "acl=0", "rsf=0x0", "protovers=1.1",
        "gid=33333333-0000-0000-0000-000000000001", "igl=1",
    ]
    static let shairportSync = [
        "fv=5.2", "vv=2", "osvers=15.0", "srcvers=366.0",
        "pk=b43816d6ba2affda2b0e6a77c12216c5a952bd020f96f57a5995a667467447f1",
        "psi=525e6df7-3070-4b27-bcfa-9f908c751400", "pi=b357f0cc-3ec4-5804-97d9-6e7104fe8faf", "protovers=1.1",
        "model=ShairportSync", "gcgl=0", "igl=0", "gid=b357f0cc-3ec4-5804-97d9-6e7104fe8faf", "flags=0x4",
        "features=0x405C4A00,0x58340", "fex=AEpcQECDBQA", "deviceid=02:77:00:00:00:01", "acl=0",
    ]
    static let samsungSoundbar = [
        "features=0x445F8A00,0x1C240", "flags=0x4", "model=HW-LS60D", "manufacturer=Samsung",
        "deviceid=02:00:00:00:01:05", "srcvers=377.17.24.6", "acl=0",
    ]
    static let airPortExpress = [
        "features=0x445F8A00,0x1C340", "flags=0x4", "model=AirPort10,115", "deviceid=02:00:00:00:01:06",
        "srcvers=366.0", "fv=p20.78100.3",
    ]
    /// A receiver that announces AirPlay without the feature bits that AirPlay 2 needs.
    static let marantzNR1607 = [
        "features=0x445F8A00", "flags=0x4", "model=NR1607", "manufacturer=Marantz", "deviceid=02:00:00:00:01:07",
        "srcvers=190.9.p6",
    ]
    static let televisionWithPassword = [
        "features=0x7F8AD0,0x38BCB46", "flags=0x84", "model=TV", "pw=true", "deviceid=02:00:00:00:01:08",
        "srcvers=377.40.00",
    ]

    static func traits(_ strings: [String]) throws -> SpeakerTraits {
        SpeakerTraits(try TXTRecord(strings: strings.map { Array($0.utf8) }))
    }
}
