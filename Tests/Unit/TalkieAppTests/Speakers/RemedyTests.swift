import AirPlayWire
import MediaCore
import PTP
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Storage
@testable import TalkieApp

/// The remedy for a speaker's problem is a value; the application provides the text.
@Suite struct RemedyTests {
    private let folder = TemporaryFolder()

    private func said(_ problem: String, _ remedy: Remedy) -> String {
        TalkieError(.failed, problem, remedy: remedy).saying(RemedyPhrases.commands.inErrors).message
    }

    /// Scripts and manuals depend on these sentences.
    @Test func theProgramNamesItsCommands() {
        #expect(said("A is shy", .pairByPIN("Box")) == "A is shy; run `talkie pair 'Box'` once")
        #expect(said("A is shy.", .pairByPIN()) == "A is shy; run `talkie pair` once and type its PIN.")
        #expect(said("A is shy.", .pair) == "A is shy: `talkie pair`.")
        #expect(said("A forgot.", .pairAgain()) == "A forgot; pair it again with `talkie pair`.")
        #expect(said("A is shut", .enterPassword("Box")) == "A is shut; run `talkie pair 'Box'` once")
        #expect(said("A is shut.", .enterPassword()) == "A is shut; set it once with `talkie pair`.")
        #expect(said("A shakes.", .correctPassword) == "A shakes; check it and enter it with `talkie pair`.")
        #expect(said("Found was A.", .listOutputs) == "Found was A (see `talkie speakers`).")
        #expect(
            said("A is deaf.", .checkFirewall)
                == "A is deaf; a firewall may block its messages (see `talkie doctor`).")
        #expect(
            said("A is deaf.", .chooseRoute(.only(.realtimeNTP), of: "Box"))
                == "A is deaf; a firewall may block its messages (see `talkie doctor`); otherwise try another route with "
                + "`talkie play FILM --speaker 'Box;route=ntp'`.")
        #expect(
            said("A is deaf.", .resetRoute(of: "Box"))
                == "A is deaf; only this route was requested; `talkie play FILM --speaker 'Box;route=auto'` tries all.")
    }

    @Test(arguments: Route.all) func theWordOfARouteIsOneThatUsersGive(_ route: Route) throws {
        let wish = SpeakerPreferences.RouteRequest.only(route)
        #expect(try SpeakerPreferences.RouteRequest(parsing: wish.option) == wish)
    }

    @Test func aChangeOfOutputsIsReportedInTheProgramsTerms() {
        let error = OutputError(.unavailable, "A is deaf.", remedy: .checkFirewall)
        let refusal = RouteChange.Refusal(output: "A", error: error)
        #expect(refusal.description == "'A': A is deaf; a firewall may block its messages.")
        // The text is added only once.
        for change in [RouteChange.refused([refusal]), .changed(at: nil, without: [refusal])] {
            switch change.saying(RemedyPhrases.commands.inErrors).saying(RemedyPhrases.commands.inErrors) {
            case .refused(let refusals), .changed(_, let refusals):
                #expect(
                    refusals.map(\.error.message) == [
                        "A is deaf; a firewall may block its messages (see `talkie doctor`)."
                    ])
            case .superseded: Issue.record("it is another change")
            }
        }
    }

    @Test func anApplicationThatDoesNotKnowAnActionShowsItsAdvice() {
        let remedy = Remedy(Remedy.Action(rawValue: "knock"), outputName: "Box", advice: "knock three times")
        #expect(said("The door is shut.", remedy) == "The door is shut; knock three times.")
    }

    @Test func theLibraryItselfNamesNoCommand() throws {
        let network = ScriptedNetwork.listing(
            .announced("Bath", "flags=0x204"), .announced("Den", id: "02:00:00:00:00:02", "flags=0x84"))
        let knowledge = SpeakerKnowledge(folder: StateFolder(path: folder.path))
        let provider = AirPlayProvider(knowledge: knowledge)
        let places = provider.offer(network).destinations
        #expect(places.compactMap(\.obstacle).count == 2)
        for place in places {
            let error = try #require(throws: TalkieError.self) { try provider.outputs(at: place) }
            #expect(error.code == .notPermitted && error.remedy?.outputName == place.name)
            for words in [place.obstacle ?? "", error.message] { #expect(!words.contains("talkie"), "\(words)") }
        }
    }

    @Test func aProviderSpeaksInTheWordsOfItsApplication() throws {
        let network = ScriptedNetwork.listing(
            .announced("Bath", "flags=0x204"), .announced("Den", id: "02:00:00:00:00:02", "flags=0x84"))
        let provider = AirPlayProvider(
            knowledge: SpeakerKnowledge(folder: StateFolder(path: folder.path)), saying: .commands)
        let places = provider.offer(network).destinations
        #expect(
            places.map(\.obstacle) == [
                "must be paired first; select it to enter its PIN",
                "must be paired first; select it to enter its password",
            ])
        let bath = try #require(throws: TalkieError.self) { try provider.outputs(at: places[0]) }
        #expect(bath.message == "'Bath' plays only for paired senders; run `talkie pair 'Bath'` once")
        let den = try #require(throws: TalkieError.self) { try provider.outputs(at: places[1]) }
        #expect(den.message == "'Den' requires its password; run `talkie pair 'Den'` once")
    }

    @Test func aSessionThatIsRefusedKeepsTheRemedyUnderTheSpeakersName() throws {
        var traits = SpeakerTraits()
        traits.status = .pinRequired
        var procedure = PairingProcedure(
            .session(stored: nil, password: nil), identity: .generate(identifier: "x"), traits: traits)
        let error = try #require(throws: AirPlayError.self) { try procedure.begin() }
        #expect(!error.message.contains("talkie"))
        #expect(error.code == .pairingRequired && error.remedy?.action == .pairByPIN)
        let described = TalkieError(error).saying(RemedyPhrases.commands.inErrors)
        #expect(
            described.message
                == "The speaker plays only for paired senders; run `talkie pair` once and type its PIN."
        )
        var configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.1", port: 7000), identity: .random(name: "x"))
        configuration.phrases = .commands
        let speaker = AirPlaySpeaker(
            name: "Box", configuration: configuration, clocks: PTPDirectory(identity: configuration.identity.clock))
        let output = speaker.outputError(error)
        #expect(output.code == .notPermitted && output.remedy?.action == .pairByPIN)
        #expect(
            output.message == "'Box' plays only for paired senders; run `talkie pair` once and type its PIN.")
    }

    @Test func whatWasFoundInsteadPointsToTheList() throws {
        let network = ScriptedNetwork((.zero, ScriptedNetwork.listing(.announced("Bath"))))
        let knowledge = SpeakerKnowledge(folder: StateFolder(path: folder.path))
        let selection = SpeakerSelection(
            knowledge: knowledge, clock: network.clock, browse: { network },
            inquire: { (_, _) throws(AirPlayError) in throw AirPlayError(.unreachable, "nobody.") })
        func message(_ provider: AirPlayProvider) throws -> String {
            try #require(throws: TalkieError.self) { try provider.find(["Attic"], selection) }.message
        }
        let words = "No speaker named 'Attic' is on the network; available: 'Bath'"
        #expect(try message(AirPlayProvider(knowledge: knowledge)) == words + "; see the list of speakers.")
        #expect(
            try message(AirPlayProvider(knowledge: knowledge, saying: .commands))
                == words + " (see `talkie speakers`).")
    }
}
