internal import MediaCore
internal import SyncRendering

extension QueueCore {
    /// So much before its beginning an item's pictures are opened and decoded, also where its sound was sent minutes ago.
    private static let pictureLead: Duration = .seconds(6)

    /// Brings the pictures to what is laid out.
    func followPictures() {
        for item in reader.takeOpened() { opened[item.serial] = item }
        if opened.count > timeline.entries.count {
            let serials = Set(timeline.entries.map(\.serial))
            opened = opened.filter { serials.contains($0.key) }
        }
        guard let pictures else { return }
        for (serial, error) in pictures.takeFailures() {
            guard let entry = timeline.entries.first(where: { $0.serial == serial }) else { continue }
            tell(.message("\(entry.item.title ?? entry.item.address) plays without its picture: \(error.message)"))
        }
        pictures.plan(pictureJobs(), heardFrom: time(timeline.entries.first?.start ?? 0))
    }

    private func pictureJobs() -> [PictureJob] {
        var jobs: [PictureJob] = []
        for (index, entry) in timeline.entries.enumerated() {
            guard let item = opened[entry.serial] else { continue }
            guard isDue(index) || item.source != nil else { break }
            let kind: PictureJob.Kind
            if let track = item.pictures {
                kind = track.isCoverArt ? .still(track) : .film(track)
                isScreenLit = true
            } else if isScreenLit {
                kind = .blank
            } else {
                // A queue of sound alone opens no window.
                continue
            }
            jobs.append(
                PictureJob(
                    serial: entry.serial, item: entry.item, kind: kind, source: item.source, offset: time(entry.offset),
                    start: entry.start.map { time($0) }, end: entry.isComplete ? entry.end.map { time($0) } : nil))
        }
        return jobs
    }

    private func isDue(_ index: Int) -> Bool {
        guard index > 0 else { return true }
        guard let reach = timeline.entries[index].start ?? timeline.entries[index - 1].end else { return false }
        return (time(reach) - synchronizer.currentTime).duration < Self.pictureLead
    }

    /// Whether a start need not wait for a picture any more.
    func isPictureReady(for entry: QueueTimeline.Entry) -> Bool {
        guard let pictures, opened[entry.serial]?.pictures != nil else { return true }
        return layer.count > 0 || layer.shownTime != nil || pictures.hasFinished(entry.serial)
    }

    /// What an interface is told about the item that is heard.
    func describePictures(of entry: QueueTimeline.Entry?) {
        let item = entry.flatMap { opened[$0.serial] }
        state.pictureFormat = item?.pictures?.videoFormat
        state.hasPictures = item?.pictures.map { !$0.isCoverArt } ?? false
        if let entry, entry.isComplete, !entry.isCut {
            state.duration = time(entry.offset + entry.written)
        } else {
            state.duration = item?.duration
        }
    }
}
