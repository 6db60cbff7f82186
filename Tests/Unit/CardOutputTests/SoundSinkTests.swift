import MediaCore
import SyncRendering
import Testing

@testable import CardOutput

/// Determines this program's sink from the data of a sound server. No server, no device.
@Suite struct SoundSinkTests {
    typealias View = SoundServerView
    typealias Property = SoundServerView.Property

    static let speakers = View.Sink(
        index: 1, name: "alsa_output.pci-0000_00_1f.3.analog-stereo", title: "Built-in Audio")
    static let headset = View.Sink(
        index: 2, name: "bluez_output.AC_80_0A_11_22_33.1", title: "WH-1000XM4",
        properties: [Property.api: "bluez5", Property.blueZ: "AC:80:0A:11:22:33"])
    static let ours = [Property.process: "42", Property.machine: "m1", Property.host: "tv"]

    static func view(_ streams: [(sink: UInt32, properties: [String: String])], sinks: [View.Sink]? = nil) -> View {
        var view = View(own: ours, sinks: sinks ?? [speakers, headset])
        view.clients = Set(10..<20)
        view.streams = streams.enumerated().map {
            View.Stream(
                index: UInt32($0.offset), client: UInt32(10 + $0.offset), sink: $0.element.sink,
                properties: $0.element.properties)
        }
        return view
    }

    /// What a view shows of the only device, which requested no sink.
    static func knowledge(_ view: View) -> SinkKnowledge? {
        var claims = StreamClaims()
        claims.update(view, devices: [(0, nil)])
        return claims.stream(of: 0, in: view).flatMap { view.knowledge(of: $0) }
    }

    /// A card that replaces a lost one has another calibration, or none.
    @Test func anotherDeviceAndAnAssumedDelayAreNewsOnce() {
        var news = SoundCard.DelayNews()
        let polls = [("a", false), ("a", true), ("a", true), ("", false), ("b", false), ("b", false), ("a", false)]
        #expect(polls.map { news.update(key: $0, isAssumed: $1) } == [false, true, false, true, true, false, true])
    }

    @Test func theSinkIsTheOneOurStreamPlaysOn() {
        let view = Self.view([(1, [Property.process: "7"]), (2, Self.ours)])
        #expect(Self.knowledge(view)?.sink?.title == "WH-1000XM4")
    }

    @Test func sameProcessNumberOfAnotherMachineIsNotOurs() {
        var other = Self.ours
        other[Property.machine] = "m2"
        #expect(Self.knowledge(Self.view([(1, other)])) == nil)
        // A property that one side lacks is no mismatch: PipeWire's own clients report fewer.
        #expect(Self.knowledge(Self.view([(1, [Property.process: "42"])]))?.sink?.title == "Built-in Audio")
    }

    @Test func aServerWithoutOurStreamNamesNoSink() {
        var view = Self.view([(1, [:])])
        view.own = [:]
        #expect(Self.knowledge(view) == nil)
    }

    /// Plays on both sinks with one device each: the first requested the headset, the second one nothing.
    private static func claims(_ view: View) -> StreamClaims {
        var claims = StreamClaims()
        claims.update(view, devices: [(0, headset.name), (1, nil)])
        return claims
    }

    @Test func eachDeviceHasItsStreamWhateverTheOrder() {
        for sinks: [UInt32] in [[1, 2], [2, 1]] {
            let view = Self.view(sinks.map { ($0, Self.ours) })
            let claims = Self.claims(view)
            #expect(claims.stream(of: 0, in: view)?.sink == 2)
            #expect(claims.stream(of: 1, in: view)?.sink == 1)
        }
    }

    @Test func aDeviceKeepsItsStreamWhenTheDesktopMovesItAndAfterASeek() {
        var view = Self.view([(1, Self.ours), (2, Self.ours)])
        var claims = Self.claims(view)
        // The desktop exchanges the sinks; a seek then recreates the headset's stream, by the same client.
        (view.streams[0].sink, view.streams[1].sink) = (2, 1)
        view.streams[1].index = 77
        claims.update(view, devices: [(0, Self.headset.name), (1, nil)])
        #expect(claims.stream(of: 0, in: view)?.index == 77)
        #expect(claims.stream(of: 1, in: view)?.index == 0)
    }

    @Test func aStreamThatTheServerMovedBeforeItWasSeenIsFound() {
        let view = Self.view([(1, Self.ours)])
        var claims = StreamClaims()
        claims.update(view, devices: [(0, Self.headset.name)])
        #expect(claims.stream(of: 0, in: view)?.sink == 1)
    }

