import AirPlay
import AirPlayTransport
import AirPlayWire
import Discovery
import MediaCore
import Sockets
import Testing

@Suite struct SpeakerDirectoryTests {
    private func service(
        _ instance: String, _ kind: ServiceName.Kind = .airPlay, on interface: Int32 = 2,
        _ family: ServiceName.Family = .v4
    ) -> ServiceName {
        ServiceName(kind: kind, instance: instance, interface: interface, family: family)
    }

    private func record(_ strings: [String]) throws -> TXTRecord {
        try TXTRecord(strings: strings.map { Array($0.utf8) })
    }

    private func add(
        _ directory: inout SpeakerDirectory, _ name: ServiceName, at address: String, port: UInt16 = 7000,
        strings: [String]
    ) throws {
        _ = directory.found(name)
        let endpoint = NetworkEndpoint(try #require(NetworkAddress(address)), port: port)
        directory.resolved(name, at: endpoint, record: try record(strings))
    }

    @Test func bothServicesOfAReceiverAreOneSpeaker() throws {
        var directory = SpeakerDirectory()
        try add(&directory, service("Kitchen"), at: "10.0.0.9", strings: KnownSpeakers.shairportSync)
        try add(
            &directory, service("027700000001@Kitchen", .raop), at: "10.0.0.9", port: 5000,
            strings: ["am=Other", "ov=1"])
        let speaker = try #require(directory.speakers.first)
        #expect(directory.speakers.count == 1)
        #expect(speaker.id == SpeakerID("02:77:00:00:00:01"))
        #expect(speaker.traits.model == "ShairportSync")
        #expect(speaker.endpoints.map(\.port) == [7000])
        #expect(speaker.raopEndpoints.map(\.port) == [5000])
        directory.lost(service("Kitchen"))
        #expect(directory.speakers.map(\.endpoints) == [[]])
        directory.lost(service("027700000001@Kitchen", .raop))
        #expect(directory.speakers.isEmpty)
    }

    @Test func aConflictOfNamesDoesNotTearASpeakerApart() throws {
        var directory = SpeakerDirectory()
        try add(&directory, service("Kitchen #2"), at: "10.0.0.9", strings: ["deviceid=027700000001"])
        try add(&directory, service("027700000001@Kitchen", .raop), at: "10.0.0.9", port: 5000, strings: [])
        #expect(directory.speakers.map(\.name) == ["Kitchen #2"])
    }

    @Test func twoReceiversThatClaimOneIdStayTwo() throws {
        var directory = SpeakerDirectory()
        for (name, address) in [("A", "10.0.0.1"), ("B", "10.0.0.2")] {
            try add(&directory, service(name), at: address, strings: ["deviceid=027700000001"])
            try add(&directory, service("027700000001@\(name)", .raop), at: address, port: 5000, strings: [])
        }
        #expect(directory.speakers.map(\.name) == ["A", "B"])
        #expect(directory.speakers.map { $0.raopEndpoints.count } == [1, 1])
    }

    @Test func ipv4ComesFirstAndLinkLocalIPv6Last() throws {
        var directory = SpeakerDirectory()
        let addresses = ["::1", "fe80::1", "fd00::1", "169.254.1.1", "127.0.0.1", "10.0.0.9"]
        for (index, address) in addresses.enumerated() {
            try add(&directory, service("K", on: Int32(index)), at: address, strings: ["deviceid=027700000001"])
        }
        #expect(
            directory.speakers.first?.endpoints.map(\.address.description) == [
                "10.0.0.9", "169.254.1.1", "fd00::1", "fe80::1", "127.0.0.1", "::1",
            ])
    }

    @Test func missingGroupHintsAreKeptAndChangedOnesReplaced() throws {
        var directory = SpeakerDirectory()
        func hints() -> GroupHints? { directory.speakers.first?.traits.group }
        try add(
            &directory, service("K"), at: "10.0.0.9", strings: ["deviceid=027700000001", "tsid=T", "gid=G", "gpn=Pair"])
        try add(&directory, service("K"), at: "10.0.0.9", strings: ["deviceid=027700000001", "flags=0x4"])
        #expect(hints()?.stereoPair == "T")
        try add(&directory, service("K"), at: "10.0.0.9", strings: ["deviceid=027700000001", "gid=H"])
        #expect(hints()?.stereoPair == nil)
    }

    @Test func namesCannotReachTheTerminalWithControlCharacters() throws {
        var directory = SpeakerDirectory()
        try add(&directory, service("a\u{1B}[2Jb\u{202E}\n"), at: "10.0.0.9", strings: ["model=\u{07}x", "gpn=\r"])
        let speaker = try #require(directory.speakers.first)
        #expect(speaker.name == "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}")
        #expect(speaker.traits.model == "\u{FFFD}x")
        #expect(speaker.traits.group.name == "\u{FFFD}")
    }

