package import MediaCore

/// A connection of a service to a message bus. One thread at a time.
package protocol MessageBus: AnyObject {
    /// Requests a name, by which clients find the service. Returns false if another service owns it.
    ///
    /// - Throws: `BusFailure` if the connection was lost.
    func requestName(_ name: String) throws(BusFailure) -> Bool

    /// Receives the method calls on an object with `onMessage`.
    func addObject(_ path: String) throws(BusFailure)

    /// Receives method calls and signals. Called by `process`.
    var onMessage: ((BusMessage) -> Void)? { get set }

    /// Sends, and receives at most one message.
    ///
    /// - Returns: false if nothing is left to do.
    /// - Throws: if the connection was lost.
    func process() throws(BusFailure) -> Bool

    /// Waits until `process` has something to do, the signal is raised, or a deadline has passed. Clears the signal.
    ///
    /// - Parameter reads: false: waits for the signal and the deadline only.
    func wait(for signal: PollableSignal, until deadline: HostInstant?, reads: Bool)

    /// Replies to a method call.
    func reply(to number: Int, _ result: Result<[BusValue], BusError>)

    /// Emits a signal.
    func emit(_ signal: BusSignal)

    /// Closes the connection. Later calls have no effect.
    func close()
}

/// A bus cannot be used, with an errno(3) value.
package struct BusFailure: Error, Equatable, Sendable {
    package let code: Int32
    /// The D-Bus name of the error reply; nil if there was none.
    package let name: String?

    package init(code: Int32, name: String? = nil) { (self.code, self.name) = (abs(code), name) }
}
