public import MediaCore
public import SyncRendering

/// The output providers of a program. A new kind of output needs only another provider here.
///
/// Callable from any thread. Calls are forwarded to the destination's provider and may block as it does.
public final class OutputRegistry: Sendable {
    /// By precedence, then by name.
    let providers: [any OutputProvider]

    /// Creates a registry of providers with different names. Their order has no meaning.
    public init(_ providers: [any OutputProvider]) {
        self.providers = providers.sorted { one, other in
            one.precedence != other.precedence ? one.precedence > other.precedence : one.name < other.name
        }
    }

    /// Returns the providers that may know a name, best match first.
    func providers(for name: String) -> [any OutputProvider] {
        // Once for each: a match may be looked up.
        let matches = providers.map { ($0, $0.match(name)) }
        return matches.filter { $0.1 == .certain }.map(\.0) + matches.filter { $0.1 == .possible }.map(\.0)
    }

    /// Returns the destinations of user-provided names, each once: by provider, in order of first appearance.
    ///
    /// A name whose provider cannot use the device is passed to the next one that may know it: a device may know
    /// several protocols.
    ///
    /// - Parameter notice: Receives a sentence about a wait.
    /// - Throws: As `OutputProvider.find`; `invalidArgument` for a name without provider.
    public func destinations(
        named names: [String], until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void = { _ in }
    ) throws(TalkieError) -> [OutputDestination] {
        var wanted: [(provider: any OutputProvider, names: [String])] = []
        for name in names {
            let provider = try provider(for: name)
            if let index = wanted.firstIndex(where: { $0.provider === provider }) {
                wanted[index].names.append(name)
            } else {
                wanted.append((provider, [name]))
            }
        }
        var destinations: [OutputDestination] = []
        for (provider, names) in wanted {
            for destination in try found(names, by: provider, until: interruption, notice)
            where !destinations.contains(where: { $0.id == destination.id }) { destinations.append(destination) }
        }
        return destinations
    }

    /// Returns the destinations of names by their provider, or each by the first one that can use the device.
    ///
    /// - Throws: The error of the preferred provider, unless another one refuses the device for another reason: one
    ///   whose identity is doubted gets no audio by another protocol.
    private func found(
        _ names: [String], by provider: any OutputProvider, until interruption: Interruption,
        _ notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputDestination] {
        let failure: TalkieError
        do throws(TalkieError) {
            return try provider.find(names, until: interruption, notice: notice)
        } catch {
            guard error.code == .unsupported, interruption.status == nil else { throw error }
            failure = error
        }
        guard names.count == 1 else {
            var destinations: [OutputDestination] = []
            for name in names { destinations += try found([name], by: provider, until: interruption, notice) }
            return destinations
        }
        for other in providers(for: names[0]).drop(while: { $0 !== provider }).dropFirst() {
            do throws(TalkieError) {
                let destinations = try other.find(names, until: interruption, notice: notice)
                // Empty: this provider does not know the device.
                if !destinations.isEmpty { return destinations }
            } catch {
                guard [.unsupported, .unavailable].contains(error.code) else { throw error }
            }
        }
        throw failure.asUnavailable
    }

    func provider(for name: String) throws(TalkieError) -> any OutputProvider {
        guard let provider = providers(for: name).first else {
            throw TalkieError(.invalidArgument, "no output matches '\(PrintableText.of(name))'")
        }
        return provider
    }

    /// Returns the outputs of a destination, by its provider or the next one that can use the device. See
    /// `OutputProvider.outputs(at:)`.
    ///
    /// - Throws: `unavailable` also for a destination of an unknown provider.
    public func outputs(at destination: OutputDestination) throws(TalkieError) -> [any AudioOutput] {
        guard let first = providers.firstIndex(where: { $0.name == destination.provider }) else {
            throw TalkieError(
                .unavailable, "'\(destination.name)' belongs to a kind of speaker that this program does not support")
        }
        do throws(TalkieError) {
            return try providers[first].outputs(at: destination)
        } catch {
            guard error.code == .unsupported else { throw error }
            for provider in providers[(first + 1)...] {
                // ignored: the error of the destination's own provider is thrown.
                if let outputs = try? provider.outputs(at: destination), !outputs.isEmpty { return outputs }
            }
            throw error.asUnavailable
        }
    }

    /// Returns the outputs of several destinations, each once.
    public func outputs(at destinations: [OutputDestination]) throws(TalkieError) -> [any AudioOutput] {
        var outputs: [any AudioOutput] = []
        for destination in destinations {
            for output in try self.outputs(at: destination) where !outputs.contains(where: { $0 === output }) {
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

    /// Stores what was learned about the destinations. Call it after their outputs have been closed.
    public func remember() { for provider in providers { provider.remember() } }
}

extension TalkieError {
    /// The error if no provider can use a device.
    var asUnavailable: TalkieError {
        code == .unsupported ? TalkieError(.unavailable, problem, remedy: remedy) : self
    }
}