    @Test func addressesAndPortsThatLeadNowhereAreIgnored() throws {
        var directory = SpeakerDirectory()
        for (address, port) in [
            ("0.0.0.0", 7000), ("224.0.0.1", 7000), ("ff02::1", 7000), ("::", 7000), ("10.0.0.9", 0),
        ]
            as [(String, UInt16)]
        {
            try add(&directory, service("K"), at: address, port: port, strings: [])
        }
        #expect(directory.speakers.isEmpty)
        #expect(directory.pending == 1)
    }

    @Test func aFullDirectoryGivesUpTheOldestThatHasNoAddress() throws {
        var directory = SpeakerDirectory()
        try add(&directory, service("real"), at: "10.0.0.9", strings: ["deviceid=027700000001"])
        for index in 1..<SpeakerDirectory.serviceLimit {
            #expect(directory.found(service("ghost \(index)")) == .admitted)
        }
        #expect(directory.found(service("ghost 1")) == .known)
        #expect(directory.found(service("one more")) == .replacing(service("ghost 1")))
        #expect(directory.count == SpeakerDirectory.serviceLimit)
        #expect(directory.speakers.map(\.name) == ["real"])
        #expect(directory.refusals == 1)
    }

    @Test func aDirectoryFullOfAnswersTakesNoMoreAndListsTheFirst() throws {
        var directory = SpeakerDirectory()
        for index in 0..<SpeakerDirectory.serviceLimit {
            try add(&directory, service("s\(index)"), at: "10.0.\(index / 250).\(index % 250 + 1)", strings: [])
        }
        #expect(directory.found(service("one more")) == .refused)
        let names = Set(directory.speakers.map(\.name))
        #expect(names == Set((0..<SpeakerDirectory.speakerLimit).map { "s\($0)" }))
    }

    /// Returns a directory with thousands of forged services, each resolved at a separate address, before the real ones
    /// are announced.
    private func flooded(_ wishes: SpeakerRequests) throws -> SpeakerDirectory {
        var directory = SpeakerDirectory()
        directory.requests = wishes
        for index in 0..<2000 {
            try add(&directory, service("ghost \(index)"), at: "10.1.\(index / 250).\(index % 250 + 1)", strings: [])
        }
        return directory
    }

    @Test func aSpeakerThatIsAskedForOrPairedIsFoundAmongThousandsOfForgedOnes() throws {
        let paired = try #require(SpeakerID("027700000002"))
        var directory = try flooded(
            SpeakerRequests([.name("kitchen"), .id(SpeakerID("027700000003")!)], ids: [paired]))
        try add(&directory, service("Kitchen"), at: "10.0.0.9", strings: ["deviceid=027700000001"])
        try add(&directory, service("027700000002@Den", .raop), at: "10.0.0.8", port: 5000, strings: [])
        try add(&directory, service("027700000003@Bath", .raop), at: "10.0.0.7", port: 5000, strings: [])
        #expect(directory.count == SpeakerDirectory.serviceLimit)
        #expect(directory.speakers.count == SpeakerDirectory.speakerLimit)
        #expect(Set(directory.speakers.map(\.name)).isSuperset(of: ["Kitchen", "Den", "Bath"]))
        // Later forged services do not evict them either.
        for index in 0..<2000 { _ = directory.found(service("late \(index)")) }
        #expect(Set(directory.speakers.map(\.name)).isSuperset(of: ["Kitchen", "Den", "Bath"]))
    }

    @Test func strangersUnderAWishedNameDoNotFillTheDirectory() throws {
        var directory = try flooded(SpeakerRequests([.name("kitchen")]))
        for index in 0..<200 { _ = directory.found(service("Kitchen", on: Int32(index))) }
        #expect(directory.pending <= 16)
        try add(&directory, .sought(.airPlay, "kitchen"), at: "10.0.0.9", strings: ["deviceid=027700000001"])
        #expect(directory.speakers.contains { $0.id == SpeakerID("027700000001") })
    }

    @Test func strangersUnderAWishedIDDoNotFillTheDirectory() throws {
        let paired = try #require(SpeakerID("027700000002"))
        var directory = SpeakerDirectory()
        for index in 0..<SpeakerDirectory.serviceLimit {
            _ = directory.found(service("027700000002@ghost \(index)", .raop))
        }
        // Also if the name is selected after the forged services were announced.
        directory.requests = SpeakerRequests([.name("Kitchen")], ids: [paired])
        for index in 0..<2000 { _ = directory.found(service("027700000002@late \(index)", .raop)) }
        try add(&directory, service("Kitchen"), at: "10.0.0.9", strings: ["deviceid=027700000001"])
        #expect(directory.count == SpeakerDirectory.serviceLimit)
        #expect(directory.speakers.map(\.name) == ["Kitchen"])
    }

