import Foundation
import Remote
import Talkie

/// Plays files as a program of a desktop: with media keys, a list of outputs, and responses to interruptions. usage:
/// SessionDemo [--music] FILE...
///
/// Lines of standard input are commands: `outputs` lists the outputs, `output N` plays on one, `call` and `hangup`
/// begin and end an interruption, `position` states the position, `play`, `pause` and `quit`.
@main struct SessionDemo {
    /// What other threads post to the main task.
    enum Event: Sendable {
        case player(PlayerEvent)
        case routes(RouteController.Event)
        case command(String)
    }

    static func main() async throws {
        var words = Array(CommandLine.arguments.dropFirst())
        let isMusic = words.first == "--music"
        if isMusic { words.removeFirst() }
        guard !words.isEmpty else {
            say("usage: SessionDemo [--music] FILE...")
            exit(2)
        }
        let (events, inbox) = AsyncStream<Event>.makeStream()

        // Music becomes quieter during a call, a film pauses. Without outputs both continue on this computer.
        var options = PlayerOptions()
        options.playsVideo = false
        options.session = PlaybackSession(contentKind: isMusic ? .music : .film, lostRoutePolicy: .local)
        let registry = OutputRegistry()
        let home = try registry.destinations(named: ["local"])[0]
        let player = Player(outputs: try registry.outputs(at: home), registry: registry, options: options) {
            inbox.yield(.player($0))
        }

        // The list of outputs. A program shows its button while there is a choice, so the search begins at once.
        let routes = RouteController(player: player, registry: registry, routes: [home], home: home) {
            inbox.yield(.routes($0))
        }
        routes.startSearch()

        // Media keys and panels, and sleep. Without a message bus both do nothing.
        let remote = MPRISService(player, identity: "Session example", busName: "SessionDemo")
        if remote.start() { say("media keys control this program") }
        let inhibitor = try SleepInhibitor(player, reason: "A file is playing")
        try inhibitor.start()

        Thread { while let line = readLine() { inbox.yield(.command(line)) } }.start()
        player.append(words.map { QueueItem($0) })
        player.play()
        var status: Int32 = 0
        var hasButton = false
        loop: for await event in events {
            switch event {
            case .player(.routeChanged(let change)):
                say("\(change.reason.rawValue): sound on \(names(change.current))")
                routes.handle(change)
            case .player(.interruption(.began(let cause))): say("interrupted: \(cause.rawValue)")
            case .player(.interruption(.ended(let cause, let mayResume))):
                say("\(cause.rawValue) is over" + (mayResume ? "" : "; play to continue"))
            case .player(.failed(_, let error)):
                say(error.message)
                status = 1
            case .player(.message(let text)): say(text)
            case .player(.phase(.ended)), .player(.phase(.failed)): break loop
            case .player: break
            case .routes(let event):
                if let message = routes.handle(event) { say(message) }
                if routes.hasChoice != hasButton {
                    hasButton = routes.hasChoice
                    say(hasButton ? "other outputs are in range: type outputs" : "this computer is the only output")
                }
            case .command(let line):
                if line == "quit" { break loop }
                perform(line, player, routes)
            }
        }
        remote.stop()
        inhibitor.stop()
        routes.close()
        player.shutDown()
        registry.remember()
        exit(status)
    }

    static func perform(_ line: String, _ player: Player, _ routes: RouteController) {
        let words = line.split(separator: " ")
        switch words.first {
        case "outputs":
            for (index, row) in routes.rows.enumerated() {
                say("\(index + 1) \(row.isTicked ? "*" : " ") \(row.title) \(row.obstacle ?? row.problem ?? "")")
            }
        case "output":
            guard words.count > 1, let number = Int(words[1]), routes.rows.indices.contains(number - 1) else {
                return say("which output? type outputs")
            }
            routes.choose([routes.rows[number - 1].id])
        case "call": player.beginInterruption()
        case "hangup": player.endInterruption(mayResume: true)
        case "position": say("at \(player.state.position.seconds) s")
        case "play": player.play()
        case "pause": player.pause()
        default: say("outputs, output N, call, hangup, position, play, pause or quit")
        }
    }

    static func names(_ outputs: [PlaybackRouteChange.Output]) -> String {
        outputs.isEmpty ? "no output" : outputs.map { $0.device ?? $0.name }.joined(separator: ", ")
    }

    /// Writes a line to standard output without buffering.
    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
