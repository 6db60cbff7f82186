internal import MediaCore
public import SyncRendering

extension Player {
    /// Plays an additional audio track of each item on a separate output, such as another language in another room.
    ///
    /// During playback it joins in sync without an interruption. It follows seeks, the list, speed, delay and mute like
    /// the main track. The main track determines the end of an item's audio; longer audio is cut there. An item without
    /// the selected track plays its default one. A start also waits for this output, for at most eight seconds; after
    /// that later ones do not until it is ready. If the output is lost, playback continues without it, which is
    /// reported as an event; one that cannot be opened is tried again every 15 s. An edit of the list interrupts this
    /// track only if its output cannot remove audio (`PartialFlushing`).
    ///
    /// - Parameters:
    ///   - choice: The selection of the track.
    ///   - output: A card, a speaker, or several in an `OutputGroup`. None may be in use by this player; otherwise a
    ///     refusal is reported as an event and nothing changes.
    /// - Returns: The identifier for `removeAudio` and `setVolume(_:of:)`.
    @discardableResult
    public func addAudio(track choice: AudioTrackChoice, to output: any AudioDestination) -> AddedAudioID {
        let group = output.group(codecs: codecs)
        for member in group.members {
            if let channels = outputs?.channels(of: member), channels != .whole {
                group.setChannels(channels, of: member)
            }
        }
        let id = AddedAudioID(
            number: addedAudio.withLock { sounds in
                sounds.count += 1
                sounds.groups[sounds.count] = group
                return sounds.count
            })
        mailbox.request { $0.addAudio(choice, to: group, number: id.number) }
        return id
    }

    /// Same with several outputs, which play as one.
    package func addAudio(track choice: AudioTrackChoice, to outputs: [any AudioOutput]) -> AddedAudioID {
        addAudio(track: choice, to: OutputGroup(members: outputs, codecs: codecs))
    }

    /// Stops an additional track; its output is closed in the background. Any thread.
    ///
    /// - Parameter done: Called once the output is closed and may be used elsewhere; on any thread, must not block.
    public func removeAudio(_ id: AddedAudioID, done: @escaping @Sendable () -> Void = {}) {
        _ = addedAudio.withLock { $0.groups.removeValue(forKey: id.number) }
        if !mailbox.request({ $0.tracks.added.remove(id.number, done: done) }) { done() }
    }

    /// Selects another track for an additional sound, also for following items. During playback only this sound is
    /// interrupted, until its output holds audio of the new track; `PlayerState.addedTracks` reports it. An input that
    /// cannot be opened twice has the new track from its reading position on. Any thread.
    public func setTrack(_ choice: AudioTrackChoice, of id: AddedAudioID) {
        mailbox.request { $0.tracks.added.setTrack(choice, of: id.number, target: $0.seeks.trackTarget) }
    }

    /// Sets the volume of an additional track, 0…130 (`VolumeCurve`). Until then it has the player's volume. Any
    /// thread.
    public func setVolume(_ volume: Double, of id: AddedAudioID) {
        mailbox.request { $0.audioControl.setVolume(volume, ofSound: id.number) }
    }

    /// The outputs of the main track and of additional ones that play, or are to play, with their IDs in events. Any
    /// thread.
    package var allOutputs: [(id: OutputID, output: any AudioOutput)] {
        var all: [(id: OutputID, output: any AudioOutput)] = []
        func add(_ group: OutputGroup, _ first: Int) {
            for member in group.members {
                if let number = group.number(of: member) { all.append((OutputID(first + number), member)) }
            }
        }
        if let outputs { add(outputs, 0) }
        for (sound, group) in addedAudio.withLock({ $0.groups }).sorted(by: { $0.key < $1.key }) {
            add(group, AddedAudioTrack.outputID(of: sound).index)
        }
        return all
    }

    /// Returns the output with an ID in events, of the main track or of an additional one, with its group and its
    /// number in that; nil for an unknown output. Any thread.
    package func output(_ id: OutputID) -> (output: any AudioOutput, group: OutputGroup, number: Int)? {
        let (sound, number) = AddedAudioTrack.trackAndMember(of: id)
        guard let group = sound == 0 ? outputs : addedAudio.withLock({ $0.groups[sound] }) else { return nil }
        return group.output(number: number).map { ($0, group, number) }
    }
}
