internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Owns the volume, processing and delay of all audio tracks, and what may pass to speakers unchanged. Confined to the
/// player's thread.
final class AudioControl {
    private let renderer: AudioRenderer?
    private let output: (any AudioDestination)?
    private let added: AddedAudioTracks
    private let context: PlayerContext
    /// The options in use; night mode and dialogue gain change.
    private var options: PlayerOptions
    private var isVolumeChosen: Bool
    /// Whether audio is quieter than its volume, for the time of an interruption.
    private var isDucked = false
    /// The gain while ducked: -20 dB, the default of PulseAudio's module-role-ducking.
    private static let duckedGain: Float = 0.1
    /// What the outputs display.
    private var nowPlaying: NowPlaying?
    /// Which outputs are heard.
    private var route = RouteObservation()
    /// When the outputs are compared again although their problems are unchanged; nil: at once.
    private var nextComparison: HostInstant?
    /// Each comparison allocates, and asks cards for their devices; an iteration without one does neither.
    private static let comparisonInterval = Duration.milliseconds(240)

    /// Applies the options to the main audio track and connects its output.
    init(_ context: PlayerContext, _ tracks: PlaybackTracks) {
        (self.context, options, output) = (context, context.options, context.components.audioOutput)
        (renderer, added) = (tracks.renderer, tracks.added)
        isVolumeChosen = options.volume != nil
        renderer?.delay = options.audioDelay + options.calibration
        renderer?.setSpeed(options.speed)
        if let output { renderer?.setOutput(output) }
        if isVolumeChosen || options.isMuted { applyGain() }
        applyProcessing()
    }

    private var status: PlayerStatus { context.status }
    private var renderers: [AudioRenderer] { [renderer].compactMap { $0 } + added.all.map(\.renderer) }

    /// Applies the settings to a sound that was added.
    func join(_ track: AddedAudioTrack) {
        track.renderer.delay = status.state.audioDelay + options.calibration
        track.renderer.setSpeed(status.state.speed)
        track.renderer.processing = processing
        track.renderer.nowPlaying = nowPlaying
        if isVolumeChosen { (track.output as? OutputGroup)?.setVolume(status.state.volume) }
        applyGain()
    }

    // MARK: Volume

    /// Stores the master volume, which a group of outputs already has. Sets it on an output without a group, and on
    /// additional tracks without their own volume.
    func setVolume(_ volume: Double) {
        let volume = min(VolumeCurve.maxVolume, max(0, volume))
        status.change { $0.volume = volume }
        isVolumeChosen = true
        for track in added.all where track.volume == nil { (track.output as? OutputGroup)?.setVolume(volume) }
        applyGain()
    }

    /// Notes that the group of outputs is at its owners' levels again, as are added audio tracks without a volume of
    /// their own.
    func restoreVolume(_ volume: Double) {
        status.change { $0.volume = volume }
        isVolumeChosen = false
        for track in added.all where track.volume == nil { (track.output as? OutputGroup)?.restoreVolumes() }
        applyGain()
    }

    func setVolume(_ volume: Double, ofSound number: Int) {
        guard let track = added.all.first(where: { $0.number == number }) else { return }
        let volume = min(VolumeCurve.maxVolume, max(0, volume))
        track.volume = volume
        (track.output as? OutputGroup)?.setVolume(volume)
        applyGain()
    }

    /// Notes that an added sound has a volume of its own.
    func recordVolume(_ volume: Double, ofTrack number: Int) {
        added.all.first { $0.number == number }?.volume = volume
        applyGain()
    }

    /// Changes the volumes of added audio tracks that have one of their own, with the master volume.
    func changeOwnVolumes(by steps: Double) {
        for track in added.all where track.volume != nil {
            guard let group = track.output as? OutputGroup else { continue }
            group.changeVolume(by: steps)
            track.volume = group.volume
        }
        applyGain()
    }

    /// Changes the master volume; added audio tracks with a volume of their own keep their distance.
    func changeVolumes(_ change: (OutputGroup) -> Void) throws(ControlError) {
        guard let group = output as? OutputGroup else {
            throw ControlError(.unavailable, "this film plays without sound")
        }
        let before = group.knownVolume
        change(group)
        guard let volume = group.knownVolume else { return }
        changeOwnVolumes(by: volume - (before ?? volume))
        setVolume(volume)
    }