    @Test func aDeviceThatClaimedTheStreamOfAnEndedClientGetsItsOwn() {
        // The former device of the same name is closed only after the new one was registered.
        var view = Self.view([(1, Self.ours)])
        var claims = StreamClaims()
        claims.update(view, devices: [(1, nil)])
        view.streams[0].client = 12
        view.clients = [12]
        claims.update(view, devices: [(1, nil)])
        #expect(claims.stream(of: 1, in: view)?.client == 12)
    }

    @Test func aDeviceWithoutAStreamTakesNoneOfTwoElsewhere() {
        let third = View.Sink(index: 3, name: "third", title: "Third")
        let view = Self.view([(3, Self.ours), (3, Self.ours)], sinks: [Self.speakers, third])
        var claims = StreamClaims()
        claims.update(view, devices: [(0, Self.headset.name)])
        #expect(claims.stream(of: 0, in: view) == nil)
    }

    @Test func aClosedDeviceReleasesItsStream() {
        let view = Self.view([(1, Self.ours)])
        var claims = StreamClaims()
        claims.update(view, devices: [(0, nil)])
        claims.update(view, devices: [(1, nil)])
        #expect(claims.stream(of: 0, in: view) == nil)
        #expect(claims.stream(of: 1, in: view)?.index == 0)
    }

    @Test func aStreamWithoutASinkNamesNone() {
        #expect(Self.knowledge(Self.view([(.max, Self.ours)])) == nil)
        #expect(Self.knowledge(Self.view([(.max, Self.ours), (1, Self.ours)]))?.sink?.title == "Built-in Audio")
    }

    @Test(arguments: [
        [Property.deviceClass: "filter"], [Property.master: "x"], [Property.linkGroup: "filter-chain-1"],
        [Property.factory: "support.null-audio-sink"],
    ])
    func aFilterIsNoFinalSink(properties: [String: String]) {
        let filter = View.Sink(index: 3, name: "equalizer", title: "Equalizer", properties: properties)
        let knowledge = Self.knowledge(Self.view([(3, Self.ours)], sinks: [filter]))
        #expect(knowledge != nil && knowledge?.sink == nil)
    }

