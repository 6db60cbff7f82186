internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering

/// The destinations where the sound can be played, as published by the session for other threads. Any thread.
final class SessionRooms: Sendable {
    /// The destinations, and the identifiers of the current ones.
    private let published = Lock<(rows: [RoutePicker.Row], ids: [String])>(([], []))

    /// Replaces the destinations. Returns whether they have changed.
    func set(_ rows: [RoutePicker.Row], ids: [String]) -> Bool {
        published.withLock { published in
            guard published != (rows, ids) else { return false }
            published = (rows, ids)
            return true
        }
    }

    /// The identifiers of the current destinations, separated by commas; nil without sound.
    var current: String? {
        let ids = published.withLock { $0.ids }
        return ids.isEmpty ? nil : ids.joined(separator: ",")
    }

    /// Returns the identifiers of a list that is separated by commas.
    ///
    /// - Throws: `unavailable` for a destination that is unknown or has an obstacle.
    func ids(_ list: String) throws(ControlError) -> [String] {
        let rows = published.withLock { $0.rows }
        var ids: [String] = []
        var rest = list.drop { $0 == "," }
        while !rest.isEmpty {
            // Those of sound cards have commas: alsa:hdmi:CARD=PCH,DEV=0.
            let known = rows.map(\.id).filter { rest == $0 || rest.hasPrefix($0 + ",") }
            let id = known.max { $0.count < $1.count } ?? String(rest.prefix { $0 != "," })
            guard let row = rows.first(where: { $0.id == id }) else {
                throw ControlError(
                    .unavailable, "there is no output '\(PrintableText.truncated(PrintableText.of(id), to: 40))'")
            }
            if let obstacle = row.obstacle { throw ControlError(.unavailable, obstacle) }
            ids.append(id)
            rest = rest.dropFirst(id.count).drop { $0 == "," }
        }
        guard !ids.isEmpty else { throw ControlError(.wrongType, "the list of outputs is empty") }
        return ids
    }

    /// The destinations for controllers.
    var node: JSONValue {
        .array(
            published.withLock { $0.rows }.map { row in
                var members: [(String, JSONValue)] = [
                    ("name", .text(row.id)), ("description", .text(row.name)), ("selected", .flag(row.isTicked)),
                    ("volume", .optional(row.volume, decimals: 1)),
                ]
                if let language = row.language { members.append(("language", .text(language))) }
                if let pending = row.pending { members.append(("pending", .text(pending))) }
                if let choice = row.choice { members.append(("lang", .text(choice.text))) }
                if let problem = row.problem { members.append(("problem", .text(problem))) }
                if let obstacle = row.obstacle { members.append(("obstacle", .text(obstacle))) }
                if let pairing = row.pairing { members.append(("pairing", .text(pairing.rawValue))) }
                return .object(members)
            })
    }
}
