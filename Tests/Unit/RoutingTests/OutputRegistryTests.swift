import AirPlay
import CardOutput
import ClassicAirPlay
import MediaCore
import Playback
import Profiles
import Routing
import SyncRendering
import TalkieTestKit
import Testing

/// A new kind of output needs only a provider.
@Suite struct OutputRegistryTests {
    private let attic = RecordingOutput()
    private let shed = RecordingOutput()

    private func toys(_ obstacle: String? = nil) -> ToyProvider {
        ToyProvider(["attic": attic, "shed": shed], present: ["attic"], obstacle: obstacle)
    }

    @Test func aNameGoesToTheProviderThatAnswersToIt() throws {
        let registry = OutputRegistry([SoundCardProvider(), toys(), AirPlayProvider()])
        let places = try registry.destinations(named: ["toy:shed", "local", "toy:attic", "toy:shed"])
        #expect(places.map(\.id) == ["toy:shed", "toy:attic", "local"])
        let outputs = try registry.outputs(at: Array(places.prefix(2)) + [places[0]])
        #expect(outputs.count == 2 && outputs[0] === shed && outputs[1] === attic)
    }

    @Test func theOrderOfRegistrationHasNoMeaning() throws {
        let providers: [any OutputProvider] = [
            AirPlayProvider(), toys(), ClassicAirPlayProvider(), SoundCardProvider(),
        ]
        for registry in [OutputRegistry(providers), OutputRegistry(providers.reversed())] {
            #expect(try registry.destinations(named: ["attic", "local"]).map(\.provider) == ["toy", "soundcard"])
            #expect(registry.notes.isEmpty)
            let error = try #require(throws: TalkieError.self) { try registry.destinations(named: ["tape://Deck"]) }
            #expect(error.code == .invalidArgument && error.message.contains("no output matches 'tape://Deck'"))
        }
        #expect(AirPlayProvider().match("airplay://10.0.0.7") == .certain)
        #expect(AirPlayProvider().match("Kitchen") == .possible && AirPlayProvider().match("local") == .none)
    }

