internal import CardOutput
internal import MediaCore
internal import Profiles
internal import Routing
internal import SyncRendering

/// Identifies a player's outputs for calibrations: by the registry that created them; sound cards by their own
/// identity. Any thread.
final class KnownOutputs: Sendable {
    struct Reference: Sendable { weak var value: RouteCalibration? }

    /// The calibration to apply again when a card's sink changes; guarded by its lock.
    let calibration = Lock(Reference())
    private let registry: OutputRegistry?
    /// The cards with a registered sink watcher; guarded by its lock.
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