    @Test func oneAddressHasNoMoreThanItsShare() throws {
        var directory = SpeakerDirectory()
        directory.requests = SpeakerRequests([.name("Wanted")])
        for index in 0..<2000 { try add(&directory, service("ghost \(index)"), at: "10.0.0.66", strings: []) }
        #expect(directory.count == SpeakerDirectory.sourceLimit && directory.refusals == 2000 - directory.count)
        try add(&directory, service("Other"), at: "10.0.0.9", strings: [])
        try add(&directory, service("Wanted"), at: "10.0.0.66", strings: [])
        #expect(Set(directory.speakers.map(\.name)).isSuperset(of: ["Other", "Wanted"]))
        // A withdrawn service frees its entry, and a service that moves counts at its new address.
        directory.lost(service("ghost 1"))
        directory.lost(service("Wanted"))
        try add(&directory, service("ghost 0"), at: "10.0.0.67", strings: [])
        try add(&directory, service("late"), at: "10.0.0.66", strings: [])
        #expect(directory.speakers.contains { $0.name == "late" })
    }

    @Test func eachAddressIsListedBeforeTheSecondSpeakerOfAny() throws {
        var directory = SpeakerDirectory()
        for host in 1...10 {
            for index in 0..<SpeakerDirectory.sourceLimit {
                try add(&directory, service("ghost \(host) \(index)"), at: "10.0.1.\(host)", strings: [])
            }
        }
        try add(&directory, service("real"), at: "10.0.0.9", strings: [])
        #expect(directory.speakers.count == SpeakerDirectory.speakerLimit)
        #expect(directory.speakers.contains { $0.name == "real" })
    }

    @Test func whatWasAskedForByNameIsTheSpeakerThatIsAnnounced() throws {
        for isSoughtFirst in [true, false] {
            var directory = SpeakerDirectory()
            let names = [ServiceName.sought(.airPlay, "KITCHEN"), service("Kitchen")]
            for name in isSoughtFirst ? names : names.reversed() {
                try add(&directory, name, at: "10.0.0.9", strings: ["deviceid=027700000001"])
            }
            #expect(directory.speakers.map(\.name) == ["Kitchen"])
            directory.lost(names[1])
            #expect(directory.speakers.map(\.name) == ["KITCHEN"])
        }
    }
}

@Suite struct SpeakerEntryTests {
    private func speaker(_ name: String, _ id: Int, _ strings: [String] = []) throws -> DiscoveredSpeaker {
        let digits = String(id, radix: 16)
        return DiscoveredSpeaker(
            id: SpeakerID("0200000000" + String(repeating: "0", count: 2 - digits.count) + digits), name: name,
            traits: try KnownSpeakers.traits(strings),
            endpoints: [NetworkEndpoint(NetworkAddress("10.0.0.\(id)")!, port: 7000)])
    }

    @Test func aPairIsOneEntryNamedByItsGroup() throws {
        let left = try speaker("Left", 2, ["tsid=T", "gpn=Den", "igl=0"])
        let right = try speaker("Right", 1, ["tsid=T", "gpn=Den", "igl=1"])
        let entries = SpeakerEntry.entries(of: [left, right, try speaker("Solo", 3)])
        #expect(entries.map(\.name) == ["Den", "Solo"])
        #expect(entries[0].members.map(\.name) == ["Right", "Left"])
        #expect(entries[0].leader.name == "Right")
        let half = SpeakerEntry.entries(of: [left])
        #expect(half.map(\.kind) == [.stereoPair])
        #expect(!half[0].isComplete)
    }

    @Test func aThirdThatClaimsThePairBreaksIt() throws {
        let all = try (1...3).map { try speaker("S\($0)", $0, ["tsid=T"]) }
        #expect(SpeakerEntry.entries(of: all).map(\.kind) == [.single, .single, .single])
    }

    @Test func defaultOutputsOfAnAppleTVHideBehindItOnlyWhileItIsThere() throws {
        let television = try speaker("TV", 1, ["gid=P", "igl=1"])
        let pod = try speaker("Pod", 2, ["gid=P", "pgid=P", "igl=0"])
        let entries = SpeakerEntry.entries(of: [pod, television])
        #expect(entries.map(\.name) == ["TV"])
        #expect(entries[0].hidden.map(\.name) == ["Pod"])
        #expect(SpeakerEntry.entries(of: [pod]).map(\.name) == ["Pod"])
    }

    @Test func namesAreFoundWithoutCaseAndIdsInEveryForm() throws {
        let entries = SpeakerEntry.entries(
            of: [
                try speaker("Left", 1, ["tsid=T", "gpn=Den"]), try speaker("Right", 2, ["tsid=T", "gpn=Den"]),
                try speaker("Kitchen", 3), try speaker("Twin", 4), try speaker("twin", 5),
            ])
        #expect(try SpeakerQuery("KITCHEN").find(in: entries)?.name == "Kitchen")
        #expect(try SpeakerQuery("020000000003").find(in: entries)?.name == "Kitchen")
        #expect(try SpeakerQuery("left").find(in: entries)?.name == "Den")
        #expect(try SpeakerQuery("02-00-00-00-00-01").find(in: entries)?.members.map(\.name) == ["Left"])
        #expect(try SpeakerQuery("Attic").find(in: entries) == nil)
        let error = #expect(throws: DiscoveryError.self) { try SpeakerQuery("Twin").find(in: entries) }
        #expect(error?.code == .ambiguous)
        #expect(error?.message.contains("02:00:00:00:00:05") == true)
    }
}
