package import AirPlayWire
package import Discovery
internal import MediaCore
package import Sockets

/// Everything announced on the network, joined into speakers. No I/O: news in, a list out.
///
/// The network is a stranger: whatever it announces, this holds at most `serviceLimit` announcements of bounded size
/// and lists at most `speakerLimit` speakers.
package struct SpeakerDirectory: Sendable {
    /// avahi-daemon grants a client 1024 objects (`objects-per-client-max`), and each announcement costs one.
    package static let serviceLimit = 960
    package static let speakerLimit = 256

    private struct Service: Sendable {
        /// Order of appearance.
        let age: UInt64
        var resolution: Resolution?
    }

    private struct Resolution: Hashable, Sendable {
        /// Order of news: of several announcements of one service the last one counts.
        var news: UInt64
        var endpoint: NetworkEndpoint
        var id: SpeakerID?
        var traits: SpeakerTraits
    }

    private var services: [ServiceName: Service] = [:]
    private var counter: UInt64 = 0
    private var unresolvedCount = 0
    private let limit: Int
    /// Announcements that found no room, since the beginning.
    package private(set) var refusals = 0

    package init() { self.init(serviceLimit: Self.serviceLimit) }

    /// With room for fewer announcements, for tests of what happens then.
    package init(serviceLimit: Int) { limit = serviceLimit }

    package enum Admission: Hashable, Sendable {
        case known
        case admitted
        /// There was room only in the place of this one, the oldest whose address was still unknown.
        case replacing(ServiceName)
        case refused
    }

    /// A service appeared; its address is not known yet.
    package mutating func found(_ name: ServiceName) -> Admission {
        if services[name] != nil { return .known }
        var evicted: ServiceName?
        if services.count >= limit {
            refusals += 1
            guard unresolvedCount > 0,
                let oldest = services.filter({ $0.value.resolution == nil }).min(by: { $0.value.age < $1.value.age })
            else { return .refused }
            lost(oldest.key)
            evicted = oldest.key
        }
        counter += 1
        services[name] = Service(age: counter)
        unresolvedCount += 1
        return evicted.map { .replacing($0) } ?? .admitted
    }

    /// A service's address and description became known, or new ones did. Ignored when it was not `found`.
    package mutating func resolved(_ name: ServiceName, at endpoint: NetworkEndpoint, record: TXTRecord) {
        guard var service = services[name], endpoint.address.isUnicast, endpoint.port != 0 else { return }
        counter += 1
        var traits = SpeakerTraits(record)
        let announced = name.kind == .airPlay ? record["deviceid"].flatMap { SpeakerID($0) } : nil
        // Group hints come and go between announcements of one service; none at all is no news.
        if traits.group.isEmpty, let known = service.resolution { traits.group = known.traits.group }
        if service.resolution == nil { unresolvedCount -= 1 }
        service.resolution = Resolution(
            news: counter, endpoint: endpoint, id: announced ?? name.parts.id, traits: traits)
        services[name] = service
    }

    /// A service said goodbye or was not heard of for too long.
    package mutating func lost(_ name: ServiceName) {
        guard let service = services.removeValue(forKey: name) else { return }
        if service.resolution == nil { unresolvedCount -= 1 }
    }

    /// Forgets every service: the one who told of them is gone.
    package mutating func clear() {
        services = [:]
        unresolvedCount = 0
    }

    /// Services whose address is not known yet.
    package var pending: Int { unresolvedCount }
    package var count: Int { services.count }

    /// The speakers, by name and then by id; those found first when there are more than `speakerLimit`.
    package var speakers: [DiscoveredSpeaker] {
        var gathered: [DiscoveredSpeaker.Key: Gathering] = [:]
        var firstKeys: [SpeakerID: DiscoveredSpeaker.Key] = [:]
        let known = services.filter { $0.value.resolution != nil }.sorted { $0.value.age < $1.value.age }
        for (name, service) in known where name.kind == .airPlay {
            let resolution = service.resolution!
            let key = DiscoveredSpeaker.Key(id: resolution.id, name: PrintableText.of(name.parts.name))
            gathered[key, default: Gathering(age: service.age)].add(resolution, kind: .airPlay)
            if let id = resolution.id, firstKeys[id] == nil { firstKeys[id] = key }
        }
        for (name, service) in known where name.kind == .raop {
            let resolution = service.resolution!
            let own = DiscoveredSpeaker.Key(id: resolution.id, name: PrintableText.of(name.parts.name))
            // The id joins the two. The names may differ: a conflict renames only the service that has no id in it.
            let joined = gathered[own] != nil ? own : resolution.id.flatMap { firstKeys[$0] } ?? own
            gathered[joined, default: Gathering(age: service.age)].add(resolution, kind: .raop)
        }
        let oldest = gathered.sorted { $0.value.age < $1.value.age }.prefix(Self.speakerLimit)
        return oldest.map { $0.value.speaker(for: $0.key) }.sorted { left, right in
            let names = (left.name.lowercased(), right.name.lowercased())
            return names.0 != names.1 ? names.0 < names.1 : (left.id?.digits ?? "") < (right.id?.digits ?? "")
        }
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
                resolutions.max { $0.news < $1.news }?.traits
            }
            let own = latest(airPlay)
            let other = latest(raop)
            return DiscoveredSpeaker(
                id: key.id, name: key.name,
                traits: other.map { (own ?? SpeakerTraits()).completed(by: $0) } ?? own ?? SpeakerTraits(),
                endpoints: Self.endpoints(airPlay), raopEndpoints: Self.endpoints(raop))
        }

        /// Each endpoint once, the one to try first in front.
        private static func endpoints(_ resolutions: [Resolution]) -> [NetworkEndpoint] {
            Set(resolutions.map(\.endpoint)).sorted { left, right in
                let ranks = (left.address.rank, right.address.rank)
                if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
                let texts = (left.address.bytes, right.address.bytes)
                if texts.0 != texts.1 { return texts.0.lexicographicallyPrecedes(texts.1) }
                return (left.address.scope, left.port) < (right.address.scope, right.port)
            }
        }
    }
}
