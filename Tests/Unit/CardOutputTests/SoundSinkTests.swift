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
        view.streams = streams.enumerated().map {
            View.Stream(index: UInt32($0.offset), sink: $0.element.sink, properties: $0.element.properties)
        }
        return view
    }

    @Test func theSinkIsTheOneOurStreamPlaysOn() {
        let view = Self.view([(1, [Property.process: "7"]), (2, Self.ours)])
        #expect(view.knowledge?.sink?.title == "WH-1000XM4")
    }

    @Test func sameProcessNumberOfAnotherMachineIsNotOurs() {
        var other = Self.ours
        other[Property.machine] = "m2"
        #expect(Self.view([(1, other)]).knowledge == nil)
        // A property that one side lacks is no mismatch: PipeWire's own clients report fewer.
        #expect(Self.view([(1, [Property.process: "42"])]).knowledge?.sink?.title == "Built-in Audio")
    }

    @Test func aServerWithoutOurStreamNamesNoSink() {
        var view = Self.view([(1, [:])])
        view.own = [:]
        #expect(view.knowledge == nil)
    }

    @Test func streamsOnTwoSinksLeaveItOpen() {
        let knowledge = Self.view([(1, Self.ours), (2, Self.ours)]).knowledge
        #expect(knowledge != nil && knowledge?.sink == nil)
    }

    @Test func aStreamWithoutASinkNamesNone() {
        #expect(Self.view([(.max, Self.ours)]).knowledge == nil)
        #expect(Self.view([(.max, Self.ours), (1, Self.ours)]).knowledge?.sink?.title == "Built-in Audio")
    }

    @Test(arguments: [
        [Property.deviceClass: "filter"], [Property.master: "x"], [Property.linkGroup: "filter-chain-1"],
        [Property.factory: "support.null-audio-sink"],
    ])
    func aFilterIsNoFinalSink(properties: [String: String]) {
        let filter = View.Sink(index: 3, name: "equalizer", title: "Equalizer", properties: properties)
        let knowledge = Self.view([(3, Self.ours)], sinks: [filter]).knowledge
        #expect(knowledge != nil && knowledge?.sink == nil)
    }

    @Test func bluetoothIsKnownByItsAddressWhateverTheServerCallsIt() {
        let old = View.Sink(
            index: 1, name: "bluez_sink.AC_80_0A_11_22_33.a2dp_sink", title: "x",
            properties: [Property.api: "bluez", Property.deviceString: "AC:80:0A:11:22:33"])
        let bare = View.Sink(index: 1, name: "bluez_output.ac_80_0a_11_22_33.a2dp-sink", title: "x")
        for sink in [Self.headset, old, bare] { #expect(sink.sink(at: nil).key == "bluetooth-AC800A112233") }
        var telephone = old
        telephone.properties[Property.protocol] = "headset_head_unit"
        #expect(telephone.sink(at: nil).key == "bluetooth-AC800A112233-headset")
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
        let keys = sinks.map { $0.sink(at: nil).key } + sinks.map { $0.sink(at: "attic").key }
        #expect(Set(keys).count == keys.count)
        for key in keys {
            #expect(key.utf8.count <= 64)
            #expect(key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        }
        #expect(AudioSink.hardware(id: "PCH", device: 3, title: "").key == "hw-PCH-3")
    }

    // MARK: Changes

    @Test func betweenTwoStreamsTheBeliefStays() {
        var belief = SinkBelief()
        #expect(belief.knowledge.sink == nil)
        belief.update(Self.view([(2, Self.ours)]))
        belief.update(Self.view([]))
        #expect(belief.knowledge.sink?.title == "WH-1000XM4")
        belief.update(Self.view([(1, Self.ours)]))
        #expect(belief.knowledge.sink?.title == "Built-in Audio")
    }

    @Test func aLostServerNamesNoSink() {
        var belief = SinkBelief()
        belief.update(Self.view([(2, Self.ours)]))
        belief.update(nil)
        #expect(belief.knowledge.sink == nil)
    }
}