    @Test func bluetoothIsKnownByItsAddressWhateverTheServerCallsIt() {
        let old = View.Sink(
            index: 1, name: "bluez_sink.AC_80_0A_11_22_33.a2dp_sink", title: "x",
            properties: [Property.api: "bluez", Property.deviceString: "AC:80:0A:11:22:33"])
        let bare = View.Sink(index: 1, name: "bluez_output.ac_80_0a_11_22_33.a2dp-sink", title: "x")
        for sink in [Self.headset, old, bare] { #expect(sink.sink(at: View()).key == "bluetooth-AC800A112233") }
        var telephone = old
        telephone.properties[Property.protocol] = "headset_head_unit"
        #expect(telephone.sink(at: View()).key == "bluetooth-AC800A112233-headset")
    }

    @Test func eachSinkHasAKeyOfItsOwn() {
        // Long names that differ at the end, characters that are invalid in file names, the same name on two machines.
        let names = [
            "alsa_output.pci-0000_00_1f.3-platform-skl_hda_dsp_generic.HiFi__hw_sofhdadsp__sink",
            "alsa_output.pci-0000_00_1f.3-platform-skl_hda_dsp_generic.HiFi__hw_sofhdadsp_3__sink", "a b", "a_b", "a/b",
            "é",
            String(repeating: "x", count: 300),
        ]
        let sinks = names.map { View.Sink(index: 1, name: $0, title: "") }
        let keys = sinks.map { $0.sink(at: View()).key } + sinks.map { $0.sink(at: View(host: "attic")).key }
        #expect(Set(keys).count == keys.count)
        for key in keys {
            #expect(key.utf8.count <= 64)
            #expect(key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        }
        #expect(AudioSink.hardware(id: "PCH", device: 3, title: "").key == "hw-PCH-3")
    }

    // MARK: Bluetooth

    @Test func aCalibrationAppliesToOneCodec() {
        var headset = Self.headset
        headset.properties[Property.codec] = "aptX_HD"
        #expect(headset.sink(at: View()).key == "bluetooth-AC800A112233-aptx_hd")
        headset.properties = [Property.blueZ: "AC:80:0A:11:22:33", Property.blueZCodec: "../sbc"]
        #expect(OutputIdentity.isKey(headset.sink(at: View()).key))
    }

    @Test(arguments: [
        ("sbc", 125, true), ("sbc", 141, true), ("sbc", 200, true), ("aac", 93, false), ("aac", 160, false),
        ("ldac", 250, false), ("ldac", 0, false), ("aptx_ll", 40, true), ("aptx_ll", 125, false), ("msbc", 20, true),
        ("msbc", 300, false), ("opus_05", 130, true), ("opus_05", 90, false),
    ])
    func aServersConstantIsNoReport(codec: String, milliseconds: Int, isConstant: Bool) {
        let bluetooth = AudioSink.Bluetooth(codec: codec, isPipeWire: true)
        #expect(bluetooth.isConstant(.milliseconds(milliseconds)) == isConstant)
    }

    @Test func aServerThatAsksNoDeviceHasOneConstant() {
        let bluetooth = AudioSink.Bluetooth(codec: "sbc", isPipeWire: false)
        #expect([25, 60, 150].map { bluetooth.isConstant(.milliseconds($0)) } == [true, true, false])
    }

    // MARK: The list

    private static let analog = SoundCardProbe.Device(name: "sysdefault:CARD=PCH", description: "HDA Intel PCH")

    /// The names of the listed outputs; the cards have the numbers 0 (PCH) and 1 (USB).
    private static func listed(_ devices: [SoundCardProbe.Device], _ view: View) -> [String] {
        SoundCardProvider().offer(devices, server: view, number: { $0.hasPrefix("PCH") ? 0 : 1 }).destinations.map(
            \.name)
    }

    @Test func sinksAreListedByTheirTitles() throws {
        let provider = SoundCardProvider()
        let offer = provider.offer([], server: View(sinks: [Self.speakers, Self.headset]))
        #expect(offer.destinations.map(\.name) == ["This computer", "Built-in Audio", "WH-1000XM4"])
        let headset = offer.destinations[2]
        let card = try #require(provider.outputs(at: headset).first as? SoundCard)
        #expect(card.device == "sink:" + Self.headset.name)
        #expect(provider.outputs(at: headset).first === card)
        // The only sink is what this computer's name means.
        #expect(Self.listed([], View(sinks: [Self.speakers])) == ["This computer"])
    }

    @Test func aCardIsListedWhereTheServerHasNoSinkOfIt() {
        let devices = [
            Self.analog, SoundCardProbe.Device(name: "hdmi:CARD=PCH,DEV=0", description: "HDMI"),
            SoundCardProbe.Device(name: "sysdefault:CARD=USB", description: "USB"),
        ]
        var analog = Self.speakers
        analog.properties[Property.card] = "0"
        var view = View(sinks: [analog])
        #expect(Self.listed(devices, view) == ["This computer", "Built-in Audio", "HDMI", "USB"])
        var digital = View.Sink(index: 5, name: "alsa_output.pci-0000_00_1f.3.hdmi-stereo", title: "Television")
        digital.properties[Property.card] = "0"
        view.sinks.append(digital)
        #expect(Self.listed(devices, view) == ["This computer", "Built-in Audio", "Television", "USB"])
        // The cards of another computer have other numbers.
        view.host = "attic"
        #expect(Self.listed(devices, view).suffix(3) == ["HDA Intel PCH", "HDMI", "USB"])
    }

    @Test func aSpeakerOnTheNetworkIsNotPlayedToThroughTheServer() {
        let kitchen = View.Sink(index: 6, name: "raop_sink.Kitchen.local.192.168.1.9.7000", title: "Kitchen")
        #expect(Self.listed([], View(sinks: [Self.speakers, Self.headset, kitchen])).contains("Kitchen") == false)
    }

    @Test func aNameMeansASinkByTitleOrAddress() {
        for name in ["wh-1000xm4", "sink:bluez_output.AC_80_0A_11_22_33.1"] { #expect(Self.headset.isNamed(name)) }
        for name in ["WH", "sink:WH-1000XM4"] { #expect(!Self.headset.isNamed(name)) }
    }

    @Test(arguments: [
        ("plain", "\"plain\""), ("a\"b\\c", "\"a\\\"b\\\\c\""),
        ("x\"\u{301} } pcm.!y {", "\"x\\\"\u{301} } pcm.!y {\""),
        ("two\nlines", "\"twolines\""),
    ])
    func aNameCannotEndItsString(name: String, quoted: String) {
        #expect(Array(SinkAddress.quoted(name).unicodeScalars) == Array(quoted.unicodeScalars))
    }
}
