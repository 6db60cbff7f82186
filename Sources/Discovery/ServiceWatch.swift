internal import CAvahi
internal import Glibc
internal import MediaCore
package import Sockets

/// Browses service types through avahi-daemon and reports changes.
///
/// `@unchecked Sendable`: after `start` only avahi's thread accesses the state, and retains this object. `stop` must be
/// called, which ends that thread.
package final class ServiceWatch: @unchecked Sendable {
    /// The events, delivered on avahi's thread.
    package enum Event: Sendable {
        /// A daemon has connected; all earlier results are invalid.
        case connected
        /// No daemon is available; the reason and the remedy as parts of a sentence. Reconnects automatically.
        case disconnected(String, remedy: String)
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
    private let thread: AvahiThread
    private var client: OpaquePointer?
    private var isBrowsing = false
    /// Resolvers by service.
    private var resolvers: [ServiceName: ServiceResolver] = [:]
    private let rebuildTimer: PollTimer
    private let retryTimer: PollTimer
    private let dueTimer: PollTimer
    private var isDueScheduled = false
    /// When the client was created.
    private var connectStart = HostInstant.now
    /// Expiries of `retryTimer`, one per 2 s while resolvers wait.
    private var ticks = 0

    /// Allocates an event loop and its timers.
    ///
    /// - Parameters:
    ///   - kinds: the service types to browse.
    ///   - onEvent: called on avahi's thread; must not block.
    /// - Throws: `daemonMissing` if the system is out of descriptors or memory.
    package init(_ kinds: [ServiceName.Kind], onEvent: @escaping @Sendable (ServiceWatch, Event) -> Void)
        throws(DiscoveryError)
    {
        thread = try AvahiThread()
        rebuildTimer = try PollTimer(on: thread)
        retryTimer = try PollTimer(on: thread)
        dueTimer = try PollTimer(on: thread)
        self.kinds = kinds
        self.onEvent = onEvent
    }

    /// Starts avahi's thread, which connects.
    ///
    /// - Throws: `daemonMissing` if the system has no thread.
    package func start() throws(DiscoveryError) {
        rebuildTimer.action = { [unowned self] in rebuild() }
        retryTimer.action = { [unowned self] in retry() }
        dueTimer.action = { [unowned self] in due() }
        try thread.start({ self.rebuild() }, atEnd: { self.closeClient() })
    }

    /// Stops the thread and waits for it, at most two seconds if the daemon does not answer; no event follows. Must not
    /// be called on avahi's thread.
    package func stop() { thread.stop() }

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

    /// Runs a closure on avahi's thread; does not wait. Any thread; not carried out after `stop`.
    package func perform(_ body: @escaping @Sendable () -> Void) { thread.perform(body) }

    /// A call that an abandoned thread waited for may still report something.
    private func report(_ event: Event) { if !thread.isStopped { onEvent(self, event) } }

    // MARK: The client

    private func rebuild() {
        closeClient()
        connectStart = .now
        var code: Int32 = 0
        let me = Unmanaged.passUnretained(self).toOpaque()
        // NO_FAIL: without a daemon the client waits for one to appear on the bus.
        client = avahi_client_new(
            thread.api, AVAHI_CLIENT_NO_FAIL,
            { @Sendable client, state, raw in
                Unmanaged<ServiceWatch>.fromOpaque(raw!).takeUnretainedValue().changed(client, to: state)
            }, me, &code)
        guard client == nil else { return }
        // Without a message bus the return of a daemon is not signalled, so poll.
        disconnected(code)
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
        let isNew = self.client == nil
        if isNew { self.client = client }
        switch state {
        case AVAHI_CLIENT_S_RUNNING, AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION:
            // The last two states concern this computer's host name; browsing works regardless.
            if !isBrowsing { browse() }
        case AVAHI_CLIENT_CONNECTING where isNew && HostInstant.now - connectStart >= AvahiThread.silence:
            report(.disconnected(Self.silent, remedy: Self.restart))
            // A daemon that only did not answer does not appear on the bus later.
            rebuildTimer.fire(after: .seconds(10))
        case AVAHI_CLIENT_CONNECTING:
            disconnected(Int32(AVAHI_ERR_NO_DAEMON))
        default:
            disconnected(avahi_client_errno(client))
            // Deferred: the caller of this callback still uses the client.
            rebuildTimer.fire(after: .milliseconds(200))
        }
    }

    private func disconnected(_ code: Int32) {
        let reason =
            code == AVAHI_ERR_NO_DAEMON || code == AVAHI_ERR_DISCONNECTED
            ? "avahi-daemon is not running"
            : "avahi-daemon cannot be reached (\(String(cString: avahi_strerror(code))))"
        report(
            .disconnected(
                reason, remedy: "install and start it (apt install avahi-daemon; systemctl start avahi-daemon)"))
    }

    /// The reason and the remedy for a daemon that does not answer.
    package static let silent = "avahi-daemon does not answer"
    package static let restart = "restart it (systemctl restart avahi-daemon)"

    // MARK: Browsing

    private func browse() {
        isBrowsing = true
        report(.connected)
        let me = Unmanaged.passUnretained(self).toOpaque()
        for kind in kinds where !thread.isStopped {
            let browser = avahi_service_browser_new(
                client, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC), kind.rawValue, nil,
                AvahiLookupFlags(rawValue: 0),
                { @Sendable _, interface, family, event, name, type, domain, _, raw in
                    Unmanaged<ServiceWatch>.fromOpaque(raw!).takeUnretainedValue()
                        .browsed(event, interface: interface, family: family, name: name, type: type, domain: domain)
                }, me)
            if browser == nil {
                disconnected(avahi_client_errno(client))
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
                report(.found(service))
            } else {
                drop(service)
                report(.lost(service))
            }
        case AVAHI_BROWSER_ALL_FOR_NOW:
            report(.listed)
        case AVAHI_BROWSER_FAILURE:
            disconnected(avahi_client_errno(client))
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
        if thread.isStopped { return }
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
            if resolver.name.isSought { report(.lost(resolver.name)) }
            postpone(resolver)
            return
        }
        resolver.failures = 0
        guard let found = Self.address(address.pointee, interface: interface), let record = Self.record(record) else {
            return
        }
        if resolver.name.isSought { report(.found(resolver.name)) }
        report(.resolved(resolver.name, NetworkEndpoint(found, port: port), record))
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
        report(.due)
    }
}
