import AirPlayWire
import Discovery
import FuzzSupport
import Sockets

@testable import AirPlay
@testable import AirPlayTransport

/// Announcements, changes and withdrawals of services in any order: the directory is bounded and consistent with what
/// is announced, and a speaker selected by name is found.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDiscovery(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    var network = Network(limit: Int(input.byte()) % 120 + 1)
    // More steps would take seconds.
    for _ in 0..<100 where !input.isEmpty { network.step(&input) }
    network.checkList()
    return 0
}

/// A simulated network and the directory, which is updated as `SpeakerBrowser` does.
private struct Network {
    private let limit: Int
    private var directory: SpeakerDirectory
    /// The services in the directory, with their addresses once resolved.
    private var announced: [ServiceName: NetworkAddress?] = [:]
    private var shown: [DiscoveredSpeaker] = []
    private var refusals = 0
    private var wished = SpeakerRequests()
    /// Announcements so far that match the name of the selected speaker.
    private var namesakes = 0
    private var isHomeKnown = false

    private static let home = ServiceName(kind: .airPlay, instance: "Kitchen", interface: 2, family: .v4)
    private static let homeID = SpeakerID("A1B2C3D4E5F6")!
    private static let homeAddress = NetworkAddress("10.9.9.9")!

    init(limit: Int) {
        self.limit = limit
        directory = SpeakerDirectory(serviceLimit: limit)
    }

    mutating func step(_ input: inout FuzzInput) {
        let step = input.byte()
        switch step % 8 {
        case 0, 1: found(name(&input))
        case 2, 3:
            let name = name(&input)
            resolved(name, at: endpoint(&input), strings: strings(&input))
        case 4: lost(name(&input))
        case 5: flood(Int(input.byte()) % 100, from: endpoint(&input), kind: kind(step))
        case 6 where step & 8 != 0: clear()
        case 6: request(for: text(&input))
        default: if step & 8 == 0 { comeHome() } else { lost(Self.home) }
        }
        checkBounds()
        // Building the list takes most of the time; a browser does not build it for each event either.
        if step & 32 == 0 { checkList() }
    }

    // MARK: Events

    private mutating func found(_ name: ServiceName) {
        if name != Self.home, isNamesake(name) { namesakes += 1 }
        // A service is resolved by name alone only if it was selected by name.
        guard !name.isSought || wished.names.contains(name.instance) else { return }
        switch directory.found(name) {
        case .known: precondition(announced[name] != nil)
        case .admitted:
            precondition(announced[name] == nil)
            announced[name] = .some(nil)
        case .replacing(let old):
            precondition(announced[name] == nil && announced[old] != nil)
            announced[old] = nil
            announced[name] = .some(nil)
        case .refused: precondition(announced[name] == nil && announced.count >= limit)
        }
    }

    private mutating func resolved(_ name: ServiceName, at endpoint: NetworkEndpoint, strings: [[UInt8]]) {
        guard let record = try? TXTRecord(strings: strings) else { return }
        if name != Self.home, record["deviceid"].flatMap({ SpeakerID($0) }) == Self.homeID { namesakes += 1 }
        if directory.resolved(name, at: endpoint, record: record) {
            if announced[name] != nil, endpoint.address.isUnicast, endpoint.port != 0 {
                announced[name] = .some(endpoint.address)
            }
        } else {
            precondition(announced[name] != nil)
            announced[name] = nil
        }
    }

    private mutating func lost(_ name: ServiceName) {
        directory.lost(name)
        announced[name] = nil
        if name == Self.home { isHomeKnown = false }
    }

    private mutating func clear() {
        directory.clear()
        announced = [:]
        (namesakes, isHomeKnown) = (0, false)
    }

    private mutating func request(for name: String) {
        let wish = SpeakerRequests([.name(name)])
        wished.add(wish)
        directory.requests.add(wish)
        for name in wished.names.suffix(1) { found(.sought(.airPlay, name)) }
    }

    /// Announces many services at one address.
    private mutating func flood(_ count: Int, from endpoint: NetworkEndpoint, kind: ServiceName.Kind) {
        for number in 0..<count {
            let name = ServiceName(kind: kind, instance: "\(number)", interface: 3, family: .v4)
            found(name)
            resolved(name, at: endpoint, strings: [Array("deviceid=0000000000\(10 + number)".utf8)])
        }
    }

    /// Announces the speaker that was selected by name.
    private mutating func comeHome() {
        wished.add(SpeakerRequests([], ids: [Self.homeID]))
        let wish = SpeakerRequests([.name("Kitchen")], ids: [Self.homeID])
        wished.add(wish)
        directory.requests.add(wish)
        found(Self.home)
        let strings = [Array("deviceid=\(Self.homeID.description)".utf8)]
        resolved(Self.home, at: NetworkEndpoint(Self.homeAddress, port: 7000), strings: strings)
        // If many services claim the name, the right one may have been evicted. A full directory refuses it only if all
        // services are requested ones: by their names, or (namesakes) by the identifier in their records.
        isHomeKnown = announced[Self.home] != nil
        precondition(isHomeKnown || namesakes >= 16 || announced.keys.count { !isWished($0) } <= namesakes)
    }

