internal import CAvahi
internal import Glibc
package import Sockets

/// Publishes a service by mDNS through avahi-daemon. Without a daemon the service is reachable by its address only. A
/// daemon that starts later, also in place of another one, publishes it.
///
/// The service has its own host name for its own address, which may differ from the computer's. A loopback address is
/// published on the loopback interface only.
///
/// `@unchecked Sendable`: after `init` only the thread of `avahi_threaded_poll` accesses the state, in callbacks.
/// `stop` must be called before the last reference is released; it ends that thread.
package final class ServiceAnnouncement: @unchecked Sendable {
    private let poll: OpaquePointer
    private let rebuildTimer: PollTimer
    private var client: OpaquePointer?
    private var group: OpaquePointer?
    private let name: String
    private let host: String
    private let address: NetworkAddress
    private let port: UInt16
    private let strings: [String]
    private let kind: ServiceName.Kind
    private let failed: @Sendable (String) -> Void
    /// The number of renames after name collisions.
    private var attempts = 0
    private var isReleased = false

    /// Starts to publish. Nil if there is no message bus.
    ///
    /// - Parameters:
    ///   - host: the first label of the host name.
    ///   - failed: called with the reason of a failure, on avahi's thread or in `init`.
    package init?(
        _ kind: ServiceName.Kind, name: String, host: String, address: NetworkAddress, port: UInt16, strings: [String],
        failed: @escaping @Sendable (String) -> Void
    ) {
        guard let poll = avahi_threaded_poll_new() else { return nil }
        do throws(DiscoveryError) { rebuildTimer = try PollTimer(on: poll) } catch {
            avahi_threaded_poll_free(poll)
            return nil
        }
        self.poll = poll
        (self.name, self.host, self.address, self.port) = (name, host, address, port)
        (self.kind, self.strings, self.failed) = (kind, strings, failed)
        rebuildTimer.action = { [unowned self] in rebuild() }
        var code = connect()
        if client != nil { code = avahi_threaded_poll_start(poll) }
        guard client != nil, code == 0 else {
            recordError(code)
            release()
            return nil
        }
    }

    /// Creates the client. Returns the reason if that fails.
    private func connect() -> Int32 {
        var code: Int32 = 0
        // NO_FAIL: without a daemon the client waits for one to appear on the bus.
        client = avahi_client_new(
            avahi_threaded_poll_get(poll), AVAHI_CLIENT_NO_FAIL,
            { @Sendable client, state, owner in
                Unmanaged<ServiceAnnouncement>.fromOpaque(owner!).takeUnretainedValue().clientChanged(client, state)
            }, Unmanaged.passUnretained(self).toOpaque(), &code)
        // Only a client that cannot be created sets `code`.
        return client == nil ? code : 0
    }

    /// Replaces a client that has lost its daemon.
    private func rebuild() {
        if let client { avahi_client_free(client) }
        (client, group, attempts) = (nil, nil, 0)
        // Without a message bus the return of a daemon is not signalled.
        if connect() != 0 { rebuildTimer.fire(after: .seconds(2)) }
    }

    /// Withdraws the service and waits for avahi's thread.
    package func stop() {
        guard !isReleased else { return }
        avahi_threaded_poll_stop(poll)
        release()
    }

    private func release() {
        if let client { avahi_client_free(client) }
        (client, group, isReleased) = (nil, nil, true)
        avahi_threaded_poll_free(poll)
    }

    private func recordError(_ code: Int32) {
        let reason = avahi_strerror(code).map { String(cString: $0) } ?? "unknown"
        failed(reason)
    }

    private func clientChanged(_ client: OpaquePointer?, _ state: AvahiClientState) {
        guard let client else { return }
        switch state {
        case AVAHI_CLIENT_S_RUNNING: announce(client)
        case AVAHI_CLIENT_CONNECTING: recordError(Int32(AVAHI_ERR_NO_DAEMON))
        case AVAHI_CLIENT_FAILURE:
            recordError(avahi_client_errno(client))
            // Deferred: the caller of this callback still uses the client.
            rebuildTimer.fire(after: .milliseconds(200))
        // The host name is being renegotiated: earlier registrations are invalid.
        case AVAHI_CLIENT_S_COLLISION, AVAHI_CLIENT_S_REGISTERING: if let group { avahi_entry_group_reset(group) }
        default: break
        }
    }

    private func announce(_ client: OpaquePointer) {
        if group == nil {
            group = avahi_entry_group_new(
                client,
                { @Sendable _, state, owner in
                    Unmanaged<ServiceAnnouncement>.fromOpaque(owner!).takeUnretainedValue().groupChanged(state)
                }, Unmanaged.passUnretained(self).toOpaque())
        }
        guard let group else { return recordError(avahi_client_errno(client)) }
        // On a name collision a number is appended, at most three times.
        let label = attempts == 0 ? name : "\(name) \(attempts + 1)"
        let hostName = attempts == 0 ? "\(host).local" : "\(host)-\(attempts + 1).local"
        let index = address.isLoopback ? if_nametoindex("lo") : address.scope
        let interface = index == 0 ? AvahiIfIndex(AVAHI_IF_UNSPEC) : AvahiIfIndex(index)
        let family = AvahiProtocol(address.isIPv4 ? AVAHI_PROTO_INET : AVAHI_PROTO_INET6)
        var own = AvahiAddress()
        own.proto = family
        // A union: both begin with the address in network byte order.
        withUnsafeMutableBytes(of: &own.data) { $0.copyBytes(from: address.bytes) }
        var list: UnsafeMutablePointer<AvahiStringList>?
        for string in strings.reversed() { list = avahi_string_list_add(list, string) }
        defer { avahi_string_list_free(list) }
        var code = avahi_entry_group_add_address(
            group, interface, family, AvahiPublishFlags(AVAHI_PUBLISH_NO_REVERSE.rawValue), hostName, &own)
        if code >= 0 {
            code = avahi_entry_group_add_service_strlst(
                group, interface, family, AvahiPublishFlags(0), label, kind.rawValue, nil, hostName, port, list)
        }
        if code >= 0 { code = avahi_entry_group_commit(group) }
        if code == AVAHI_ERR_COLLISION { retry() } else if code < 0 { recordError(code) }
    }

    private func groupChanged(_ state: AvahiEntryGroupState) {
        switch state {
        case AVAHI_ENTRY_GROUP_COLLISION: retry()
        case AVAHI_ENTRY_GROUP_FAILURE: if let client { recordError(avahi_client_errno(client)) }
        default: break
        }
    }

    private func retry() {
        guard attempts < 3, let client, let group else { return recordError(Int32(AVAHI_ERR_COLLISION)) }
        attempts += 1
        avahi_entry_group_reset(group)
        announce(client)
    }
}
