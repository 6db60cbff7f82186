internal import AirPlay
internal import AirPlayTransport
internal import SyncRendering

extension OutputIdentity {
    /// Whether the text is the name, identifier or address of the output, or `local`.
    package func isMeant(by text: String) -> Bool {
        if [query, name, key].contains(where: { $0.lowercased() == text.lowercased() }) { return true }
        // ignored: what is no query names no speaker.
        switch try? SpeakerQuery(text) {
        case .id(let id)?: return id.digits == key
        case .address(let wanted)?: return wanted.description == address || wanted.description == query
        default: return false
        }
    }
}