    // MARK: Invariants

    private mutating func checkBounds() {
        let unresolved = announced.values.count { $0 == nil }
        precondition(directory.count == announced.count && directory.pending == unresolved)
        precondition(announced.count <= limit + wished.names.count, "what is kept is bounded")
        precondition(wished.names.count <= 32 && directory.refusals >= refusals)
        refusals = directory.refusals
        let sources = Dictionary(grouping: announced.filter { $0.value != nil && !isWished($0.key) }) { $0.value }
        precondition(sources.allSatisfy { $0.value.count <= SpeakerDirectory.sourceLimit + 1 + namesakes })
        precondition(!isHomeKnown || namesakes >= 16 || announced[Self.home] != nil, "who is named keeps its place")
    }

    mutating func checkList() {
        let speakers = directory.speakers
        precondition(speakers.count <= min(SpeakerDirectory.speakerLimit, announced.count))
        precondition(Set(speakers.map(\.key)).count == speakers.count, "a speaker is listed once")
        precondition(SpeakerChange.between(speakers, speakers).isEmpty)
        precondition(changed(shown, by: SpeakerChange.between(shown, speakers)) == Set(speakers))
        shown = speakers
        let entries = SpeakerEntry.entries(of: speakers)
        precondition(entries.count <= speakers.count)
        precondition(entries.allSatisfy { (1...2).contains($0.members.count) })
        if isHomeKnown, namesakes < 16 {
            precondition(speakers.contains { $0.id == Self.homeID && $0.name == "Kitchen" }, "who is named is found")
        }
        for speaker in speakers.prefix(8) {
            let decision = RouteDecision.decide(for: speaker, under: RouteConditions())
            precondition(!decision.reason.isEmpty)
            _ = try? SpeakerQuery.name(speaker.name).find(in: entries)
        }
    }

    private func changed(_ old: [DiscoveredSpeaker], by changes: [SpeakerChange]) -> Set<DiscoveredSpeaker> {
        var list = Dictionary(uniqueKeysWithValues: old.map { ($0.key, $0) })
        for change in changes {
            switch change {
            case .appeared(let speaker), .changed(let speaker): list[speaker.key] = speaker
            case .vanished(let speaker): list[speaker.key] = nil
            }
        }
        return Set(list.values)
    }

    private func isNamesake(_ name: ServiceName) -> Bool {
        name.components.name.lowercased() == "kitchen" || name.components.id == Self.homeID
    }

    private func isWished(_ name: ServiceName) -> Bool { wished.contain(name.components.name, name.components.id) }

    // MARK: Input

    private func kind(_ byte: UInt8) -> ServiceName.Kind { byte & 16 == 0 ? .airPlay : .raop }

    /// Returns a service name other than the selected one. There are few names, so that events often concern known
    /// services; some are arbitrary.
    private func name(_ input: inout FuzzInput) -> ServiceName {
        let choice = input.byte()
        let own = ["A", "a", "Kitchen", "KITCHEN", "A1B2C3D4E5F6@Kitchen", "0102030405FF@A", "\u{202E}A", "@"]
        let instance = choice < 200 ? own[Int(choice) % own.count] : text(&input)
        if choice & 32 != 0, choice < 200 { return .sought(.airPlay, instance) }
        return ServiceName(
            kind: kind(choice), instance: instance, interface: Int32(choice >> 6) + 3,
            family: choice & 8 == 0 ? .v4 : .v6)
    }

    private func text(_ input: inout FuzzInput) -> String {
        String(decoding: input.bytes(Int(input.byte()) % 64), as: UTF8.self)
    }

    private func endpoint(_ input: inout FuzzInput) -> NetworkEndpoint {
        let choice = input.byte()
        let bytes: [UInt8] =
            switch choice % 4 {
            case 0: [10, 0, 0, choice >> 2]
            case 1: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [choice >> 2]
            case 2: [choice, 0, 0, 1]
            default: [0xFF] + [UInt8](repeating: choice, count: 15)
            }
        return NetworkEndpoint(NetworkAddress(bytes: bytes, scope: 2)!, port: choice == 200 ? 0 : 7000)
    }

    private func strings(_ input: inout FuzzInput) -> [[UInt8]] {
        (0..<Int(input.byte()) % 12).map { _ in
            let choice = input.byte()
            let known = ["deviceid=A1B2C3D4E5F6", "tsid=1", "tsid=2", "pgid=g", "gid=g", "igl=0", "igl=1", "pw=1"]
            return choice < 128 ? Array(known[Int(choice) % known.count].utf8) : input.piece()
        }
    }
}
