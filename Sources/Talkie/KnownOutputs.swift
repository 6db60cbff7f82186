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
    private struct WatchedCard: Sendable { weak var value: SoundCard? }

    /// The cards with a registered sink watcher; guarded by its lock.
    private let watched = Lock<[WatchedCard]>([])

    init(_ registry: OutputRegistry?) { self.registry = registry }

    func identity(of output: any AudioOutput) -> OutputIdentity? {
        if let identity = registry?.identity(of: output) { return identity }
        guard let card = output as? SoundCard else { return nil }
        let isNew = watched.withLock { watched in
            watched.removeAll { $0.value == nil }
            guard !watched.contains(where: { $0.value === card }) else { return false }
            watched.append(WatchedCard(value: card))
            return true
        }
        // Its sink becomes known while it joins.
        if isNew { card.addSinkWatcher { [calibration] in calibration.withLock { $0.value }?.reapply() } }
        return card.identity
    }
}
