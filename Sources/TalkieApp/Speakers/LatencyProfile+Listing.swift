import AirPlay
internal import AirPlayTransport
internal import MediaCore
import Profiles

extension LatencyProfile {
    /// Returns the listings with the calibrations of each speaker added.
    static func shown(in listings: [SpeakerListing], _ profiles: [LatencyProfile]) -> [SpeakerListing] {
        guard !profiles.isEmpty else { return listings }
        return listings.map { listing in
            var listing = listing
            let keys = Set(listing.entry.members.compactMap { $0.id?.digits })
            listing.calibrations = profiles.filter { keys.contains($0.key.speaker) }.map(\.listed)
            return listing
        }
    }

    private var listed: SpeakerListing.Calibration {
        var text = key.route
        if let offset { text += ", sound \(Decimals.signed(offset, 1)) ms relative to picture" }
        if !key.screen.isEmpty { text += ", with \(key.screen) (\(key.mode))" }
        if let room { text += ", \(Decimals.signed(room.behindFirst, 1)) ms after the first room" }
        return SpeakerListing.Calibration(
            route: key.route, screen: key.screen, mode: key.mode, offset: offset, text: text)
    }
}