    @Test func placesAreRequestedWithTracks() throws {
        let registry = OutputRegistry([toys()])
        func route(_ requests: AudioRoute.Request...) throws(TalkieError) -> AudioRoute {
            try AudioRoute(to: requests, in: registry) { _ in }
        }
        let divided = try route(.init("toy:attic", choice: .language("de")), .init("toy:shed"))
        #expect(divided.destinations.map(\.id) == ["toy:attic", "toy:shed"])
        #expect(divided.tracks == ["toy:attic": .language("de")])
        #expect(divided.output.members.count == 1 && divided.output.members[0] === shed)
        #expect(attic.state.withLock { $0.openings } == 1, "opened ahead like the others")
        let each = try route(.init("toy:attic", choice: .language("de")), .init("toy:shed", choice: .language("en")))
        #expect(each.output.members.count == 1 && each.output.members[0] === attic)
        let error = try #require(throws: TalkieError.self) {
            try route(.init("toy:attic", choice: .language("de")), .init("attic"))
        }
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("'attic' is requested with several sound tracks or parts"))
        let parts = try route(
            .init("toy:attic", choice: .language("de"), channels: .right), .init("toy:shed", channels: .left))
        #expect(parts.output.members.count == 1 && parts.output.channels(of: shed) == .left)
        #expect(parts.output.channels(of: attic) == .right, "also of the output with a track of its own")
        #expect(throws: TalkieError.self) { try route(.init("toy:attic", channels: .left), .init("attic")) }
    }

    /// A provider of a device by one protocol.
    private final class DeviceProvider: OutputProvider {
        let name: String
        private let output = RecordingOutput()
        private let failure: TalkieError?
        private let obstacle: String?
        private let isKnown: Bool
        /// The only device of `failure`; nil: all.
        private let failing: String?
        /// The searches so far.
        let searches = Lock<[[String]]>([])

        init(
            _ name: String, failure: TalkieError? = nil, of failing: String? = nil, obstacle: String? = nil,
            isKnown: Bool = true
        ) {
            (self.name, self.failure, self.obstacle, self.isKnown) = (name, failure, obstacle, isKnown)
            self.failing = failing
        }

        private var place: OutputDestination {
            OutputDestination(provider: name, id: "01", name: "Box", kind: .speaker, obstacle: obstacle)
        }
        func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
            report(OutputOffer(destinations: [place]))
        }
        func match(_ name: String) -> NameMatch { .possible }
        func find(
            _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
        ) throws(TalkieError) -> [OutputDestination] {
            searches.withLock { $0.append(names) }
            if let failure, failing.map({ names.contains($0) }) ?? true { throw failure }
            guard isKnown else { return [] }
            return names.map { OutputDestination(provider: name, id: $0, name: $0, kind: .speaker) }
        }
        func outputs(at place: OutputDestination) throws(TalkieError) -> [any AudioOutput] {
            if let failure { throw failure }
            return [output]
        }
        func identity(of output: any AudioOutput) -> OutputIdentity? {
            output === self.output ? OutputIdentity(key: "01", name: name, query: "Box", route: name) : nil
        }
    }

    @Test func aDeviceThatOneProtocolCannotUseIsPlayedToByTheNext() throws {
        let gone = TalkieError(.unsupported, "no newer protocol")
        let registry = OutputRegistry([DeviceProvider("new", failure: gone), DeviceProvider("old")])
        let place = try #require(try registry.destinations(named: ["Box"]).first)
        #expect(place.provider == "old" && place.id == "Box")
        #expect(registry.identity(of: try registry.outputs(at: place)[0])?.route == "old")
        let offered = OutputDestination(provider: "new", id: "01", name: "Box", kind: .speaker)
        #expect(registry.identity(of: try registry.outputs(at: offered)[0])?.route == "old")
    }

    @Test func ofSeveralNamesEachIsPlayedToByTheFirstProtocolThatCan() throws {
        let new = DeviceProvider("new", failure: TalkieError(.unsupported, "no newer protocol"), of: "Old")
        let places = try OutputRegistry([new, DeviceProvider("old")]).destinations(named: ["Old", "New"])
        #expect(places.map(\.id) == ["Old", "New"] && places.map(\.provider) == ["old", "new"])
    }

    @Test func aMissingDeviceIsWaitedForOnce() throws {
        let new = DeviceProvider("new", failure: TalkieError(.unavailable, "there is none"))
        let registry = OutputRegistry([new, DeviceProvider("old", isKnown: false)])
        for names in [["Box"], ["Box", "Shelf"]] {
            new.searches.withLock { $0 = [] }
            #expect(throws: TalkieError(.unavailable, "there is none")) { try registry.destinations(named: names) }
            #expect(new.searches.withLock { $0 } == [names])
        }
    }

    @Test func aDeviceOfDoubtfulIdentityIsNotPlayedToByAnotherProtocol() throws {
        let doubted = TalkieError(.notPermitted, "another speaker")
        let registry = OutputRegistry([DeviceProvider("new", failure: doubted), DeviceProvider("old")])
        let error = try #require(throws: TalkieError.self) { try registry.destinations(named: ["Box"]) }
        #expect(error == doubted)
        let offered = OutputDestination(provider: "new", id: "01", name: "Box", kind: .speaker)
        #expect(throws: doubted) { try registry.outputs(at: offered) }
    }

    @Test(arguments: [TalkieError.Code.unavailable, .failed])
    func aDeviceInUseIsNotTakenByAnotherProtocol(code: TalkieError.Code) throws {
        let busy = TalkieError(code, "another sender plays on it")
        let registry = OutputRegistry([DeviceProvider("new", failure: busy), DeviceProvider("old")])
        #expect(throws: busy) { try registry.destinations(named: ["Box"]) }
        let offered = OutputDestination(provider: "new", id: "01", name: "Box", kind: .speaker)
        #expect(throws: busy) { try registry.outputs(at: offered) }
    }

    @Test func theProtocolThatTriedLastSaysWhyADeviceCannotBeUsed() throws {
        let gone = TalkieError(.unsupported, "no newer protocol")
        let refused = TalkieError(.notPermitted, "requires its password")
        var registry = OutputRegistry([DeviceProvider("new", failure: gone), DeviceProvider("old", failure: refused)])
        #expect(throws: refused) { try registry.destinations(named: ["Box"]) }
        registry = OutputRegistry([DeviceProvider("new", failure: gone), DeviceProvider("old", isKnown: false)])
        let error = try #require(throws: TalkieError.self) { try registry.destinations(named: ["Box"]) }
        #expect(error.code == .unavailable && error.message == gone.message)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [(nil, "new"), ("asleep", "old")] as [(String?, String)])
    func oneDeviceIsOnePlace(obstacle: String?, provider: String) async {
        let registry = OutputRegistry([DeviceProvider("new", obstacle: obstacle), DeviceProvider("old")])
        let detector = RouteDetector(registry)
        for await offer in detector.offers where offer.destinations.map(\.provider) == [provider] { break }
        detector.stop()
        #expect(detector.offer.destinations.map(\.id) == ["01"])
    }

    @Test func anUnknownNameIsReported() throws {
        let registry = OutputRegistry([SoundCardProvider(), toys()])
        let error = try #require(throws: TalkieError.self) { try registry.destinations(named: ["Kitchen"]) }
        #expect(error.code == .invalidArgument && error.message.contains("'Kitchen'"))
        let gone = try #require(throws: TalkieError.self) { try registry.destinations(named: ["toy:cellar"]) }
        #expect(gone.code == .unavailable)
        let foreign = OutputDestination(provider: "other", id: "x", name: "X", kind: .speaker)
        let unknown = try #require(throws: TalkieError.self) { try registry.outputs(at: foreign) }
        #expect(unknown.code == .unavailable)
    }

    @Test(.timeLimit(.minutes(10))) func itsPlacesAreOfferedBesideTheOthersAsTheyCome() async {
        let toys = toys()
        let known = SoundCardProvider().thisComputer
        let detector = RouteDetector(OutputRegistry([toys]), known: [known])
        for await offer in detector.offers where offer.destinations.map(\.id) == ["toy:attic"] { break }
        toys.appear("shed")
        for await offer in detector.offers where offer.hasSeveral { break }
        #expect(detector.offer.destinations.map(\.id) == ["toy:attic", "toy:shed"])
        detector.stop()
        var rest = 0
        for await _ in detector.offers { rest += 1 }
        #expect(rest == 1, "the last offer, and then the end")
    }

    @Test func knownOutputsAreListedUntilADiscovery() {
        let known = SoundCardProvider().thisComputer
        let silent = SilentProvider()
        let detector = RouteDetector(OutputRegistry([silent]), known: [known])
        #expect(detector.offer.destinations == [known])
        detector.stop()
    }

    @Test func calibrationsKnowItsOutputsAndMoveThem() throws {
        let registry = OutputRegistry([SoundCardProvider(), toys()])
        let identity = try #require(registry.identity(of: shed))
        #expect(identity.key == "toy-shed")
        #expect(registry.identity(of: RecordingOutput()) == nil)
        var profile = LatencyProfile(
            key: LatencyProfile.Key(speaker: identity.key, screen: "", mode: "", route: identity.route),
            speakerName: "shed")
        profile.offset = 40
        let profiles = [profile]
        let group = OutputGroup(members: [attic, shed], codecs: FloatCodecs())
        let calibration = RouteCalibration(group, identify: { registry.identity(of: $0) }, profiles: { profiles })
        let parts = calibration.apply()
        #expect(parts.map(\.speaker.key) == ["toy-attic", "toy-shed"])
        #expect(parts.map(\.use.correction) == [.zero, .milliseconds(-40)])
    }
}

/// A provider that never reports anything.
private final class SilentProvider: OutputProvider {
    let name = "silent"
    func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        let over = Signal()
        interruption.onRaise { over.raise() }
        over.wait()
    }
    func match(_ name: String) -> NameMatch { .none }
    func find(_: [String], until: Interruption, notice: @escaping (String) -> Void) -> [OutputDestination] { [] }
    func outputs(at place: OutputDestination) -> [any AudioOutput] { [] }
    func identity(of output: any AudioOutput) -> OutputIdentity? { nil }
}
