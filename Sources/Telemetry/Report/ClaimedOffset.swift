/// Sound against picture on one route: each picture's lateness against the sound's lateness at that moment, which
/// is interpolated between the drift events around it. Positive: sound later than picture. Constant memory.
package struct ClaimedOffset {
    /// A picture that waits for the next word about sound: when it became visible, and how late that was, in ms.
    package struct Shown {
        package var seconds: Double
        package var error: Double
    }

    /// Pictures that may wait: at 60 a second over a minute without news about sound.
    private static let mostWaiting = 4096
    /// How long the last word about sound is believed, in seconds.
    private static let belief = 10.0

    private var waiting: [Shown] = []
    private var last: (seconds: Double, error: Double)?
    /// The last word was a speaker's line, which holds until there is another.
    private var isHeld = false
    private(set) var quantities = QuantileSketch()
    private(set) var trend = TrendLine()
    private(set) var series = DecimatedSeries()
    /// Pictures with no sound to compare them with.
    private(set) var unmatched = 0

    package mutating func shown(_ picture: Shown) {
        if waiting.count >= Self.mostWaiting { settle() }
        waiting.append(picture)
    }

    /// Sound was this late (ms) at this moment.
    ///
    /// - Parameter holds: it is told once and stays so until sound begins anew: a speaker's line, not a reading.
    package mutating func heard(error: Double, at seconds: Double, holds: Bool = false) {
        isHeld = holds
        var rest = 0
        for picture in waiting {
            guard picture.seconds <= seconds else {
                waiting[rest] = picture
                rest += 1
                continue
            }
            guard let last, seconds > last.seconds else {
                // After a start the first word about sound speaks for what was just before it.
                compare(picture, with: error)
                continue
            }
            let share = max(0, (picture.seconds - last.seconds) / (seconds - last.seconds))
            compare(picture, with: last.error + (error - last.error) * share)
        }
        waiting.removeLast(waiting.count - rest)
        last = (seconds, error)
    }

    /// Nothing more will be said about the pictures that wait: the last word counts while it is fresh.
    mutating func settle() {
        for picture in waiting {
            if let last, isHeld || picture.seconds - last.seconds <= Self.belief {
                compare(picture, with: last.error)
            } else {
                unmatched += 1
            }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    /// Sound begins anew; what was said before does not hold any more.
    package mutating func restart() {
        settle()
        last = nil
    }

    /// What was shown so far was not for this sound.
    package mutating func forget() {
        waiting.removeAll(keepingCapacity: true)
        last = nil
    }

    private mutating func compare(_ picture: Shown, with sound: Double) {
        let offset = sound - picture.error
        quantities.add(offset)
        trend.add(x: picture.seconds, y: offset)
        series.add(offset, at: picture.seconds)
    }
}
