internal import MediaCore
internal import SyncRendering

/// What follows the film that plays: laid out on the chain, opened, looked through and decoded before it is needed.
extension PlayerCore {
    /// So far before the end of what is laid out the next film is opened: longer than a slow server takes, short
    /// enough that nothing is held open for hours.
    private static let openingLead: Duration = .seconds(30)
    /// The same for a film's first pictures, which cost the memory of a decoder.
    private static let picturesLead: Duration = .seconds(10)
    /// Sound that nothing follows so far leaves the converters this long before it is heard.
    private static let tailLead: Duration = .milliseconds(500)
    /// Pictures that are left with the layer when nothing follows so far.
    private static let tailPictures = 2

    func setNext(_ items: [QueueItem]) {
        upcoming = items
        // Whoever gave the list may not know yet which of it plays.
        if let item = chain.current?.item, let index = upcoming.firstIndex(of: item) {
            upcoming.removeSubrange(...index)
        }
        if let opening = ahead.film, !upcoming.contains(opening.item) { forgetAhead() }
        reconcile()
    }

    /// For this film and the next ones.
    func setLoop(_ loop: PlayerOptions.Loop) {
        options.loopFile = loop
        if lost != nil, loop != .forever {
            lost = nil
            return enter(.ended)
        }
        if let current = chain.current { chain.setLoopsLeft(loop, of: current.serial) }
        choosePassThrough()
        reconcile()
    }

    private enum Follower {
        case loop(left: PlayerOptions.Loop)
        case item(QueueItem)
        case nothing
    }

    /// What is to follow a link by loops and list.
    private func follower(of link: FilmLink) -> Follower {
        if let left = link.loopsLeft.next { return .loop(left: left) }
        let place = link.item.flatMap { upcoming.firstIndex(of: $0) }
        return upcoming.dropFirst(place.map { $0 + 1 } ?? 0).first.map { .item($0) } ?? .nothing
    }

    /// Takes back what is laid out and does not follow any more.
    func reconcile() {
        guard ahead.cut == nil else { return }
        let links = chain.links
        for (before, link) in zip(links, links.dropFirst()) {
            switch follower(of: before) {
            case .loop(let left) where link.isLoop:
                chain.setLoopsLeft(left, of: link.serial)
                // What follows it is judged by what is left now.
                if link.loopsLeft != left { return reconcile() }
            case .item(let item) where !link.isLoop && link.item == item:
                if link.loopsLeft != options.loopFile {
                    chain.setLoopsLeft(options.loopFile, of: link.serial)
                    return reconcile()
                }
            default: return cut(behind: before, from: link)
            }
        }
        layOutFilms()
    }

    /// Lays films out behind the last one, as far ahead as they are needed, and has them made ready.
    func layOutFilms() {
        guard ahead.cut == nil, state.phase == .playing || state.phase == .paused || state.phase == .buffering,
            let last = chain.last
        else { return }
        let next = follower(of: last)
        let isOver = if case .nothing = next { true } else { false }
        let isOpen = !isOver && FilmLink.isJoinable(last.film) && !isEmpty(last) && ahead.film?.isUnfit != true
        chain.setOpen(isOpen)
        wakePipelines()
        findEnd()
        if isOpen, isNear(last) {
            switch next {
            case .loop where ahead.loopAgain.map { parts.clock.now < $0.notBefore } ?? false: break
            case .loop(let left): append(last.again(serial: chain.newSerial(), loopsLeft: left), behind: last)
            case .item(let item): open(item, behind: last)
            case .nothing: break
            }
        }
        preparePictures()
        giveOutTails()
    }

    /// A film that lasts no time would be followed by itself without end.
    private func isEmpty(_ link: FilmLink) -> Bool { link.filmEnd.map { $0 <= link.start } ?? false }

    /// Whether the end of what is laid out is near, for the playhead or for the sound that is read ahead of it.
    private func isNear(_ link: FilmLink) -> Bool {
        guard link.offset != nil else { return false }
        // Where nobody says how long it lasts, the end of its sound is the first that is known.
        guard let end = link.likelyJoint else { return link.soundEnd.time != nil || link.filmEnd != nil }
        var reach = synchronizer.currentTime
        if let until = renderer?.status.enqueuedUntil { reach = max(reach, until) }
        return (end - reach).duration < Self.openingLead
    }

    private func append(_ link: FilmLink, behind before: FilmLink) {
        addPipelines(for: link, behind: before)
        chain.append(link)
        wakePipelines()
        // A walker that had come to the end of everything goes on.
        audio?.goOn()
        video?.goOn()
    }

    /// Looks up where the pictures of the next film end that has one to follow it.
    private func findEnd() {
        guard !ahead.isFindingEnd,
            let link = chain.links.first(where: { $0.pictureEnd == .unknown && $0.offset != nil }),
            let track = link.videoTrack, isNear(link), FilmLink.isJoinable(link.film), ahead.endless !== link.film
        else { return }
        if case .nothing = follower(of: link) { return }
        ahead.isFindingEnd = true
        scout.findPictureEnd(of: link.film, track, near: link.soundEnd.time) { [mailbox] end in
            mailbox.post { $0.hear(pictureEnd: end, of: link.film) }
        }
    }

