internal import CAvahi
internal import Glibc
internal import MediaCore
package import Sockets

/// Publishes a service by mDNS through avahi-daemon. Without a daemon the service is reachable by its address only. A
/// daemon that starts later, also in place of another one, publishes it.
///
/// The service has its own host name for its own address, which may differ from the computer's. A loopback address is
/// published on the loopback interface only.
///
/// `@unchecked Sendable`: after `init` only avahi's thread accesses the state, and retains this object. `stop` must be
/// called, which ends that thread.
package final class ServiceAnnouncement: @unchecked Sendable {
    private let thread: AvahiThread
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
    /// Whether it was reported that no client can be created, as without a message bus.
    private var isMissing = false
    /// When the client was created.
    private var connectStart = HostInstant.now

    /// Starts to publish. Nil if the system has no thread, descriptor or memory for it.
    ///
    /// - Parameters:
    ///   - host: the first label of the host name.
    ///   - failed: called with the reason of a failure, on avahi's thread or in `init`; without a message bus, too.
    package init?(
        _ kind: ServiceName.Kind, name: String, host: String, address: NetworkAddress, port: UInt16, strings: [String],
        failed: @escaping @Sendable (String) -> Void
    ) {
        do throws(DiscoveryError) {
            thread = try AvahiThread()
            rebuildTimer = try PollTimer(on: thread)
        } catch {
            failed(error.message)
            return nil
        }
        (self.name, self.host, self.address, self.port) = (name, host, address, port)
        (self.kind, self.strings, self.failed) = (kind, strings, failed)
        rebuildTimer.action = { [unowned self] in rebuild() }
        do throws(DiscoveryError) {
            try thread.start({ self.rebuild() }, atEnd: { self.closeClient() })
        } catch {
            failed(error.message)
            return nil
        }
    }

    /// Creates the client. Returns the reason if that fails.
    private func connect() -> Int32 {
        var code: Int32 = 0
        // NO_FAIL: without a daemon the client waits for one to appear on the bus.
        client = avahi_client_new(
            thread.api, AVAHI_CLIENT_NO_FAIL,
            { @Sendable client, state, owner in
                Unmanaged<ServiceAnnouncement>.fromOpaque(owner!).takeUnretainedValue().clientChanged(client, state)
            }, Unmanaged.passUnretained(self).toOpaque(), &code)
        // Only a client that cannot be created sets `code`.
        return client == nil ? code : 0
    }

    /// Connects, also in place of a client that has lost its daemon.
    private func rebuild() {
        closeClient()
        connectStart = .now
        let code = connect()
        guard code != 0 else { return isMissing = false }
        if !isMissing { recordError(code) }
        isMissing = true
        // Without a message bus the return of a daemon is not signalled.
        rebuildTimer.fire(after: .seconds(2))
    }

    /// Begins to withdraw the service. Does not wait. Any thread.
    package func cancel() { thread.cancel() }

    /// Withdraws the service and waits for avahi's thread, at most two seconds if the daemon does not answer. Must not
    /// be called on avahi's thread.
    package func stop() { thread.stop() }

    private func closeClient() {
        if let client { avahi_client_free(client) }
        (client, group, attempts) = (nil, nil, 0)
    }

    private func recordError(_ code: Int32) {
        let reason = avahi_strerror(code).map { String(cString: $0) } ?? "unknown"
        // A call that an abandoned thread waited for may still fail.
        if !thread.isStopped { failed(reason) }
    }

    private func clientChanged(_ client: OpaquePointer?, _ state: AvahiClientState) {
        guard let client, !thread.isStopped else { return }
        switch state {
        case AVAHI_CLIENT_S_RUNNING: announce(client)
        case AVAHI_CLIENT_CONNECTING:
            recordError(Int32(AVAHI_ERR_NO_DAEMON))
            // A daemon that only did not answer does not appear on the bus later.
            if HostInstant.now - connectStart >= AvahiThread.silence, self.client == nil {
                rebuildTimer.fire(after: .seconds(10))
            }
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
        if code == AVAHI_ERR_COLLISION { return retry() }
        guard code < 0 else { return }
        recordError(code)
        // It may not have answered.
        rebuildTimer.fire(after: .seconds(10))
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
