internal import MediaCore
internal import SyncRendering

/// Films of which nothing comes, and films that were to loop and have vanished.
extension PlayerCore {
    /// A film that loops for ever and cannot be read any more: it is opened again until it can.
    struct LostFilm {
        let address: String
        let cancellation: OpenCancellation
        let item: QueueItem?
        var again: Retry
    }

    /// What is left inside decoders is waited for so long before it is asked for.
    private static let tailPatience: Duration = .seconds(2)

    /// Whether the film has been read to its end from where it begins, and neither sound nor picture has come of it.
    func hasNothingCome(for jump: Jump) -> Bool {
        guard let film = chain.current, chain.second?.isLoop ?? true, jump.movesPicture, jump.target == film.begin
        else { return false }
        var tracks = 0
        if let audio, let renderer, film.audioTrack != nil {
            let status = renderer.status
            guard !soundIsLost, !status.hasFailed, status.acceptedUntil == nil, hasBeenRead(audio, .sound, for: jump)
            else { return false }
            if status.enqueuedUntil != nil, !status.isDrained {
                if chain.isWaiting(.sound), parts.clock.now - jump.began > Self.tailPatience {
                    chain.end(.sound)
                    audio.wake()
                }
                return false
            }
            tracks += 1
        }
        if let video, film.videoTrack != nil {
            guard hasBeenRead(video, .picture, for: jump), layer.count == 0, layer.shownTime == nil else {
                return false
            }
            tracks += 1
        }
        return tracks > 0
    }

    private func hasBeenRead(_ pipeline: TrackPipeline, _ walker: FilmChain.Walker, for jump: Jump) -> Bool {
        let status = pipeline.status
        guard status.seekSerial == jump.serial, let film = chain.current else { return false }
        return status.hasEnded || chain.isWaiting(walker) || chain.hasEntered(film.serial + 1, walker)
    }

    /// Nothing came of the film: it cannot be played, or it has vanished since it was played last.
    func giveUpFilm() {
        guard let film = chain.current else { return }
        guard hasBegun, case .forever = film.loopsLeft else {
            return fail(
                "nothing in “\(film.title)” can be decoded; it is damaged, or it needs a newer FFmpeg", status: 66)
        }
        if reopening == nil {
            news(
                .lost(
                    PlayerFailure(
                        exitStatus: 66,
                        message: "“\(film.title)” cannot be read any more; it goes on as soon as it is back")))
        }
        let again = Retry.later(reopening, from: parts.clock.now)
        lost = LostFilm(
            address: film.item?.address ?? opened.address, cancellation: film.cancellation ?? opened.cancellation,
            item: film.item, again: again)
        reopening = again
        closeFilm()
        enter(.opening)
    }

    /// Opens a film again that was lost, when its time has come.
    func reopenLost() {
        guard let lost, parts.clock.now >= lost.again.notBefore else { return }
        do throws(MediaError) {
            let film = try parts.open(lost.address, lost.cancellation)
            self.lost = nil
            guard var link = link(to: film, title: state.title) else { throw MediaError(.notMedia, "nothing to play") }
            (link.item, link.cancellation) = (lost.item, lost.item == nil ? nil : lost.cancellation)
            begin(with: link)
        } catch {
            let again = Retry.later(reopening, from: parts.clock.now)
            reopening = again
            self.lost = lost
            self.lost?.again = again
        }
    }
}
