internal import Glibc
package import MediaCore

/// Why a connection or a port cannot be had, or is gone.
package typealias SocketError = CodedError<SocketErrors>

/// The codes of `SocketError`. Its message says what the system said, as a part of a sentence.
package enum SocketErrors {}

extension CodedError<SocketErrors>.Code {
    /// No host has that name.
    package static var noSuchHost: Self { Self(rawValue: "no-such-host") }
    /// The other side refuses, or there is no way to it.
    package static var refused: Self { Self(rawValue: "refused") }
    /// Nothing came or went in time.
    package static var timedOut: Self { Self(rawValue: "timed-out") }
    /// The connection is gone.
    package static var lost: Self { Self(rawValue: "lost") }
    /// Another program has the port.
    package static var addressInUse: Self { Self(rawValue: "address-in-use") }
    /// The port is below 1024 and this process may not bind it.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// This computer does not have the address, or the system refuses a socket.
    package static var unavailable: Self { Self(rawValue: "unavailable") }
    /// The system gives no further descriptor, or no memory for one.
    package static var exhausted: Self { Self(rawValue: "exhausted") }
}

extension CodedError<SocketErrors> {
    /// What the system said, in its own words.
    init(_ code: Code, errno cause: Int32) {
        let isExhausted = SystemCause.isExhaustion(cause) && cause != EAGAIN
        self.init(isExhausted ? .exhausted : code, SystemCause.text(cause))
    }

    /// Why a local address and port cannot be bound.
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