    private func hear(pictureEnd: MediaTime?, of film: any MediaSource) {
        ahead.isFindingEnd = false
        // Nobody can say: it will be known when the last picture has been decoded.
        guard let pictureEnd else { return ahead.endless = film }
        for link in chain.links where link.film === film && link.videoTrack?.isCoverArt == false {
            chain.note(.at(pictureEnd), .picture, of: link.serial)
        }
    }

    private func open(_ item: QueueItem, behind last: FilmLink) {
        if let film = ahead.film, film.item == item {
            guard case .opened(let media)? = film.outcome else { return }
            return lay(media, film, behind: last)
        }
        forgetAhead()
        let opening = FilmAhead(item: item)
        ahead.film = opening
        scout.open(item.address, cancellation: opening.cancellation) { [mailbox] result in
            opening.finish(result)
            mailbox.post { $0.hear(opening) }
        }
    }

    private func hear(_ opening: FilmAhead) {
        guard ahead.film === opening, case .failed(let error)? = opening.outcome else { return }
        ahead.film = nil
        refuse(opening.item, PlayerFailure(exitStatus: error.exitStatus, message: error.message))
    }

    /// It cannot be played, and the one behind it is next.
    private func refuse(_ item: QueueItem, _ failure: PlayerFailure) {
        upcoming.removeAll { $0 == item }
        news(.nextFailed(item, failure))
    }

    private func lay(_ film: any MediaSource, _ opening: FilmAhead, behind last: FilmLink) {
        let item = opening.item
        guard FilmLink.isJoinable(film) else {
            // It is opened when its turn has come; what cannot be opened twice is kept until then.
            if item.address.contains("://") { ahead.film = FilmAhead(unfit: item) } else { ahead.film?.isUnfit = true }
            return
        }
        ahead.film = nil
        let name = String(item.address.split(separator: "/").last ?? Substring(item.address))
        guard var link = link(to: film, title: name) else {
            return refuse(item, PlayerFailure(exitStatus: 66, message: nothingToPlay(in: film, title: name)))
        }
        if let sound = link.audioTrack, !parts.canDecode(sound) {
            news(.message("The sound of “\(link.title)” cannot be decoded; its picture plays without it."))
            (link.audioTrack, link.soundEnd) = (nil, .none)
        }
        (link.item, link.cancellation) = (item, opening.cancellation)
        append(link, behind: last)
    }

    /// The first pictures of the film that comes next for the screen.
    private func preparePictures() {
        let links = chain.links
        guard video != nil, let place = chain.place(of: .picture),
            let index = links.firstIndex(where: { $0.serial == place }), index + 1 < links.count
        else { return }
        let next = links[index + 1]
        guard let track = next.videoTrack, ahead.pictures != next.serial, let begin = next.begin,
            (begin - synchronizer.currentTime).duration < Self.picturesLead
        else { return }
        ahead.pictures = next.serial
        scout.makePictures(of: next.film, track, from: next.start) { [mailbox] result in
            mailbox.post { $0.hear(result, of: next.serial) }
        }
    }

    private func hear(_ result: Result<PictureTrack, MediaError>, of serial: Int) {
        switch result {
        case .success(let pictures): chain.give(pictures, to: serial)
        case .failure(let error)
        where error.code != .unsupported && error.code != .limitExceeded && error.code != .cancelled:
            // It cannot be read; its sound alone is not played either.
            chain.lose(serial, error)
        case .failure(let error):
            chain.give(nil, to: serial)
            guard error.code != .cancelled else { break }
            news(.message(Sentences.joined(error.message, "The sound plays without a picture.")))
        }
        wakePipelines()
    }

    /// A film that was laid out cannot be read any more: its sound and its picture are given up together.
    func dropLost() {
        guard ahead.cut == nil, let (before, link, error) = chain.lost else { return }
        if let item = link.item, !link.isLoop {
            refuse(item, PlayerFailure(exitStatus: error.exitStatus, message: error.message))
        } else {
            if ahead.loopAgain == nil {
                news(.message("“\(link.title)” cannot be opened again; it loops from what is open."))
            }
            ahead.loopAgain = .later(ahead.loopAgain, from: parts.clock.now)
            ahead.lastLost = link.serial
        }
        cut(behind: before, from: link)
    }

    /// Nothing has come in time so far: what waits inside is to be heard and seen all the same.
    private func giveOutTails() {
        guard state.phase == .playing, jump == nil else { return }
        if chain.isWaiting(.sound), let renderer, !renderer.status.isDrained,
            let until = renderer.status.enqueuedUntil, (until - synchronizer.currentTime).duration < Self.tailLead
        {
            chain.end(.sound)
            audio?.wake()
        }
        if chain.isWaiting(.picture), layer.count <= Self.tailPictures, !layer.isDrained {
            chain.end(.picture)
            video?.wake()
        }
    }

    func wakePipelines() {
        if chain.isWaiting(.sound) { audio?.wake() }
        if chain.isWaiting(.picture) { video?.wake() }
    }
}
