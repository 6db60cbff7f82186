import Glibc
import Kiosk
import MediaCore
import Playback
import SyncRendering
import Talkie

// Plays a list in a window in step with a wall, as a kiosk does: `wall-probe EPOCH PORT follow|alone FILM...`. EPOCH is in nanoseconds
// since 1970, PORT is chronyd's for questions. `alone` begins by the wall and then goes its own way. Ends on SIGTERM; what happens is written
// to standard output.

@Sendable func say(_ text: String) {
    let bytes = Array("\(text)\n".utf8)
    write(1, bytes, bytes.count)
}

let words = CommandLine.arguments
guard words.count > 4, let epoch = Int64(words[1]), let port = Int(words[2]) else {
    say("wall-probe EPOCH PORT follow|alone FILM...")
    exit(2)
}
try play(Array(words[4...]), from: WallInstant(nanoseconds: epoch), port: port, follows: words[3] == "follow")

@MainActor func play(_ films: [String], from epoch: WallInstant, port: Int, follows: Bool) throws {
    var options = PlayerOptions()
    options.playsAudio = false
    let parts = Player.Parts.film(audioOutput: nil, options: options)
    var extents: [FilmExtent] = []
    for film in films { extents.append(try parts.extent(of: film, options, OpenCancellation())) }
    let items = films.map { QueueItem($0) }
    for (item, extent) in zip(items, extents) { say("item \(item.name) \(extent.length.seconds) s") }

    let wall = WallClock(chrony: ChronyReader(port: port), tell: say)
    try wall.start()
    let player = Player(parts: parts, options: options, events: EventLog(clock: wall.clock)) { news in
        if case .message(let text) = news { say(text) }
    }
    guard let line = WallLine(epoch: epoch, items: extents) else { return say("there is nothing to play") }
    let follower = WallFollower(
        clock: wall, line: line,
        playing: { [weak player] in
            guard let state = player?.state, let id = state.current?.id,
                let item = items.firstIndex(where: { $0.id == id })
            else { return nil }
            return WallFollower.Playing(item: item, lineOffset: state.lineOffset)
        }, tell: say)
    player.append(items)
    player.setLoop(item: .times(0), list: .forever)
    let keeper = try WorkerThread.start(name: "wall") {
        keep(player, items, wall, follower, follows: follows)
    }
    signal(SIGTERM) { _ in _exit(0) }
    var screen = ScreenOptions()
    screen.size = PixelSize(width: 640, height: 360)
    screen.isFullScreen = true
    let window = PlayerWindow(title: "wall", options: screen)
    window.show(player)
    window.run()
    withExtendedLifetime(keeper) {}
}

/// What a kiosk's session does.
@Sendable func keep(
    _ player: Player, _ items: [QueueItem], _ wall: WallClock, _ follower: WallFollower, follows: Bool
) {
    func pause(_ duration: Duration) { HostInstant.now.advanced(by: duration).sleep() }
    func jump(_ meeting: WallFollower.Meeting) {
        let ahead = (meeting.instant - .now).inSeconds
        say("meeting item \(meeting.item) at \(meeting.position.seconds) s, in \(ahead) s")
        player.jump(to: items[meeting.item].id, at: meeting.position, perceivedAt: meeting.instant)
    }
    // The rate of the clock wants some readings.
    while wall.mapping == nil { pause(.milliseconds(100)) }
    pause(.seconds(12))
    if let meeting = follower.meeting(from: .now) { jump(meeting) }
    if follows { player.synchronizer.follow(follower) }
    for looks in 1... {
        pause(.milliseconds(250))
        if follows, let meeting = follower.attend(.now) { jump(meeting) }
        guard looks % 20 == 0, let mapping = wall.mapping else { continue }
        let late = follower.status.outcome.map { "\($0.late.inMilliseconds) ms" } ?? "unknown"
        let (bend, rate) = (mapping.rateOffset * 1e6, player.synchronizer.timebase.rate)
        say("late \(late), clock \(wall.shown.standing.rawValue), \(bend) ppm, line at \(rate)")
    }
}
