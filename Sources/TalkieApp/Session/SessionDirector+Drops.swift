internal import MediaCore
internal import Playback

// Files and addresses dropped on the window.
extension SessionDirector {
    /// Plays the dropped items instead of the playlist, or appends them.
    func take(dropped words: [String], appends: Bool) {
        let list: PlaylistLoader
        do throws(TalkieError) { list = try PlaylistLoader(words) } catch {
            return tell(error.message)
        }
        // Failures of dropped items do not affect the exit status.
        for failure in list.failures { say(.error, failure.message) }
        for warning in list.warnings { say(.warning, warning) }
        guard appends else {
            return open(list.items)
        }
        stage.player.append(list.items.map(item))
        offered = nil
        let more = list.items.count > 1 ? " and \(list.items.count - 1) more" : ""
        show("Added: \(PrintableText.of(list.items[0].title ?? QueueItem(list.items[0].address).name))\(more)")
    }

    /// Inserts the items of a page after the page itself, which plays the first one.
    func take(listed items: [PlaylistLoader.Item], behind page: String) {
        let items = items.filter { ListedAddress.objection(toAddress: $0.address) == nil }
        guard !items.isEmpty else { return }
        let (mailbox, count) = (mailbox, items.count)
        stage.player.insert(items.map(item), after: page) { mailbox.post(.inserted(count)) }
    }
}
