import Foundation
import Talkie

/// Plays until the queue ends, the window is closed or `quit` is typed; then exits the process with the exit status.
@MainActor func runPlayer(_ words: [String]) -> Never {
    guard let arguments = Arguments(words) else {
        say("usage: Player [--speaker NAME]... FILE...")
        exit(2)
    }
    do {
        // Step 1: items. Playlists are expanded, including nested ones.
        let (items, leftOut) = try QueueItem.list(arguments.files)
        leftOut.forEach(say)

        // Step 2: outputs. Without a name it is this computer's sound card.
        let destination = try OutputSelection(speakers: arguments.speakers, notice: say)
        destination.warnings.forEach(say)

        // Step 3: the player. Its events arrive on its own thread.
        let player = QueuePlayer(destination: destination) { event in
            switch event {
            case .began(let item, _, _): say("playing \(item.title ?? item.address)")
            case .failed(let item, let error): say("passing over \(item.address): \(error.message)")
            case .message(let text): say(text)
            case .lost(let failure): say(failure.message)
            case .incomplete(_, let failure): say(failure.error.message)
            case .outputProblem(let problem): say(problem.error.message)
            case .interruption(.began(.takenOver)): say("paused: play takes the speaker back")
            case .phase, .ended, .seeking, .sought, .looped, .outputRecovered, .routeChanged, .interruption: break
            }
        }
        player.append(items)
        player.play()

        // Step 4: a window. It opens with the first frame.
        let window = PlayerWindow(title: "Player") { key in
            if key == "SPACE" { player.state.phase == .playing ? player.pause() : player.play() }
        }
        window.show(player)

        // Step 5: edits during playback, one per line.
        let editor = Editor(player)
        Thread { while let line = readLine() { editor.carryOut(line) } }.start()

        // Step 6: the end. The window needs the main thread, so another thread polls the state.
        Thread {
            while !editor.isQuit, player.state.phase != .ended, player.state.phase != .failed {
                Thread.sleep(forTimeInterval: 0.1)
            }
            window.close()
        }.start()
        window.run()
        let failure = player.state.failure
        player.shutDown()
        destination.remember()
        if let failure {
            say(failure.message)
            exit(1)
        }
        exit(0)
    } catch {
        // Every error of the library has a message for users and a code for the program.
        say(error.message)
        exit(1)
    }
}

/// Writes a line to standard output without buffering.
@Sendable func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
