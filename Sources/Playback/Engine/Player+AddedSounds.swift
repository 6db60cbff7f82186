internal import MediaCore
public import SyncRendering

extension Player {
    /// Plays a further sound track of each film, to an output of its own, beside the first: each room in its language.
    ///
    /// In mid-film it joins in sync, and the film goes on as it is. It follows jumps, lists, speed, delay and mute as the first sound does,
    /// which says where a film's sound ends: what is longer is cut there. A film without the track plays the one it plays for somebody
    /// who has no wish. A start waits for this output, too, for eight seconds at most; when the output is lost the film goes on
    /// without it, which the news say. Where the list changes behind what this output holds already, its sound is interrupted there.
    ///
    /// - Parameters:
    ///   - choice: which track of each film.
    ///   - output: a card, a speaker, or several in an `OutputGroup`; none of them plays for this player otherwise, or the news
    ///     tell a refusal and nothing changes.
    /// - Returns: what `removeSound` and `setVolume(_:of:)` know it by.
    @discardableResult
    public func addSound(track choice: SoundTrackChoice, to output: any AudioOutput) -> SoundID {
        let id = SoundID(
            number: addedSounds.withLock { count in
                count += 1
                return count
            })
        mailbox.post { engine in
            let group = output as? OutputGroup ?? OutputGroup(members: [output], codecs: engine.parts.codecs)
            engine.addSound(choice, to: group, number: id.number)
        }
        return id
    }

    /// Ends a further sound, and gives its output back in the background.
    public func removeSound(_ id: SoundID) { mailbox.post { $0.removeSound(id.number) } }

    /// Loudness of a further sound, 0…100 on the perceptual curve. Until it is set it is as loud as the player.
    public func setVolume(_ volume: Double, of id: SoundID) {
        mailbox.post { $0.setVolume(volume, ofSound: id.number) }
    }
}
