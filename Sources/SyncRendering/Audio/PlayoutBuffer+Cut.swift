public import MediaCore
internal import Synchronization

/// Taking back the end of what was accepted. Feeder only.
extension PlayoutBuffer {
    /// Asks the pump to let go of everything from a film time on; the answer comes with its next step.
    public func beginCut(at time: MediaTime) {
        guard !isCutAbandoned || forgetCut() else { return }
        guard let position = position(of: time), position < ring.writePosition else { return }
        cut.ask(position)
    }

    /// What came of `beginCut`; nil while the pump has not answered.
    ///
    /// - Parameter lead: what to say that would have been needed, beyond the sound already rendered.
    public func cutResult(lead: Duration) -> PartialFlushResult? {
        if cut.isIdle { return .flushed(from: acceptedUntil ?? .zero) }
        switch cut.answer {
        case nil: return nil
        case .refused:
            cut.lift()
            return .refused(leadNeeded: lead)
        case .agreed(let position, let marks):
            takeBack(to: position, marks: marks)
            cut.lift()
            return .flushed(from: acceptedUntil ?? .zero)
        }
    }

    private func takeBack(to position: Int64, marks: Int) {
        ring.rollBack(to: position)
        markTail.store(marks, ordering: .releasing)
        finishedCell.store(false, ordering: .releasing)
        let end = ring.writePosition
        if end <= max(linePosition, liveFrom) || marks == firstMark {
            // The last piece has gone whole; the one before it, if there is one, is the line again.
            hasLine = marks > firstMark && end > liveFrom
            if hasLine {
                let mark = mark(marks - 1)
                lineStart = MediaTime(nanoseconds: mark.mediaNanoseconds)
                (linePosition, lineSpeed) = (mark.position, mark.speed)
            }
        }
        guard hasLine else { return accepted.store(AcceptedUntil(time: .zero, isKnown: false)) }
        let time = lineStart + duration(ofFrames: end - linePosition, speed: lineSpeed)
        accepted.store(AcceptedUntil(time: time, isKnown: true))
    }

    /// The ring position of a film time among what was accepted since the last flush; nil when there is nothing.
    private func position(of time: MediaTime) -> Int64? {
        guard hasLine else { return nil }
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

    /// Gets rid of a cut that a flush has overtaken; false while the pump is just answering.
    func forgetCut() -> Bool {
        guard cut.withdraw() else { return false }
        isCutAbandoned = false
        return true
    }
}
