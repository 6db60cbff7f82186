internal import Glibc
package import MediaCore

/// The reason why a connection or a port is unavailable or was lost.
package typealias SocketError = CodedError<SocketErrors>

/// The domain of the codes of `SocketError`. The message is the system's, as a part of a sentence.
package enum SocketErrors {}

extension CodedError<SocketErrors>.Code {
    /// The host name cannot be resolved.
    static var noSuchHost: Self { Self(rawValue: "no-such-host") }
    /// The peer refuses the connection, or there is no route to it.
    static var refused: Self { Self(rawValue: "refused") }
    /// The timeout expired without progress.
    package static var timedOut: Self { Self(rawValue: "timed-out") }
    /// The connection was closed or reset.
    package static var lost: Self { Self(rawValue: "lost") }
    /// Another program uses the port.
    package static var addressInUse: Self { Self(rawValue: "address-in-use") }
    /// The port is below 1024 and this process lacks the privilege to bind it.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// This computer does not have the address, or the system cannot create a socket.
    package static var unavailable: Self { Self(rawValue: "unavailable") }
    /// The system is out of descriptors or memory.
    package static var exhausted: Self { Self(rawValue: "exhausted") }
}

extension CodedError<SocketErrors> {
    /// Creates an error with the system's description of an errno value.
    init(_ code: Code, errno cause: Int32) {
        let isExhausted = SystemCause.isExhaustion(cause) && cause != EAGAIN
        self.init(isExhausted ? .exhausted : code, SystemCause.text(cause))
    }

    /// Creates the error of a failed bind(2).
    package init(binding cause: Int32) {
        let code: Code =
            switch cause {
            case EACCES, EPERM: .notPermitted
            case EADDRINUSE: .addressInUse
            default: .unavailable
            }
        self.init(code, errno: cause)
    }
}
