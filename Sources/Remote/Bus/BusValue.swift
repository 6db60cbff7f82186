/// A value of a message (D-Bus specification, "Type system"); only the types that Talkie uses.
package enum BusValue: Equatable, Sendable {
    case flag(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case double(Double)
    case text(String)
    /// An object path.
    case path(String)
    /// A file descriptor. In a received message it belongs to the receiver.
    case descriptor(Int32)
    indirect case variant(BusValue)
    /// An array; `of`: the signature of its elements.
    case array(of: String, [BusValue])
    /// An array of names with variants, `a{sv}`; the values are without their variants.
    case dictionary([(String, BusValue)])

    /// The signature of the type.
    package var signature: String {
        switch self {
        case .flag: "b"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .double: "d"
        case .text: "s"
        case .path: "o"
        case .descriptor: "h"
        case .variant: "v"
        case .array(let element, _): "a" + element
        case .dictionary: "a{sv}"
        }
    }

    /// The boolean; nil for other values.
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    /// The 64-bit integer; nil for other values.
    package var int64: Int64? { if case .int64(let number) = self { number } else { nil } }
    /// The number; nil for other values.
    package var double: Double? { if case .double(let number) = self { number } else { nil } }
    /// The text or object path; nil for other values.
    package var text: String? {
        switch self {
        case .text(let text), .path(let text): text
        default: nil
        }
    }
    /// The elements of an array; nil for other values.
    package var elements: [BusValue]? { if case .array(_, let elements) = self { elements } else { nil } }
    /// The members of a dictionary; nil for other values.
    package var members: [(String, BusValue)]? {
        if case .dictionary(let members) = self { members } else { nil }
    }
    /// The value of a variant; nil for other values.
    package var content: BusValue? { if case .variant(let value) = self { value } else { nil } }

    /// Returns a member of a dictionary.
    package subscript(name: String) -> BusValue? { members?.first { $0.0 == name }?.1 }

    /// Compares the values; dictionaries must have the same order.
    package static func == (left: BusValue, right: BusValue) -> Bool {
        switch (left, right) {
        case (.flag(let left), .flag(let right)): left == right
        case (.int32(let left), .int32(let right)): left == right
        case (.uint32(let left), .uint32(let right)): left == right
        case (.int64(let left), .int64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.text(let left), .text(let right)): left == right
        case (.path(let left), .path(let right)): left == right
        case (.descriptor(let left), .descriptor(let right)): left == right
        case (.variant(let left), .variant(let right)): left == right
        case (.array(let type, let left), .array(let other, let right)): type == other && left == right
        case (.dictionary(let left), .dictionary(let right)): left.elementsEqual(right) { $0.0 == $1.0 && $0.1 == $1.1 }
        default: false
        }
    }
}

/// A received method call or signal.
package struct BusMessage: Sendable {
    /// Identifies a method call to `MessageBus.reply`.
    package let number: Int
    /// The interface; empty if the caller did not name one.
    package let interface: String
    /// The method or signal.
    package let member: String
    /// The signature of the arguments.
    package let signature: String
    /// The arguments; nil if they have a type that is not supported, or are too long.
    package let arguments: [BusValue]?

    package init(number: Int, interface: String, member: String, signature: String, arguments: [BusValue]?) {
        (self.number, self.interface, self.member) = (number, interface, member)
        (self.signature, self.arguments) = (signature, arguments)
    }
}

/// A method of an object of a service.
package struct BusMethod: Sendable {
    let service: String
    let path: String
    let interface: String
    let member: String

    package init(service: String, path: String, interface: String, member: String) {
        (self.service, self.path, self.interface, self.member) = (service, path, interface, member)
    }
}

/// A signal of an object.
package struct BusSignal: Equatable, Sendable {
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]

    package init(path: String, interface: String, member: String, _ arguments: [BusValue]) {
        (self.path, self.interface, self.member, self.arguments) = (path, interface, member, arguments)
    }
}

/// The refusal of a method call, or its failure.
package struct BusError: Error, Equatable, Sendable {
    /// The D-Bus name of the error.
    package let name: String
    /// A sentence for the user.
    package let message: String

    package init(_ name: String, _ message: String) { (self.name, self.message) = (name, message) }

    private static let prefix = "org.freedesktop.DBus.Error."
    static func failed(_ message: String) -> BusError { BusError(prefix + "Failed", message) }
    static func invalidArguments(_ message: String) -> BusError { BusError(prefix + "InvalidArgs", message) }
    static func readOnly(_ name: String) -> BusError {
        BusError(prefix + "PropertyReadOnly", "the property '\(name)' cannot be changed")
    }
    static func unknown(_ kind: String, _ name: String) -> BusError {
        BusError(prefix + "Unknown" + kind, "there is no \(kind.lowercased()) '\(name)'")
    }
}
