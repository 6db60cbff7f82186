internal import LocalOutput
internal import MediaCore
internal import Profiles
internal import Routing
internal import SyncRendering

/// How calibrations know a player's outputs: by the registry that made them, and sound cards by themselves. Any thread.
final class KnownOutputs: Sendable {
    struct Reference: Sendable { weak var value: RouteCalibration? }

    /// Applied anew when a card turns out to be heard elsewhere.
    let calibration = Lock(Reference())
    private let registry: OutputRegistry?
    private let watched = Lock<[ObjectIdentifier]>([])

    init(_ registry: OutputRegistry?) { self.registry = registry }

    func identity(of output: any AudioOutput) -> OutputIdentity? {
        if let identity = registry?.identity(of: output) { return identity }
        guard let card = output as? SoundCard else { return nil }
        let isNew = watched.withLock { watched in
            guard !watched.contains(ObjectIdentifier(card)) else { return false }
            watched.append(ObjectIdentifier(card))
            return true
        }
        if isNew { card.addSinkWatcher { [calibration] in calibration.withLock { $0.value }?.apply() } }
        return card.identity
    }
}
