internal import MediaCore
public import SyncRendering

extension Player {
    /// Plays an additional audio track of each item on a separate output, such as another language in another room.
    ///
    /// During playback it joins in sync without an interruption. It follows seeks, the list, speed, delay and mute like
    /// the main track. The main track determines the end of an item's audio; longer audio is cut there. An item without
    /// the selected track plays its default one. A start also waits for this output, for at most eight seconds. If the
    /// output is lost, playback continues without it, which is reported as an event. An edit of the list after audio
    /// was delivered interrupts this track.
    ///
    /// - Parameters:
    ///   - choice: The selection of the track.
    ///   - output: A card, a speaker, or several in an `OutputGroup`. None may be in use by this player; otherwise a
    ///     refusal is reported as an event and nothing changes.
    /// - Returns: The identifier for `removeSound` and `setVolume(_:of:)`.
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

    /// Stops an additional track; its output is closed in the background. Any thread.
    public func removeSound(_ id: SoundID) { mailbox.post { $0.tracks.added.remove(id.number) } }

    /// Sets the volume of an additional track, 0…130 (`VolumeCurve`). Until then it has the player's volume. Any
    /// thread.
    public func setVolume(_ volume: Double, of id: SoundID) {
        mailbox.post { $0.sound.setVolume(volume, ofSound: id.number) }
    }
}
