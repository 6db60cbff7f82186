public import MediaCore

/// A kind of audio destination: this computer's sound cards, AirPlay speakers, or a future kind.
///
/// A provider discovers its destinations, creates their outputs, and recognizes an output across restarts. A program
/// registers its providers with `OutputRegistry` of the module Routing; a new kind of speaker requires no other change.
/// Any thread. Calls that may block say so.
public protocol OutputProvider: AnyObject, Sendable {
    /// The provider's name in its destinations: `"airplay"`, `"soundcard"`.
    var name: String { get }

    /// Reports the available destinations, initially and after every change. Blocks until the interruption is raised or
    /// no change is possible.
    ///
    /// - Parameter report: Called on the calling thread.
    func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void)

    /// The rank among the providers of a program.
    var precedence: ProviderPrecedence { get }

    /// Returns whether a user-provided name belongs to this provider, by its form, or because the provider knows it.
    /// May block for half a second.
    func match(_ name: String) -> NameMatch

    /// Finds destinations by user-provided names, in their order; waits for those not yet available. May block for
    /// seconds.
    ///
    /// - Parameter notice: Called with a message about what is awaited.
    /// - Throws: `invalidArgument` for an ambiguous or malformed name, `unavailable` for a missing destination or one
    ///   that was lost to another sender, `notPermitted` if pairing is required. No output is open then.
    func find(_ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void)
        throws(TalkieError) -> [OutputDestination]

    /// Returns the outputs of a destination of this provider: one, or several that play as one. A destination
    /// has the same outputs, until it refuses them. May read files; opens nothing.
    ///
    /// - Throws: `unavailable` or `notPermitted` if the destination cannot be used now.
    func outputs(at destination: OutputDestination) throws(TalkieError) -> [any AudioOutput]

    /// Returns the identity of an output for calibrations; nil for one of another provider.
    func identity(of output: any AudioOutput) -> OutputIdentity?

    /// Sets the handler for changed identities of outputs, replacing any other.
    ///
    /// - Parameter handler: Called on any thread; must not block.
    func onIdentityChange(_ handler: @escaping @Sendable () -> Void)

    /// Messages about data that could not be stored or read for this provider, oldest first. Discovery and the creation
    /// of outputs may add messages.
    var notes: [String] { get }

    /// Stores what was learned about the destinations. Called after their outputs were closed.
    func remember()
}

/// The rank of a provider: in lists, for a name that several providers may know, and for a device that they share. The
/// order in which providers are registered has no meaning.
public enum ProviderPrecedence: Int, Comparable, Sendable {
    /// Used for a device that no other provider can use.
    case fallback
    /// Of a speaker.
    case normal
    /// Of this computer: listed first.
    case local

    public static func < (one: ProviderPrecedence, other: ProviderPrecedence) -> Bool { one.rawValue < other.rawValue }
}

/// How the form of a user-provided name relates to a provider.
public enum NameMatch: Int, Comparable, Sendable {
    /// The name belongs to another kind of output.
    case none
    /// A name without a form of its own, which the provider may know.
    case possible
    /// An address of this provider, such as `airplay://HOST`, or a name that it knows.
    case certain

    public static func < (one: NameMatch, other: NameMatch) -> Bool { one.rawValue < other.rawValue }

    /// Returns the match of a provider whose addresses begin with a scheme, and whose speakers may have any name.
    ///
    /// - Parameter scheme: `airplay` for `airplay://HOST`. Names with another scheme, and `local`, do not match.
    public static func name(_ name: String, scheme: String) -> NameMatch {
        guard name != "local" else { return .none }
        guard let end = name.firstRange(of: "://")?.lowerBound else { return .possible }
        return name[..<end].lowercased() == scheme ? .certain : .none
    }
}

extension OutputProvider {
    /// Normal.
    public var precedence: ProviderPrecedence { .normal }
    /// Does nothing: identities never change.
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {}
    /// Empty: the provider stores no data.
    public var notes: [String] { [] }
    /// Does nothing: nothing was learned.
    public func remember() {}
}

