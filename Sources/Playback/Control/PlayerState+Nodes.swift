internal import MediaCore

/// The values of properties that are lists, in mpv's form.
extension PlayerState {
    /// The items that have passed, the current one and the upcoming ones: what the index of an item refers to.
    package var listed: [QueueItem] { history + items }

    /// The number of these items.
    var listedCount: Int { history.count + items.count }

    /// The index of the current item; nil if it is not in the playlist.
    package var listIndex: Int? {
        current.flatMap { current in items.firstIndex(of: current).map { $0 + history.count } }
    }

    /// Returns the item at an index.
    func listed(_ index: Int) throws(ControlError) -> QueueItem {
        let all = listed
        guard all.indices.contains(index) else {
            throw ControlError(.outOfRange, "the playlist has \(all.count) films")
        }
        return all[index]
    }

    /// The media time that is shown; nil if no item is open.
    var shownPosition: MediaTime? { isUnderWay ? position : nil }

    /// The rest of the item in seconds; nil if unknown.
    var remaining: Double? {
        shownPosition.flatMap { position in duration.map { max(0, $0.seconds - position.seconds) } }
    }

    /// What `playlistNode` depends on. Unchanged arrays share their memory and are equal at once.
    struct PlaylistContent: Equatable {
        let history: [QueueItem]
        let items: [QueueItem]
        let current: QueueItem?
        let isUnderWay: Bool
    }

    var playlistContent: PlaylistContent {
        PlaylistContent(history: history, items: items, current: current, isUnderWay: isUnderWay)
    }

    var playlistNode: JSONValue {
        .array(
            listed.map { item in
                var members: [(String, JSONValue)] = [("filename", .text(item.shownAddress))]
                if let title = item.title { members.append(("title", .text(title))) }
                members.append(("id", .integer(Int(truncatingIfNeeded: item.id.number))))
                if item == current { members += [("current", .flag(true)), ("playing", .flag(isUnderWay))] }
                return .object(members)
            })
    }

    var metadataNode: JSONValue {
        let texts = [("title", title), ("artist", artist), ("album", album), ("genre", genre)]
        let members = texts.compactMap { name, value -> (String, JSONValue)? in
            value.flatMap { $0.isEmpty ? nil : (name, .text($0)) }
        }
        return .object(members + (trackNumber.map { [("track", .text(String($0)))] } ?? []))
    }

    var trackListNode: JSONValue {
        let selected =
            [videoTrack, audioTrack, subtitleTrack, secondarySubtitleTrack].compactMap { $0 } + addedTracks.values
        return .array((videoTracks + audioTracks + subtitleTracks).map { $0.node(isSelected: selected.contains($0)) })
    }

    var chapterListNode: JSONValue {
        .array(
            chapters.map { chapter in
                .object([
                    ("title", .text(chapter.title ?? "")),
                    ("time", .real(chapter.start.seconds, decimals: ControlType.decimals)),
                ])
            })
    }
}

extension QueueItem {
    /// The address without passwords.
    package var shownAddress: String { PrintableText.withoutCredentials(address) }
}

extension Track {
    fileprivate func node(isSelected: Bool) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("id", .integer(number)), ("type", .text(kind == .subtitle ? "sub" : kind.rawValue)),
        ]
        if let title { members.append(("title", .text(title))) }
        if let language { members.append(("lang", .text(language))) }
        if purpose != .main { members.append(("purpose", .text(purpose.rawValue))) }
        let codec = audioFormat?.parameters.codec ?? videoFormat?.parameters.codec ?? subtitleFormat?.parameters.codec
        if let codec { members.append(("codec", .text(codec))) }
        members += [
            ("albumart", .flag(isCoverArt)), ("default", .flag(isDefault)), ("forced", .flag(isForced)),
            ("hearing-impaired", .flag(isForHearingImpaired || purpose == .hearingImpaired)),
            ("visual-impaired", .flag(purpose == .description)), ("external", .flag(isExternal)),
            ("selected", .flag(isSelected)),
        ]
        return .object(members)
    }
}
