internal import MediaCore
internal import SyncRendering

/// What follows a film has changed after it was read, decoded and handed on: it is taken back.
extension PlayerCore {
    /// A picture is made ready for the screen so long before its time, and is not taken back from there.
    private static let leastLead: Duration = .milliseconds(60)

    /// - Parameters:
    ///   - kept: the last film that is still wanted.
    ///   - link: what was laid out behind it.
    func cut(behind kept: FilmLink, from link: FilmLink) {
        let hasSound = audio != nil && chain.hasEntered(link.serial, .sound)
        let hasPicture = video != nil && chain.hasEntered(link.serial, .picture)
        chain.setOpen(true)
        chain.truncate(after: kept.serial)
        ahead.pictures = nil
        guard hasSound || hasPicture, let joint = kept.joint else { return layOutFilms() }
        ahead.cuts += 1
        ahead.cut = FilmCut(number: ahead.cuts, joint: joint, hasSound: hasSound, hasPicture: hasPicture)
        if hasSound { audio?.cut(after: kept.serial, number: ahead.cuts) }
        if hasPicture { video?.cut(after: kept.serial, number: ahead.cuts) }
    }

    /// The pipelines stand at the joint again: then the renderer lets go of what lies behind it.
    func continueCut() {
        guard var cut = ahead.cut, !cut.isFlushing else { return }
        if cut.hasSound, let audio, audio.status.cutNumber != cut.number { return }
        if cut.hasPicture, let video, video.status.cutNumber != cut.number { return }
        guard (cut.joint - synchronizer.currentTime).duration > Self.leastLead || state.phase != .playing else {
            return beginAnew()
        }
        guard cut.hasSound, let renderer else { return finishCut() }
        cut.isFlushing = true
        ahead.cut = cut
        let number = cut.number
        renderer.flush(fromSourceTime: cut.joint) { [mailbox] result in
            mailbox.post { $0.hear(result, ofCut: number) }
        }
    }

    private func hear(_ result: PartialFlushResult, ofCut number: Int) {
        guard ahead.cut?.number == number else { return }
        switch result {
        case .flushed: finishCut()
        case .refused, .overtaken:
            // Too near, or the route cannot.
            beginAnew()
        }
    }

    /// Everything begins anew where the film is.
    private func beginAnew() {
        ahead.cut = nil
        begin(at: min(filmMoment, state.duration ?? filmMoment), exact: true)
    }

    private func finishCut() {
        ahead.cut = nil
        // More may have changed meanwhile.
        reconcile()
    }

    /// A jump makes everything anew.
    func abandonCut() { ahead.cut = nil }

    // MARK: Films that are opened ahead

    /// Gives up on a film that is being opened for later.
    func forgetAhead() {
        if case .opened? = ahead.film?.outcome {} else { ahead.film?.cancellation.cancel() }
        ahead.film = nil
    }

    /// A film that was opened for later, or is being opened, when it is just this one; what is being opened is waited for.
    func takePrepared(_ address: String, _ cancellation: OpenCancellation) -> FilmAhead? {
        guard let film = ahead.film, film.item.address == address else { return nil }
        ahead.film = nil
        // Not held open.
        return film.outcome == nil && film.isUnfit ? nil : film
    }
}
