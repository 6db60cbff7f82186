internal import CAvahi
internal import Glibc
internal import MediaCore
package import Sockets

/// Browses service types through avahi-daemon and reports changes.
///
/// `@unchecked Sendable`: after `start` only the thread of `avahi_threaded_poll` accesses the state, in callbacks.
/// `stop` must be called before the last reference is released; it ends that thread.
package final class ServiceWatch: @unchecked Sendable {
    /// The events, delivered on avahi's thread.
    package enum Event: Sendable {
        /// A daemon has connected; all earlier results are invalid.
        case connected
        /// No daemon is available; the reason as a part of a sentence. Reconnects automatically.
        case disconnected(String)
        case found(ServiceName)
        /// Address and TXT strings of a service; repeated when they change.
        case resolved(ServiceName, NetworkEndpoint, [[UInt8]])
        case lost(ServiceName)
        /// The daemon has reported all currently known services of one type.
        case listed
        /// The delay that was `scheduled` has expired.
        case due
    }

    /// A resolver of one service. It exists as long as the service, because it also reports changes of the TXT record.
    private final class ServiceResolver {
        unowned let watch: ServiceWatch
        let name: ServiceName
        /// Nil between a failure and the next attempt.
        var resolver: OpaquePointer?
        /// Consecutive failures.
        var failures = 0
        /// The value of `ticks` at which to retry.
        var nextAttempt = 0

        init(watch: ServiceWatch, name: ServiceName) {
            self.watch = watch
            self.name = name
        }
    }

    private let kinds: [ServiceName.Kind]
    private let onEvent: @Sendable (ServiceWatch, Event) -> Void
    private let poll: OpaquePointer
    private var client: OpaquePointer?
    private var isBrowsing = false
    /// Resolvers by service.
    private var resolvers: [ServiceName: ServiceResolver] = [:]
    private let rebuildTimer: PollTimer
    private let retryTimer: PollTimer
    private let dueTimer: PollTimer
    private var isDueScheduled = false
    /// Expiries of `retryTimer`, one per 2 s while resolvers wait.
    private var ticks = 0

    /// Allocates a poll and its timers.
    ///
    /// - Parameters:
    ///   - kinds: the service types to browse.
    ///   - onEvent: called on avahi's thread; must not block.
    /// - Throws: `daemonMissing` if the system is out of descriptors or memory.
    package init(_ kinds: [ServiceName.Kind], onEvent: @escaping @Sendable (ServiceWatch, Event) -> Void)
        throws(DiscoveryError)
    {
        guard let poll = avahi_threaded_poll_new() else {
            throw DiscoveryError(.daemonMissing, "out of memory")
        }
        do {
            rebuildTimer = try PollTimer(on: poll)
            retryTimer = try PollTimer(on: poll)
            dueTimer = try PollTimer(on: poll)
        } catch {
            avahi_threaded_poll_free(poll)
            throw error
        }
        self.poll = poll
        self.kinds = kinds
        self.onEvent = onEvent
    }

    /// Starts avahi's thread, which connects, so that a hanging daemon does not block the caller.
    package func start() {
        rebuildTimer.action = { [unowned self] in rebuild() }
        retryTimer.action = { [unowned self] in retry() }
        dueTimer.action = { [unowned self] in due() }
        rebuildTimer.fire(after: .milliseconds(0))
        avahi_threaded_poll_start(poll)
    }

    /// Stops the thread; no event follows. Must not be called on avahi's thread.
    package func stop() {
        avahi_threaded_poll_stop(poll)
        closeClient()
        avahi_threaded_poll_free(poll)
    }

    /// Schedules one `due` event; calls before it are merged. Only on avahi's thread.
    package func schedule(milliseconds: Int) {
        if isDueScheduled { return }
        isDueScheduled = true
        dueTimer.fire(after: .milliseconds(milliseconds))
    }

    /// Stops resolving a service that the caller has no space for. Only on avahi's thread.
    package func drop(_ name: ServiceName) {
        guard let resolver = resolvers.removeValue(forKey: name), let resolver = resolver.resolver else { return }
        avahi_service_resolver_free(resolver)
    }

    /// Runs `body` without concurrent callbacks, from another thread than avahi's. Must not be called after `stop`.
    package func perform(_ body: () -> Void) {
        avahi_threaded_poll_lock(poll)
        defer { avahi_threaded_poll_unlock(poll) }
        body()
    }

    // MARK: The client

    private func rebuild() {
        closeClient()
        var code: Int32 = 0
        let me = Unmanaged.passUnretained(self).toOpaque()
        // NO_FAIL: without a daemon the client waits for one to appear on the bus.
        client = avahi_client_new(
            avahi_threaded_poll_get(poll), AVAHI_CLIENT_NO_FAIL,
            { @Sendable client, state, raw in
                Unmanaged<ServiceWatch>.fromOpaque(raw!).takeUnretainedValue().changed(client, to: state)
            }, me, &code)
        guard client == nil else { return }
        // Without a message bus the return of a daemon is not signalled, so poll.
        onEvent(self, .disconnected(Self.reason(code)))
        rebuildTimer.fire(after: .milliseconds(2000))
    }

    private func closeClient() {
        // Also frees its browsers and resolvers.
        if let client { avahi_client_free(client) }
        client = nil
        resolvers = [:]
        isBrowsing = false
    }

    private func changed(_ client: OpaquePointer?, to state: AvahiClientState) {
        // The first call occurs inside avahi_client_new.
        if self.client == nil { self.client = client }
        switch state {
        case AVAHI_CLIENT_S_RUNNING, AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION:
            // The last two states concern this computer's host name; browsing works regardless.
            if !isBrowsing { browse() }
        case AVAHI_CLIENT_CONNECTING:
            onEvent(self, .disconnected(Self.reason(Int32(AVAHI_ERR_NO_DAEMON))))
        default:
            onEvent(self, .disconnected(Self.reason(avahi_client_errno(client))))
            // Deferred: the caller of this callback still uses the client.
            rebuildTimer.fire(after: .milliseconds(200))
        }
    }

    private static func reason(_ code: Int32) -> String {
        return
            code == AVAHI_ERR_NO_DAEMON || code == AVAHI_ERR_DISCONNECTED
            ? "avahi-daemon is not running"
            : "avahi-daemon cannot be reached (\(String(cString: avahi_strerror(code))))"
    }

    // MARK: Browsing

    private func browse() {
        isBrowsing = true
        onEvent(self, .connected)
        let me = Unmanaged.passUnretained(self).toOpaque()
        for kind in kinds {
            let browser = avahi_service_browser_new(
                client, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC), kind.rawValue, nil,
                AvahiLookupFlags(rawValue: 0),
                { @Sendable _, interface, family, event, name, type, domain, _, raw in
                    Unmanaged<ServiceWatch>.fromOpaque(raw!).takeUnretainedValue()
                        .browsed(event, interface: interface, family: family, name: name, type: type, domain: domain)
                }, me)
            if browser == nil {
                onEvent(self, .disconnected(Self.reason(avahi_client_errno(client))))
                rebuildTimer.fire(after: .milliseconds(2000))
                return
            }
        }
    }

    private func browsed(
        _ event: AvahiBrowserEvent, interface: AvahiIfIndex, family: AvahiProtocol, name: UnsafePointer<CChar>?,
        type: UnsafePointer<CChar>?, domain: UnsafePointer<CChar>?
    ) {
        switch event {
        case AVAHI_BROWSER_NEW, AVAHI_BROWSER_REMOVE:
            guard let name, let type, let domain,
                let kind = kinds.first(where: { $0.rawValue == String(cString: type) })
            else {
                return
            }
            let service = ServiceName(
                kind: kind, instance: String(cString: name), domain: String(cString: domain), interface: interface,
                family: family == AVAHI_PROTO_INET6 ? .v6 : .v4)
            if event == AVAHI_BROWSER_NEW {
                onEvent(self, .found(service))
            } else {
                drop(service)
                onEvent(self, .lost(service))
            }
        case AVAHI_BROWSER_ALL_FOR_NOW:
            onEvent(self, .listed)
        case AVAHI_BROWSER_FAILURE:
            onEvent(self, .disconnected(Self.reason(avahi_client_errno(client))))
            rebuildTimer.fire(after: .milliseconds(2000))
        default:
            break
        }
    }

    // MARK: Resolving

    /// Starts to resolve a service's address and TXT record. A `sought` service is reported as found while it responds,
    /// otherwise as lost. Only on avahi's thread.
    package func resolve(_ name: ServiceName) {
        guard client != nil, resolvers[name] == nil else { return }
        let resolver = ServiceResolver(watch: self, name: name)
        resolvers[name] = resolver
        ask(resolver)
    }

    private func ask(_ resolver: ServiceResolver) {
        let name = resolver.name
        let own = name.family == .v4 ? AVAHI_PROTO_INET : AVAHI_PROTO_INET6
        // IPv4 over the IPv4 group; any family after a failure.
        let wanted = resolver.failures.isMultiple(of: 2) ? own : AVAHI_PROTO_UNSPEC
        resolver.resolver = avahi_service_resolver_new(
            client, name.interface, AvahiProtocol(own), name.instance, name.kind.rawValue, name.domain,
            AvahiProtocol(wanted), AvahiLookupFlags(rawValue: 0),
            { @Sendable _, interface, _, event, _, _, _, _, address, port, record, _, raw in
                let resolver = Unmanaged<ServiceResolver>.fromOpaque(raw!).takeUnretainedValue()
                resolver.watch.answered(
                    resolver, event: event, interface: interface, address: address, port: port, record: record)
            }, Unmanaged.passUnretained(resolver).toOpaque())
        if resolver.resolver == nil { postpone(resolver) }
    }

    private func answered(
        _ resolver: ServiceResolver, event: AvahiResolverEvent, interface: AvahiIfIndex,
        address: UnsafePointer<AvahiAddress>?, port: UInt16, record: UnsafeMutablePointer<AvahiStringList>?
    ) {
        guard event == AVAHI_RESOLVER_FOUND, let address else {
            if let resolver = resolver.resolver { avahi_service_resolver_free(resolver) }
            resolver.resolver = nil
            if resolver.name.isSought { onEvent(self, .lost(resolver.name)) }
            postpone(resolver)
            return
        }
        resolver.failures = 0
        guard let found = Self.address(address.pointee, interface: interface), let record = Self.record(record) else {
            return
        }
        if resolver.name.isSought { onEvent(self, .found(resolver.name)) }
        onEvent(self, .resolved(resolver.name, NetworkEndpoint(found, port: port), record))
    }

    /// Retries after 2, 4, 8 … 64 s, as long as the service is announced.
    private func postpone(_ resolver: ServiceResolver) {
        resolver.failures += 1
        resolver.nextAttempt = ticks + (1 << min(resolver.failures - 1, 5))
        retryTimer.fire(after: .milliseconds(2000))
    }

    private func retry() {
        ticks += 1
        let waiting = resolvers.values.filter { $0.resolver == nil }
        for resolver in waiting where resolver.nextAttempt <= ticks { ask(resolver) }
        if !waiting.isEmpty { retryTimer.fire(after: .milliseconds(2000)) }
    }

    private static func address(_ address: AvahiAddress, interface: AvahiIfIndex) -> NetworkAddress? {
        switch address.proto {
        case AvahiProtocol(AVAHI_PROTO_INET):
            withUnsafeBytes(of: address.data.ipv4.address) { NetworkAddress(bytes: Array($0)) }
        case AvahiProtocol(AVAHI_PROTO_INET6):
            withUnsafeBytes(of: address.data.ipv6.address) {
                NetworkAddress(bytes: Array($0), scope: UInt32(clamping: interface))
            }
        default: nil
        }
    }

    /// Maximum size of a TXT record in bytes; typical ones have a few hundred (RFC 6763, section 6.2).
    private static let descriptionLimit = 64 << 10

    /// Returns the strings of a TXT record; nil above `descriptionLimit`, which leaves the service unresolved.
    private static func record(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [[UInt8]]? {
        var strings: [[UInt8]] = []
        var total = 0
        var item = list
        while let current = item {
            let size = avahi_string_list_get_size(current)
            total += size + 1
            guard total <= descriptionLimit else { return nil }
            strings.append(Array(UnsafeBufferPointer(start: avahi_string_list_get_text(current), count: size)))
            item = avahi_string_list_get_next(current)
        }
        return strings
    }

    // MARK: Timers

    private func due() {
        isDueScheduled = false
        onEvent(self, .due)
    }
}
