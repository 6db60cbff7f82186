public import MediaCore
public import SyncRendering

/// The kinds of places that sound can go to in this program. A new kind is one more provider in its list.
///
/// Any thread. Calls go to the provider whose place it is; they may block where the provider's may.
public final class OutputRegistry: Sendable {
    let providers: [any OutputProvider]

    /// - Parameter providers: in the order in which their places are listed, and asked for names: who answers to every name comes last.
    public init(_ providers: [any OutputProvider]) { self.providers = providers }

    /// The places that a person named, each once: provider by provider, as they were named first.
    ///
    /// - Parameter notice: told what is waited for.
    /// - Throws: as `OutputProvider.find`; `invalidArgument` for a name that no provider answers to.
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
            throw TalkieError(.invalidArgument, "nothing here answers to '\(PrintableText.of(name))'")
        }
        return provider
    }

    /// See `OutputProvider.outputs(at:)`.
    public func outputs(at place: OutputPlace) throws(TalkieError) -> [any AudioOutput] {
        guard let provider = providers.first(where: { $0.name == place.provider }) else {
            throw TalkieError(
                .unavailable, "'\(place.name)' belongs to a kind of speaker that this program does not know")
        }
        return try provider.outputs(at: place)
    }

    /// The outputs at several places, each once.
    public func outputs(at places: [OutputPlace]) throws(TalkieError) -> [any AudioOutput] {
        var outputs: [any AudioOutput] = []
        for place in places {
            for output in try self.outputs(at: place) where !outputs.contains(where: { $0 === output }) {
                outputs.append(output)
            }
        }
        return outputs
    }

    /// How calibrations know an output; nil for one that was made elsewhere.
    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        for provider in providers { if let identity = provider.identity(of: output) { return identity } }
        return nil
    }

    /// See `OutputProvider.onIdentityChange`.
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {
        for provider in providers { provider.onIdentityChange(handler) }
    }

    /// See `OutputProvider.setTitle`.
    public func setTitle(_ title: String) { for provider in providers { provider.setTitle(title) } }

    /// What the providers could not keep or read so far, provider by provider. See `OutputProvider.notes`.
    public var notes: [String] { providers.flatMap(\.notes) }

    /// Keeps what was learned about the places. After their outputs have been closed.
    public func remember() { for provider in providers { provider.remember() } }
}
