package import AirPlayWire
package import Discovery
internal import MediaCore
package import Sockets

/// Combines all announcements on the network into speakers. Performs no I/O.
///
/// The input is not trusted. It stores at most `serviceLimit` announcements of bounded size, at most `sourceLimit` of
/// them from one address. It lists at most `speakerLimit` speakers; requested ones take precedence.
package struct SpeakerDirectory: Sendable {
    /// avahi-daemon allows 1024 objects per client (`objects-per-client-max`); each announcement uses one.
    package static let serviceLimit = 960
    /// The maximum number of listed speakers.
    package static let speakerLimit = 256
    /// The maximum per address. A computer that plays for eight rooms on two networks announces 32 services.
    package static let sourceLimit = 64
    /// The maximum number of requested services with one name or identifier; more are spoofed.
    private static let namesakeLimit = 16

    private struct Service: Sendable {
        /// Order of appearance.
        let age: UInt64
        /// Whether it was requested and is never evicted.
        var isRequested: Bool
        var resolution: Resolution?
    }

    private struct Resolution: Hashable, Sendable {
        /// Order of arrival: of several announcements of one service the last one is valid.
        var serial: UInt64
        var endpoint: NetworkEndpoint
        var id: SpeakerID?
        var traits: SpeakerTraits
    }

    private var services: [ServiceName: Service] = [:]
    private var counter: UInt64 = 0
    private var unresolvedCount = 0
    /// The number of announcements per address.
    private var sources: [NetworkAddress: Int] = [:]
    private let limit: Int
    /// The requested speakers, which are always admitted.
    package var requests = SpeakerRequests() {
        didSet {
            guard requests != oldValue else { return }
            for name in services.keys { services[name]!.isRequested = false }
            for (name, service) in services.sorted(by: { $0.value.age < $1.value.age }) {
                services[name]!.isRequested = isRequested(name, service.resolution?.id)
            }
        }
    }
    /// The total number of announcements that were not admitted.
    package private(set) var refusals = 0

    package init() { self.init(serviceLimit: Self.serviceLimit) }

    /// Creates a directory with another limit, for tests.
    package init(serviceLimit: Int) { limit = serviceLimit }

    /// The result of `found`.
    package enum Admission: Hashable, Sendable {
        case known
        case admitted
        /// Admitted in place of this service: the oldest unresolved one. For a requested service also the newest one of
        /// the address with the most services.
        case replacing(ServiceName)
        case refused
    }

    /// Adds a service whose address is not yet known.
    package mutating func found(_ name: ServiceName) -> Admission {
        if services[name] != nil { return .known }
        var evicted: ServiceName?
        // Directly resolved names are bounded by `requests`.
        if services.count >= limit, !name.isSought {
            refusals += 1
            guard let candidate = evictionCandidate(to: name) else { return .refused }
            lost(candidate)
            evicted = candidate
        }
        counter += 1
        services[name] = Service(age: counter, isRequested: isRequested(name, nil))
        unresolvedCount += 1
        return evicted.map { .replacing($0) } ?? .admitted
    }

    /// Returns the service to evict for another one; nil: none.
    private func evictionCandidate(to name: ServiceName) -> ServiceName? {
        if unresolvedCount > 0,
            let oldest = services.filter({ $0.value.resolution == nil && !$0.value.isRequested })
                .min(by: { $0.value.age < $1.value.age })
        {
            return oldest.key
        }
        guard isRequested(name, nil) else { return nil }
        return services.filter { !$0.value.isRequested }.max { left, right in
            let counts = [left, right].map { one in one.value.resolution.flatMap { sources[$0.endpoint.address] } ?? 0 }
            return counts[0] != counts[1] ? counts[0] < counts[1] : left.value.age < right.value.age
        }?.key
    }

    /// Whether a service is always admitted; limited to `namesakeLimit` per name or identifier.
    private func isRequested(_ name: ServiceName, _ id: SpeakerID?) -> Bool {
        let (id, wanted) = (id ?? name.components.id, name.components.name.lowercased())
        guard requests.contain(name.components.name, id) else { return false }
        let namesakes = services.reduce(0) { count, other in
            guard other.value.isRequested, other.key != name else { return count }
            let components = other.key.components
            let isSame =
                components.name.lowercased() == wanted
                || id != nil && (other.value.resolution?.id ?? components.id) == id
            return count + (isSame ? 1 : 0)
        }
        return namesakes < Self.namesakeLimit
    }

    /// Sets or updates the address and record of a service. Ignored unless it was `found`.
    ///
    /// - Returns: False if its address has reached `sourceLimit`: the service is removed.
    @discardableResult
    package mutating func resolved(_ name: ServiceName, at endpoint: NetworkEndpoint, record: TXTRecord) -> Bool {
        guard var service = services[name], endpoint.address.isUnicast, endpoint.port != 0 else { return true }
        counter += 1
        var traits = SpeakerTraits(record)
        let announced = name.kind == .airPlay ? record["deviceid"].flatMap { SpeakerID($0) } : nil
        // Announcements of one service may omit group hints; a missing group does not clear known ones.
        if traits.group.isEmpty, let known = service.resolution { traits.group = known.traits.group }
        let id = announced ?? name.components.id
        let before = service.resolution?.endpoint.address
        if !service.isRequested { service.isRequested = isRequested(name, id) }
        if before != endpoint.address, sources[endpoint.address, default: 0] >= Self.sourceLimit, !service.isRequested {
            refusals += 1
            lost(name)
            return false
        }
        if let before { removeSource(before) } else { unresolvedCount -= 1 }
        sources[endpoint.address, default: 0] += 1
        service.resolution = Resolution(serial: counter, endpoint: endpoint, id: id, traits: traits)
        services[name] = service
        return true
    }

    private mutating func removeSource(_ source: NetworkAddress) {
        guard let count = sources[source] else { return }
        sources[source] = count > 1 ? count - 1 : nil
    }

    /// Removes a service that said goodbye or expired.
    package mutating func lost(_ name: ServiceName) {
        guard let service = services.removeValue(forKey: name) else { return }
        if let resolution = service.resolution {
            removeSource(resolution.endpoint.address)
        } else {
            unresolvedCount -= 1
        }
    }

    /// Removes all services, after the daemon disconnected.
    package mutating func clear() {
        services = [:]
        sources = [:]
        unresolvedCount = 0
    }

    /// The number of services whose address is not yet known.
    package var pending: Int { unresolvedCount }
    /// The number of services.
    package var count: Int { services.count }

    /// The speakers, ordered by name and identifier.
    ///
    /// Above `speakerLimit`, requested speakers are selected first, then one per address, then the others in order of
    /// appearance.
    package var speakers: [DiscoveredSpeaker] {
        var gathered: [DiscoveredSpeaker.Key: Gathering] = [:]
        var firstKeys: [SpeakerID: DiscoveredSpeaker.Key] = [:]
        let known = services.filter { $0.value.resolution != nil }.sorted { left, right in
            if left.key.isSought != right.key.isSought { return right.key.isSought }
            return left.value.age < right.value.age
        }
        for (name, service) in known where name.kind == .airPlay {
            let resolution = service.resolution!
            var key = DiscoveredSpeaker.Key(id: resolution.id, name: PrintableText.of(name.components.name))
            // A directly resolved service uses the announced spelling of its name.
            if name.isSought, let known = gathered.keys.first(where: { $0.id == key.id && $0.isNamesake(of: key) }) {
                key = known
            }
            gathered[key, default: Gathering(age: service.age)].add(resolution, kind: .airPlay)
            if let id = resolution.id, firstKeys[id] == nil { firstKeys[id] = key }
        }
        for (name, service) in known where name.kind == .raop {
            let resolution = service.resolution!
            let own = DiscoveredSpeaker.Key(id: resolution.id, name: PrintableText.of(name.components.name))
            // Combined by identifier. Names can differ: a conflict renames only the service without the identifier in
            // its name.
            let joined = gathered[own] != nil ? own : resolution.id.flatMap { firstKeys[$0] } ?? own
            gathered[joined, default: Gathering(age: service.age)].add(resolution, kind: .raop)
        }
        let all = gathered.sorted { $0.value.age < $1.value.age }.map { $0.value.speaker(for: $0.key) }
        return chosen(all).sorted { left, right in
            let names = (left.name.lowercased(), right.name.lowercased())
            return names.0 != names.1 ? names.0 < names.1 : (left.id?.digits ?? "") < (right.id?.digits ?? "")
        }
    }

    private func chosen(_ speakers: [DiscoveredSpeaker]) -> [DiscoveredSpeaker] {
        guard speakers.count > Self.speakerLimit else { return speakers }
        var namesakes: [String: Int] = [:]
        var neighbours: [NetworkAddress: Int] = [:]
        let ranks = speakers.map { speaker in
            if requests.contain(speaker.name, speaker.id) {
                namesakes[speaker.id?.digits ?? speaker.name.lowercased(), default: 0] += 1
                if namesakes[speaker.id?.digits ?? speaker.name.lowercased()]! <= Self.namesakeLimit { return 0 }
            }
            guard let address = speaker.endpoint?.address else { return 2 }
            neighbours[address, default: 0] += 1
            return neighbours[address] == 1 ? 1 : 2
        }
        let order = speakers.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
        return order.prefix(Self.speakerLimit).map { speakers[$0] }
    }

    /// The announcements of one speaker.
    private struct Gathering {
        let age: UInt64
        private var airPlay: [Resolution] = []
        private var raop: [Resolution] = []

        init(age: UInt64) { self.age = age }

        mutating func add(_ resolution: Resolution, kind: ServiceName.Kind) {
            if kind == .airPlay { airPlay.append(resolution) } else { raop.append(resolution) }
        }

        func speaker(for key: DiscoveredSpeaker.Key) -> DiscoveredSpeaker {
            func latest(_ resolutions: [Resolution]) -> SpeakerTraits? {
                resolutions.max { $0.serial < $1.serial }?.traits
            }
            let own = latest(airPlay)
            let other = latest(raop)
            return DiscoveredSpeaker(
                id: key.id, name: key.name,
                traits: other.map { (own ?? SpeakerTraits()).completed(by: $0) } ?? own ?? SpeakerTraits(),
                endpoints: Self.endpoints(airPlay), raopEndpoints: Self.endpoints(raop))
        }

        /// Returns each endpoint once, the preferred one first.
        private static func endpoints(_ resolutions: [Resolution]) -> [NetworkEndpoint] {
            Set(resolutions.map(\.endpoint)).sorted { left, right in
                let ranks = (left.address.rank, right.address.rank)
                if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
                return (left.address, left.port) < (right.address, right.port)
            }
        }
    }
}
