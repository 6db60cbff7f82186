import Foundation
import Talkie

/// Executes commands of standard input: `list`, `add FILE`, `remove N`, `move N M`, `volume N`, `skip`, `pause`,
/// `play`, `quit`. Numbers count the queue's items from 1.
final class Editor: Sendable {
    private let player: QueuePlayer
    private let quit = NSLock()
    nonisolated(unsafe) private var wantsQuit = false

    init(_ player: QueuePlayer) { self.player = player }

    var isQuit: Bool { quit.withLock { wantsQuit } }

    func carryOut(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        let items = player.items
        func item(_ index: Int) -> QueueItem? {
            guard words.count > index, let number = Int(words[index]), items.indices.contains(number - 1) else {
                return nil
            }
            return items[number - 1]
        }
        switch words.first {
        case "list":
            for (index, item) in items.enumerated() { say("\(index + 1) \(item.title ?? item.address)") }
        case "add" where words.count > 1: player.append([QueueItem(words.dropFirst().joined(separator: " "))])
        case "remove":
            guard let item = item(1) else { return say("remove which? type list") }
            edit(.remove(item.id), "removed \(item.address)")
        case "move":
            guard let item = item(1), words.count > 2, let place = Int(words[2]) else { return say("move N M") }
            // The playing item keeps the first position.
            guard item != items.first, place > 1 else { return say("place 1 is playing") }
            let before = items.filter { $0 != item }.prefix(place - 1).last
            edit(.move(item.id, after: before?.id), "moved \(item.address)")
        case "volume": player.setVolume(words.count > 1 ? Double(words[1]) ?? 100 : 100)
        case "skip": player.skip()
        case "pause": player.pause()
        case "play": player.play()
        case "quit": quit.withLock { wantsQuit = true }
        default: say("list, add FILE, remove N, move N M, volume N, skip, pause, play or quit")
        }
    }

    /// Applies an edit and prints its audible effect.
    private func edit(_ edit: QueueEdit, _ text: String) {
        Task {
            switch await player.apply(edit) {
            case .seamless: say("\(text): nothing of the old order is heard")
            case .late(let rest): say("\(text): it is heard for \(rest) more")
            case .interrupted: say("\(text): the sound was interrupted")
            case .unchanged: say("nothing was changed")
            }
        }
    }
}
