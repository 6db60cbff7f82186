import Foundation
import Talkie

/// Plays until the queue is over, a person closes the window or types `quit`; returns the exit status by ending the process.
func runPlayer(_ words: [String]) -> Never {
    guard let arguments = Arguments(words) else {
        say("usage: Player [--speaker NAME]... FILE...")
        exit(2)
    }
    do {
        // Step 1: what to play. Playlists are opened, and the playlists in them.
        let (items, leftOut) = try QueueItem.list(arguments.files)
        leftOut.forEach(say)

        // Step 2: where to. Without a name it is this computer's sound card.
        let destination = try SoundDestination(speakers: arguments.speakers, notice: say)
        destination.warnings.forEach(say)

        // Step 3: the player. What it tells comes on its own thread.
        let player = QueuePlayer(destination: destination) { news in
            switch news {
            case .began(let item, _, _): say("playing \(item.title ?? item.address)")
            case .failed(let item, let error): say("passing over \(item.address): \(error.message)")
            case .message(let text): say(text)
            case .lost(let failure): say(failure.message)
            case .incomplete(_, let failure): say(failure.error.message)
            case .outputProblem(let problem): say(problem.error.message)
            case .phase, .seeking, .sought, .looped, .outputRecovered: break
            }
        }
        player.append(items)
        player.play()

        // Step 4: a window for the pictures. It opens with the first one.
        let window = PlayerWindow(title: "Player") { key in
            if key == "SPACE" { player.state.phase == .playing ? player.pause() : player.play() }
        }
        window.show(player)

        // Step 5: changes of the list, one a line, while it plays.
        let editor = Editor(player)
        Thread { while let line = readLine() { editor.carryOut(line) } }.start()

        // Step 6: until it is over. The window wants the main thread, so another one looks.
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
        // Every error of the library carries a sentence for a person and a code for the program.
        say(error.message)
        exit(1)
    }
}

/// One line on standard output, at once.
@Sendable func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