    func setMuted(_ muted: Bool) {
        status.change { $0.isMuted = muted }
        applyGain()
    }

    /// Applies the volumes. Until one is set, every output keeps its owner's.
    private func applyGain() {
        let volume = isVolumeChosen ? status.state.volume : nil
        if let renderer { apply(volume, to: renderer, output) }
        for track in added.all { apply(track.volume ?? volume, to: track.renderer, track.output) }
    }

    private func apply(_ volume: Double?, to renderer: AudioRenderer, _ output: (any AudioDestination)?) {
        // A group stores the volume of each output.
        let volume = output is OutputGroup ? nil : volume
        renderer.setGain(status.state.isMuted ? 0 : volume.map { VolumeCurve.gain(volume: $0) })
    }

    // MARK: Processing, speed and delay

    func setNightMode(_ isOn: Bool) {
        options.isNight = isOn
        status.change { $0.isNight = isOn }
        applyProcessing()
    }

    func setDialogueLift(_ decibels: Double) {
        let decibels = PlayerOptions.held(dialogueLift: decibels)
        options.dialogueLift = decibels
        status.change { $0.dialogueLift = decibels }
        applyProcessing()
    }

    /// Lowers the samples of all tracks for an interruption, or restores them. The volumes of outputs are unchanged.
    func setDucked(_ isDucked: Bool) {
        guard isDucked != self.isDucked else { return }
        self.isDucked = isDucked
        applyProcessing()
    }

    private var processing: AudioProcessing {
        var processing = options.processing
        if isDucked { processing.gain *= Self.duckedGain }
        return processing
    }

    private func applyProcessing() { for renderer in renderers { renderer.processing = processing } }

    /// Sets the speed in the state, clamped to `PlayerOptions.speedRange`; returns false if it is unchanged.
    ///
    /// - Parameter isFixed: Whether faster playback is refused with a message.
    func setSpeed(_ speed: Double, isFixed: Bool) -> Bool {
        let range = PlayerOptions.speedRange
        let held = min(range.upperBound, max(range.lowerBound, speed))
        guard held != status.state.speed else { return false }
        guard held <= 1 || !isFixed else {
            status.message("This interstitial plays at its own speed.")
            return false
        }
        status.change { $0.speed = held }
        return true
    }

    /// Lets the converters produce audio at the speed in the state.
    func applySpeed() { for renderer in renderers { renderer.setSpeed(status.state.speed) } }

    /// Sets the delay of audio, clamped to ±`PlayerOptions.longestAudioDelay`.
    func setDelay(_ delay: Duration) {
        let limit = PlayerOptions.longestAudioDelay
        let delay = min(limit, max(.zero - limit, delay))
        status.change { $0.audioDelay = delay }
        for renderer in renderers { renderer.delay = delay + options.calibration }
    }

    func setScreen(_ name: String?, refreshRate: Int?, isFullScreen: Bool) {
        let mode = LatencyProfile.Key.mode(refresh: refreshRate, isFullScreen: isFullScreen)
        let calibration = context.components.calibration
        if calibration?.setScreen(name, mode: mode) == true { calibration?.apply() }
    }

    // MARK: Outputs

    /// Whether an output may display the item: one outside this computer, unless the options request it in any case.
    var hasDisplays: Bool {
        context.options.loadsArtwork
            || ([output] + added.all.map(\.output)).contains { output in
                (output as? OutputGroup)?.members.contains { $0.kind.isRemote } ?? output?.kind.isRemote ?? false
            }
    }

    /// Lets the outputs display the item in the state.
    func showItem() {
        let item = status.state.nowPlaying
        guard item != nowPlaying else { return }
        nowPlaying = item
        for renderer in renderers { renderer.nowPlaying = item }
    }

    /// Adopts the volume that was set at an output itself.
    func adoptVolume(_ volume: Double, of id: OutputID) {
        let target = AddedAudioTrack.trackAndMember(of: id)
        let track = added.all.first { $0.number == target.sound }
        guard let group = (track.map(\.output) ?? output) as? OutputGroup,
            let output = group.output(number: target.member)
        else { return }
        group.setVolume(volume, of: output)
        if let track { return recordVolume(group.volume, ofTrack: track.number) }
        if let volume = group.knownVolume { setVolume(volume) }
    }

