internal import CAvahi
internal import Glibc
internal import MediaCore
package import Sockets

/// Browses kinds of service through the system's avahi-daemon, for as long as it exists, and tells what it hears.
///
/// `@unchecked Sendable`: after `start`, the thread of `avahi_threaded_poll` alone touches the state, in callbacks;
/// `stop` ends that thread first.
package final class ServiceWatch: @unchecked Sendable {
    /// What is told, on avahi's thread.
    package enum News: Sendable {
        /// A daemon answers; everything known of an earlier one is void.
        case connected
        /// There is no daemon: why, as a part of a sentence. It is waited for.
        case disconnected(String)
        case found(ServiceName)
        /// Its address, and the strings of its description.
        case resolved(ServiceName, NetworkEndpoint, [[UInt8]])
        case lost(ServiceName)
        /// One kind of service has been listed as far as the daemon knows at present.
        case listed
        /// Time to publish what was `scheduled`.
        case due
    }

    /// One pending or standing question for a service's address and description. It stays open for as long as the
    /// service exists, because that is how changes of the description are heard.
    private final class Question {
        unowned let watch: ServiceWatch
        let name: ServiceName
        /// nil between a failure and the next attempt.
        var resolver: OpaquePointer?
        var failures = 0
        var nextAttempt = 0

        init(watch: ServiceWatch, name: ServiceName) {
            self.watch = watch
            self.name = name
        }
    }

    private let kinds: [ServiceName.Kind]
    private let tell: @Sendable (ServiceWatch, News) -> Void
    private let poll: OpaquePointer
    private var client: OpaquePointer?
    private var isBrowsing = false
    private var questions: [ServiceName: Question] = [:]
    private let rebuildTimer: PollTimer
    private let retryTimer: PollTimer
    private let dueTimer: PollTimer
    private var isDueScheduled = false
    private var ticks = 0

    /// - Parameters:
    ///   - kinds: what is looked for.
    ///   - tell: called on avahi's thread; must not block.
    package init(_ kinds: [ServiceName.Kind], tell: @escaping @Sendable (ServiceWatch, News) -> Void)
        throws(DiscoveryError)
    {
        guard let poll = avahi_threaded_poll_new() else {
            throw DiscoveryError(.daemonMissing, "the system gives no memory")
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
        self.tell = tell
    }

    /// Begins; connecting happens on avahi's thread, so that a daemon that hangs does not hang the caller.
    package func start() {
        rebuildTimer.action = { [unowned self] in rebuild() }
        retryTimer.action = { [unowned self] in retry() }
        dueTimer.action = { [unowned self] in due() }
        rebuildTimer.fire(after: .milliseconds(0))
        avahi_threaded_poll_start(poll)
    }

    /// Ends; nothing is told afterwards. Never on avahi's own thread.
    package func stop() {
        avahi_threaded_poll_stop(poll)
        closeClient()
        avahi_threaded_poll_free(poll)
    }

    /// Has `due` told soon; several calls before that make one. Only on avahi's thread.
    package func schedule(milliseconds: Int) {
        if isDueScheduled { return }
        isDueScheduled = true
        dueTimer.fire(after: .milliseconds(milliseconds))
    }

    /// Stops asking for a service that no room was found for. Only on avahi's thread.
    package func drop(_ name: ServiceName) {
        guard let question = questions.removeValue(forKey: name), let resolver = question.resolver else { return }
        avahi_service_resolver_free(resolver)
    }

    /// Runs something on behalf of another thread as if it were avahi's: no callback runs meanwhile. Never on avahi's own
    /// thread, nor after `stop`.
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
        // No bus at all, so there is nothing that would tell of a daemon's return.
        tell(self, .disconnected(Self.reason(code)))
        rebuildTimer.fire(after: .milliseconds(2000))
    }

    private func closeClient() {
        // Frees its browsers and resolvers too.
        if let client { avahi_client_free(client) }
        client = nil
        questions = [:]
        isBrowsing = false
    }

    private func changed(_ client: OpaquePointer?, to state: AvahiClientState) {
        // The first call comes from inside avahi_client_new.
        if self.client == nil { self.client = client }
        switch state {
        case AVAHI_CLIENT_S_RUNNING, AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION:
            // The last two concern the name of this computer; others can be listened to all the same.
            if !isBrowsing { browse() }
        case AVAHI_CLIENT_CONNECTING:
            tell(self, .disconnected(Self.reason(Int32(AVAHI_ERR_NO_DAEMON))))
        default:
            tell(self, .disconnected(Self.reason(avahi_client_errno(client))))
            // Not here: the caller still uses the client.
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
        tell(self, .connected)
        let me = Unmanaged.passUnretained(self).toOpaque()
        for kind in kinds {
            let browser = avahi_service_browser_new(
                client, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC), kind.rawValue, nil,
                AvahiLookupFlags(rawValue: 0),
                { @Sendable _, interface, family, event, name, type, domain, _, raw in
                    Unmanaged<ServiceWatch>.fromOpaque(raw!).takeUnretainedValue()
                        .browsed(event, interface, family, name, type, domain)
                }, me)
            if browser == nil {
                tell(self, .disconnected(Self.reason(avahi_client_errno(client))))
                rebuildTimer.fire(after: .milliseconds(2000))
                return
            }
        }
    }

    private func browsed(
        _ event: AvahiBrowserEvent, _ interface: AvahiIfIndex, _ family: AvahiProtocol, _ name: UnsafePointer<CChar>?,
        _ type: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?
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
                tell(self, .found(service))
            } else {
                drop(service)
                tell(self, .lost(service))
            }
        case AVAHI_BROWSER_ALL_FOR_NOW:
            tell(self, .listed)
        case AVAHI_BROWSER_FAILURE:
            tell(self, .disconnected(Self.reason(avahi_client_errno(client))))
            rebuildTimer.fire(after: .milliseconds(2000))
        default:
            break
        }
    }

    // MARK: Resolving

    /// Asks for a service's address and description. One that is `sought` is told as found when it answers, and as lost
    /// when it does not any more. Only on avahi's thread.
    package func resolve(_ name: ServiceName) {
        guard client != nil, questions[name] == nil else { return }
        let question = Question(watch: self, name: name)
        questions[name] = question
        ask(question)
    }

    private func ask(_ question: Question) {
        let name = question.name
        let own = name.family == .v4 ? AVAHI_PROTO_INET : AVAHI_PROTO_INET6
        // IPv4 over the IPv4 group; whatever there is when that was not answered.
        let wanted = question.failures.isMultiple(of: 2) ? own : AVAHI_PROTO_UNSPEC
        question.resolver = avahi_service_resolver_new(
            client, name.interface, AvahiProtocol(own), name.instance, name.kind.rawValue, name.domain,
            AvahiProtocol(wanted), AvahiLookupFlags(rawValue: 0),
            { @Sendable _, interface, _, event, _, _, _, _, address, port, record, _, raw in
                let question = Unmanaged<Question>.fromOpaque(raw!).takeUnretainedValue()
                question.watch.answered(question, event, interface, address, port, record)
            }, Unmanaged.passUnretained(question).toOpaque())
        if question.resolver == nil { postpone(question) }
    }

    private func answered(
        _ question: Question, _ event: AvahiResolverEvent, _ interface: AvahiIfIndex,
        _ address: UnsafePointer<AvahiAddress>?, _ port: UInt16, _ record: UnsafeMutablePointer<AvahiStringList>?
    ) {
        guard event == AVAHI_RESOLVER_FOUND, let address else {
            if let resolver = question.resolver { avahi_service_resolver_free(resolver) }
            question.resolver = nil
            if question.name.isSought { tell(self, .lost(question.name)) }
            postpone(question)
            return
        }
        question.failures = 0
        guard let found = Self.address(address.pointee, interface: interface), let record = Self.record(record) else {
            return
        }
        if question.name.isSought { tell(self, .found(question.name)) }
        tell(self, .resolved(question.name, NetworkEndpoint(found, port: port), record))
    }

    /// After a failure: again in 2, 4, 8 … 64 s, for as long as the service is announced.
    private func postpone(_ question: Question) {
        question.failures += 1
        question.nextAttempt = ticks + (1 << min(question.failures - 1, 5))
        retryTimer.fire(after: .milliseconds(2000))
    }

    private func retry() {
        ticks += 1
        let waiting = questions.values.filter { $0.resolver == nil }
        for question in waiting where question.nextAttempt <= ticks { ask(question) }
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

    /// Longer than any that is of use: descriptions of services are some hundred bytes (RFC 6763, section 6.2).
    private static let descriptionLimit = 64 << 10

    /// nil for a description beyond `descriptionLimit`; the service then stays without an address.
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
        tell(self, .due)
    }
}
