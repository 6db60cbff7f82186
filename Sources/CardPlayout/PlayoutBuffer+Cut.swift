package import MediaCore
package import SyncRendering
internal import Synchronization

/// Removal of the end of the accepted audio. Called by the feeder only.
extension PlayoutBuffer {
    /// Requests the pump to release all audio from a media time on; it decides in its next step. Wait-free.
    package func beginCut(at time: MediaTime) {
        guard !isCutAbandoned || forgetCut() else { return }
        guard let position = position(of: time), position < ring.writePosition else { return }
        cut.ask(position)
    }

    /// Returns the result of `beginCut`; nil until the pump has decided. Wait-free.
    ///
    /// - Parameter lead: The required lead to report on refusal, beyond the rendered audio.
    package func cutResult(lead: Duration) -> PartialFlushResult? {
        if cut.isIdle { return .flushed(from: acceptedUntil ?? .zero) }
        switch cut.answer {
        case nil: return nil
        case .refused:
            cut.lift()
            return .refused(leadNeeded: lead)
        case .agreed(let position, let marks):
            rollBack(to: position, marks: marks)
            cut.lift()
            return .flushed(from: acceptedUntil ?? .zero)
        }
    }

    /// Rolls the ring and the marks back and restores `acceptedUntil`.
    private func rollBack(to position: Int64, marks: Int) {
        ring.rollBack(to: position)
        markTail.store(marks, ordering: .releasing)
        finishedCell.store(false, ordering: .releasing)
        let end = ring.writePosition
        if end <= max(segmentPosition, liveFrom) || marks == firstMark {
            // The last segment is removed completely; the preceding one, if any, becomes the current one.
            hasSegment = marks > firstMark && end > liveFrom
            if hasSegment {
                let mark = mark(marks - 1)
                segmentStart = MediaTime(nanoseconds: mark.mediaNanoseconds)
                (segmentPosition, segmentSpeed) = (mark.position, mark.speed)
            }
        }
        guard hasSegment else { return accepted.store(AcceptedUntil(time: .zero, isKnown: false)) }
        let time = segmentStart + duration(ofFrames: end - segmentPosition, speed: segmentSpeed)
        accepted.store(AcceptedUntil(time: time, isKnown: true))
    }

    /// Returns the ring position of a media time within the audio accepted since the last flush; nil if there is none.
    private func position(of time: MediaTime) -> Int64? {
        guard hasSegment else { return nil }
        let write = ring.writePosition
        let tail = markTail.load(ordering: .relaxed)
        var end = write
        var number = tail - 1
        while number >= firstMark, mark(number).position >= liveFrom || number == tail - 1 {
            let mark = mark(number)
            let away = Double(time.nanoseconds - mark.mediaNanoseconds) * 1e-9
            if away >= 0 {
                let frames = (away * Double(format.sampleRate) / mark.speed).rounded()
                return max(liveFrom, min(end, mark.position + Int64(min(frames, 1e15))))
            }
            end = mark.position
            number -= 1
        }
        return max(liveFrom, end)
    }

    /// Withdraws a cut that a flush has superseded; returns false while the pump is deciding.
    func forgetCut() -> Bool {
        guard cut.withdraw() else { return false }
        isCutAbandoned = false
        return true
    }
}
