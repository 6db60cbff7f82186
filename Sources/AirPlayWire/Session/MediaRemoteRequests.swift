internal import MediaCore

/// Builds the bodies of `POST /command` about the item, for receivers with the feature bit 50: binary property lists of
/// Apple's MediaRemote.
package enum MediaRemoteRequests {
    /// The position in the item.
    package struct Position: Hashable, Sendable {
        package var elapsed: Duration
        /// Media seconds per second; 0 while paused.
        package var rate: Double
        /// Seconds since 2001 at which the elapsed time is right.
        package var date: Double

        package init(elapsed: Duration, rate: Double, date: Double) {
            (self.elapsed, self.rate, self.date) = (elapsed, rate, date)
        }

        fileprivate var members: [String: PropertyList] {
            [
                "ElapsedTime": .real(elapsed.inSeconds), "PlaybackRate": .real(rate), "DefaultPlaybackRate": .real(1),
                "Timestamp": .date(date),
            ]
        }
    }

    /// Returns a description of an item, which replaces the receiver's.
    ///
    /// - Parameters:
    ///   - identifier: A number of the item.
    ///   - artwork: An image file and its MIME type; nil: none.
    package static func item(
        _ track: TrackMetadata, identifier: UInt32, artwork: (bytes: [UInt8], type: String)?, at position: Position
    ) -> PropertyList {
        var members = position.members
        members["Title"] = .string(track.title)
        if !track.artist.isEmpty { members["Artist"] = .string(track.artist) }
        if !track.album.isEmpty { members["Album"] = .string(track.album) }
        if !track.genre.isEmpty { members["Genre"] = .string(track.genre) }
        members["TrackNumber"] = .integer(Int64(track.number))
        if let duration = track.duration { members["Duration"] = .real(duration.inSeconds) }
        // A receiver that shows music expects this value; that of films is not verified.
        members["MediaType"] = "MRMediaRemoteMediaTypeMusic"
        members["UniqueIdentifier"] = .integer(Int64(identifier))
        if let artwork {
            members["ArtworkIdentifier"] = .string(String(identifier))
            members["ArtworkMIMEType"] = .string(artwork.type)
            members["ArtworkData"] = .data(artwork.bytes)
        }
        return information(members, mergePolicy: "replace")
    }

    /// Returns a change of the position in the item that was described last.
    package static func position(_ position: Position) -> PropertyList {
        information(position.members, mergePolicy: "update")
    }

    private static func information(_ members: [String: PropertyList], mergePolicy: PropertyList) -> PropertyList {
        let named = members.map { ("kMRMediaRemoteNowPlayingInfo" + $0, $1) }
        return [
            "type": "updateMRNowPlayingInfo",
            "params": [
                "type": "npi-text", "mergePolicy": mergePolicy,
                "params": .dictionary(Dictionary(uniqueKeysWithValues: named)),
            ],
        ]
    }

    /// Returns the state of playback.
    package static func state(isPlaying: Bool) -> PropertyList {
        ["type": "updateMRPlaybackState", "params": ["mrPlaybackState": isPlaying ? 1 : 2]]
    }

    /// Returns the commands that the sender accepts: play, pause, toggle, stop, next, previous.
    package static func commands() -> PropertyList {
        let commands = (Int64(0)...5).map { number -> PropertyList in
            let list: PropertyList = ["kCommandInfoCommandKey": .integer(number), "kCommandInfoEnabledKey": true]
            return .data(list.binary())
        }
        return [
            "type": "updateMRSupportedCommands", "params": ["mrSupportedCommandsFromSender": .array(commands)],
        ]
    }
}
