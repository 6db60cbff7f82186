/// How early a speaker must be told of a start so that it seats the first sound well.
struct StartLeads: Equatable, Sendable {
    /// From when its clock is there until it is told: it reads its stream meanwhile.
    let look: Duration
    /// From when it is told until the first sound.
    let request: Duration
    /// A start that is nearer than this when the speaker joins it seats badly: what it gets begins later.
    let seat: Duration

    /// - Parameter isAsking: the speaker measures our clock and places sound by what it measured; others are of
    ///   shairport-sync's kind. That one seats a start up to 9 ms late when told less than 0.4 s ahead, and within
    ///   0.3 ms when told more (measured), and then takes seconds to draw level.
    init(isAsking: Bool) {
        look = isAsking ? .milliseconds(30) : .milliseconds(150)
        // A tenth of a second more than it needs: a pause and a flush may be on their way before the start.
        request = isAsking ? .milliseconds(250) : .milliseconds(500)
        seat = isAsking ? .milliseconds(150) : .milliseconds(400)
    }
}