/// The destinations that one or all providers offer at one time.
public struct OutputOffer: Hashable, Sendable {
    /// The destinations in display order.
    public var destinations: [OutputDestination]
    /// For the user: the reason why the list may be incomplete.
    public var note: String?

    /// Creates an offer.
    public init(destinations: [OutputDestination] = [], note: String? = nil) {
        self.destinations = destinations
        self.note = note
    }

    /// Whether there is more than one destination.
    package var hasSeveral: Bool { destinations.count > 1 }
}

/// An audio destination that the user can select: this computer, another of its sound cards, or a speaker.
public struct OutputDestination: Hashable, Sendable, Identifiable {
    /// The kind of destination for the user. An open set: a new kind of speaker may add its own.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable identifier of the kind.
        public let rawValue: String
        /// Creates a kind from its identifier.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The system's default device, or the requested one.
        public static let thisComputer = Kind(rawValue: "this-computer")
        /// A sound card of this computer.
        public static let soundCard = Kind(rawValue: "sound-card")
        /// Another computer that receives audio.
        public static let computer = Kind(rawValue: "computer")
        /// A television, or a box connected to one.
        public static let television = Kind(rawValue: "television")
        /// A network speaker.
        public static let speaker = Kind(rawValue: "speaker")
        /// Two speakers that play as one.
        public static let stereoPair = Kind(rawValue: "stereo-pair")
    }

    /// What a destination requires once before it can be selected.
    public enum Pairing: String, Hashable, Sendable {
        /// The PIN that it displays.
        case pin = "pin"
        /// Its password.
        case password = "password"
    }

    /// The `OutputProvider.name` of the destination's provider.
    public let provider: String
    /// An identifier that persists across restarts and is unique among all providers: `local`, `alsa:DEVICE`, a
    /// speaker's identifier.
    public let id: String
    /// The name for the user: `This computer`, `Kitchen`.
    public let name: String
    /// The kind of destination.
    public let kind: Kind
    /// The reason why the destination cannot be selected now, with the remedy; nil if it can.
    public let obstacle: String?
    /// The pairing that removes the obstacle; nil if there is no obstacle or another one.
    public let pairing: Pairing?

    /// Creates a destination.
    public init(
        provider: String, id: String, name: String, kind: Kind, obstacle: String? = nil, pairing: Pairing? = nil
    ) {
        self.provider = provider
        self.id = id
        self.name = name
        self.kind = kind
        self.obstacle = obstacle
        self.pairing = pairing
    }
}

/// The identity of an output for calibrations: a speaker, or the sink of a sound card.
public struct OutputIdentity: Hashable, Sendable {
    /// The key under which profiles are stored: see `isKey`. Empty for an output whose listening position is unknown;
    /// no profile applies to it.
    public var key: String
    /// The name for the user.
    public var name: String
    /// The name with which the user may refer to the output.
    public var query: String
    /// The audio route: a delay measured on one route does not apply to another.
    public var route: String
    /// The last network address; nil for outputs of this computer.
    public var address: String?

    /// Creates an identity.
    public init(key: String, name: String, query: String, route: String, address: String? = nil) {
        self.key = key
        self.name = name
        self.query = query
        self.route = route
        self.address = address
    }

    /// Returns true for 1 to 64 letters, digits, `-`, `_` and `.` without a leading dot: safe as a file name.
    package static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && !text.hasPrefix(".") && text.utf8.allSatisfy(isKeyByte)
    }

    /// Returns the text as a key: other characters become underscores, and excess length is cut.
    public static func key(from text: String) -> String {
        let bytes = text.utf8.prefix(50).map { isKeyByte($0) ? $0 : UInt8(ascii: "_") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == 0x2D || byte == 0x5F || byte == 0x2E
    }
}
