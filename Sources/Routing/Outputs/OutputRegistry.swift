public import MediaCore
public import SyncRendering

/// The output providers of a program. A new kind of output needs only another provider here.
///
/// Callable from any thread. Calls are forwarded to the place's provider and may block as it does.
public final class OutputRegistry: Sendable {
    let providers: [any OutputProvider]

    /// Creates a registry.
    ///
    /// - Parameter providers: In listing order. They are asked for names in this order, so one that accepts every name
    ///   is last.
    public init(_ providers: [any OutputProvider]) { self.providers = providers }

    /// Returns the places of user-provided names, each once: by provider, in order of first appearance.
    ///
    /// - Parameter notice: Receives a sentence about a wait.
    /// - Throws: As `OutputProvider.find`; `invalidArgument` for a name without provider.
    public func places(
        named names: [String], until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void = { _ in }
    ) throws(TalkieError) -> [OutputPlace] {
        var wanted: [(provider: any OutputProvider, names: [String])] = []
        for name in names {
            let provider = try provider(answeringTo: name)
            if let index = wanted.firstIndex(where: { $0.provider === provider }) {
                wanted[index].names.append(name)
            } else {
                wanted.append((provider, [name]))
            }
        }
        var places: [OutputPlace] = []
        for (provider, names) in wanted {
            for place in try provider.find(names, until: interruption, notice: notice) where !places.contains(place) {
                places.append(place)
            }
        }
        return places
    }

    func provider(answeringTo name: String) throws(TalkieError) -> any OutputProvider {
        guard let provider = providers.first(where: { $0.answers(to: name) }) else {
            throw TalkieError(.invalidArgument, "no output matches '\(PrintableText.of(name))'")
        }
        return provider
    }

    /// Returns the outputs of a place. See `OutputProvider.outputs(at:)`.
    ///
    /// - Throws: `unavailable` also for a place of an unknown provider.
    public func outputs(at place: OutputPlace) throws(TalkieError) -> [any AudioOutput] {
        guard let provider = providers.first(where: { $0.name == place.provider }) else {
            throw TalkieError(
                .unavailable, "'\(place.name)' belongs to a kind of speaker that this program does not support")
        }
        return try provider.outputs(at: place)
    }

    /// Returns the outputs of several places, each once.
    public func outputs(at places: [OutputPlace]) throws(TalkieError) -> [any AudioOutput] {
        var outputs: [any AudioOutput] = []
        for place in places {
            for output in try self.outputs(at: place) where !outputs.contains(where: { $0 === output }) {
                outputs.append(output)
            }
        }
        return outputs
    }

    /// Returns the identity of an output for calibrations; nil if no provider created it.
    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        for provider in providers { if let identity = provider.identity(of: output) { return identity } }
        return nil
    }

    /// Sets the handler for identity changes. See `OutputProvider.onIdentityChange`.
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {
        for provider in providers { provider.onIdentityChange(handler) }
    }

    /// Sentences about unreadable or unwritable state, by provider. See `OutputProvider.notes`.
    public var notes: [String] { providers.flatMap(\.notes) }

    /// Stores what was learned about the places. Call it after their outputs have been closed.
    public func remember() { for provider in providers { provider.remember() } }
}