    /// Reports outputs that are silent or reject the volume, and those that have recovered.
    func reportProblems() {
        guard let renderer, renderer.progress.enqueuedUntil != nil || !status.state.outputProblems.isEmpty else {
            return
        }
        let added = added.all.flatMap { ($0.output as? OutputGroup)?.problems ?? [] }
        if status.setOutputProblems(((output as? OutputGroup)?.problems ?? Self.problem(of: output)) + added) {
            nextComparison = nil
        }
    }

    /// Sets the reason of the next change of the members; `chosen` without it.
    func expectChange(because reason: PlaybackRouteChange.Reason) { route.nextReason = reason }

    /// Lets the reasons for which outputs are silent be reported again.
    func forgetSilence() { route.forgetSilence() }

    /// Lets the next `routeChange` compare the outputs.
    func compareOutputs() { nextComparison = nil }

    /// Returns the change of the outputs that are heard since the last comparison, judging by the reported problems.
    /// Returns nil if there is none, or if no comparison is due.
    ///
    /// - Parameter failure: Why all outputs of the main track have failed just now. Those of a group that could not be
    ///   opened are closed, and have no problems.
    func routeChange(failure: OutputError? = nil) -> PlaybackRouteChange? {
        let now = context.components.clock.now
        if let nextComparison, now < nextComparison { return nil }
        guard let renderer, renderer.progress.enqueuedUntil != nil || route.isKnown else { return nil }
        nextComparison = now.advanced(by: Self.comparisonInterval)
        var members: [RouteObservation.Member] = []
        func add(_ destination: (any AudioDestination)?, first: Int) {
            for member in (destination as? OutputGroup)?.memberStates ?? [] {
                members.append(
                    RouteObservation.Member(
                        id: OutputID(first + member.number), name: member.output.name, kind: member.output.kind,
                        isOpen: member.isOpen, device: member.device))
            }
        }
        add(output, first: 0)
        var silent = status.state.outputProblems.filter { $0.kind == .silent }
        if let failure {
            for member in members where !silent.contains(where: { $0.output == member.id }) {
                silent.append(OutputProblem(output: member.id, name: member.name, kind: .silent, error: failure))
            }
        }
        for track in added.all { add(track.output, first: track.outputID.index) }
        return route.update(members, silent: silent)
    }

    /// Whether an output has been open since it was selected.
    var hasOpenedOutput: Bool { route.hasOpened }

    /// Opens the outputs of the main audio track again, also those that have failed, and the failed ones of the others.
    func reopenOutputs() {
        if let output { renderer?.setOutput(output) }
        added.reopenLost()
    }

    private static func problem(of output: (any AudioDestination)?) -> [OutputProblem] {
        (output as? any AudioOutput).flatMap { OutputProblem($0, OutputID(0), loss: $0.currentLoss) }.map { [$0] } ?? []
    }

    /// Selects whether packets may pass to speakers unchanged. Packets cannot be cut: up to one is lost at a boundary,
    /// which is inaudible where the video changes as well. Consecutive songs and looping items must be seamless and are
    /// therefore decoded.
    func choosePassThrough(for list: PlaybackList) {
        let mayPass = !options.replayGain.isActive && !Self.joinsExactly(list, expectsMore: options.expectsMore)
        renderer?.allowsPassThrough = mayPass
        for track in added.all { track.renderer.allowsPassThrough = mayPass }
    }

    /// Returns true if audio follows the current entry of a list without a gap.
    static func joinsExactly(_ list: PlaybackList, expectsMore: Bool) -> Bool {
        let entry = list.entries.first
        let next = entry.flatMap { list.successor(of: $0) }
        // A list that repeats and currently has one item will not be a loop of that item.
        let isOnlyItself =
            expectsMore && next?.itemPass == 0 && next?.item == entry?.item && list.items.count == 1
        let isLoop = next != nil && next?.item.address == entry?.item.address && !isOnlyItself
        let hasVideo = entry?.videoTrack.map { !$0.isCoverArt } ?? false
        return isLoop || list.section != nil || (!hasVideo && (expectsMore || next != nil))
    }
}
